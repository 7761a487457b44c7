#!/bin/sh
# install.sh WHAT PACKAGE...: installs packages with apt-get where that is allowed: as root, or
# with a sudo that asks for nothing. It says what WHAT is missing for where it cannot, and
# then ends with status 1. BEFORE is a command that is run before, with the same rights.
set -u
what=$1
shift
if ! command -v apt-get >/dev/null 2>&1; then
	echo "$what: missing, and there is no apt-get to install it; on Debian it is in $*" >&2
	exit 1
fi
as=""
if [ "$(id -u)" != 0 ]; then
	if ! { command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; }; then
		echo "$what: missing, and there is no right to install it: apt-get install $*" >&2
		exit 1
	fi
	as="sudo -n"
fi
echo "$what: installing $*" >&2
$as sh -c "${BEFORE:-:}"
for try in 1 2 3; do
	if $as apt-get update -qq >&2 && $as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2; then
		exit 0
	fi
	sleep 5
done
echo "$what: $* could not be installed" >&2
exit 1
