#!/bin/sh
# The tests of the pages drive Debian's Chromium. This installs it where it is
# missing, and says so where it cannot; the tests then fail in CI and skip elsewhere.
set -u
for name in "${PARE_BROWSER:-}" chromium chromium-browser google-chrome; do
	if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
		exit 0
	fi
done
if ! command -v apt-get >/dev/null 2>&1; then
	echo "browser.sh: no Chromium, and no apt-get to install it; put one in PARE_BROWSER" >&2
	exit 0
fi
as=""
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null && as="sudo -n"
	if [ -z "$as" ]; then
		echo "browser.sh: no Chromium, and no right to install it: apt-get install chromium" >&2
		exit 0
	fi
fi
echo "browser.sh: installing chromium" >&2
export DEBIAN_FRONTEND=noninteractive
for try in 1 2 3; do
	if $as apt-get update -qq >&2 && $as apt-get install -y -qq --no-install-recommends chromium fonts-liberation >&2; then
		exit 0
	fi
	sleep 5
done
echo "browser.sh: chromium could not be installed; the tests of the pages will say so" >&2
exit 0
