#!/bin/sh
# The tests of the pages drive Debian's Chromium. This installs it where it is
# missing, and says so where it cannot; the tests then fail in CI and skip elsewhere.
set -u
for name in "${PARE_BROWSER:-}" chromium chromium-browser google-chrome; do
	if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
		exit 0
	fi
done
"$(dirname "$0")/install.sh" "Chromium for the tests of the pages" chromium fonts-liberation ||
	echo "PARE_BROWSER names one that is elsewhere" >&2
exit 0
