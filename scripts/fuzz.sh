#!/bin/sh
# Runs every fuzz target for a time, one after the other, and tells how many inputs
# each has tried: scripts/fuzz.sh 10m. It ends at the first failure.
#
# An input that is of interest is made smaller a few times only: by default the fuzzer
# spends up to a minute on each, and a short run does nothing else.
set -u
time="${1:-10m}"
go="${GO:-go}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
for pkg in $("$go" list ./...); do
	for target in $("$go" test -list '^Fuzz' "$pkg" | grep '^Fuzz'); do
		if ! "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x "$pkg" >"$log" 2>&1; then
			cat "$log"
			exit 1
		fi
		awk -v what="$pkg $target" '/execs: / {
			for (i = 1; i < NF; i++) { if ($i == "elapsed:") e = $(i+1); if ($i == "execs:") n = $(i+1) }
		}
		END {
			s = 0; rest = e; sub(/,/, "", rest)
			if (match(rest, /^[0-9]+h/)) { s += 3600 * substr(rest, 1, RLENGTH-1); rest = substr(rest, RLENGTH+1) }
			if (match(rest, /^[0-9]+m/)) { s += 60 * substr(rest, 1, RLENGTH-1); rest = substr(rest, RLENGTH+1) }
			s += rest + 0
			printf "%s: %d executions in %d s, %d per second\n", what, n, s, n / (s > 0 ? s : 1)
		}' "$log"
	done
done
