#!/bin/sh
# The tests with real clients run Claude Code. This installs the versions that are
# named, or those below, where they are missing: into $PARE_CLIENTS, else into
# ~/.cache/pare-clients. Nothing of them is run here, not even their install scripts.
#
#	scripts/client.sh && PARE_CLIENTS_TEST=1 go test ./cmd/pare -run TestClaudeClient -v
set -eu
if [ $# -eq 0 ]; then
	set -- 2.1.325 1.0.128 # the newest that is known to work, and one that sends files as they are
fi
clients="${PARE_CLIENTS:-$HOME/.cache/pare-clients}"
if ! command -v npm >/dev/null 2>&1; then
	echo "client.sh: no npm to install Claude Code with" >&2
	exit 1
fi
for version; do
	to="$clients/claude-code@$version"
	[ -e "$to" ] && continue
	echo "client.sh: installing Claude Code $version" >&2
	mkdir -p "$clients"
	new="$(mktemp -d "$clients/.new-XXXXXX")"
	if ! npm install --prefix "$new" --no-audit --no-fund --ignore-scripts --loglevel=error "@anthropic-ai/claude-code@$version" >&2; then
		rm -rf "$new"
		exit 1
	fi
	mv "$new" "$to" # so that a folder of that name is whole
done
