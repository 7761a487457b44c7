#!/bin/sh
# The tests of the pages ask axe what keeps people with other senses from reading them. This fetches
# it with npm where it is missing, and says so where it cannot; the test then skips, with the reason.
set -u
dir=${XDG_CACHE_HOME:-$HOME/.cache}/pare-axe
if [ -f "$dir/node_modules/axe-core/axe.min.js" ]; then
	exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "axe for the tests of the pages: missing, and there is no npm to fetch it" >&2
	exit 0
fi
mkdir -p "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" axe-core@4.11.0 >&2 ||
	echo "axe for the tests of the pages: could not be fetched" >&2
exit 0
