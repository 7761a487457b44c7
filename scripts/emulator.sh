#!/bin/sh
# The kernel for arm64 is tested under QEMU on other machines. This installs it where it
# is missing, and says so where it cannot; the run then says that it was not tested.
set -u
if [ "$(uname -m)" != x86_64 ] || command -v qemu-aarch64 >/dev/null 2>&1; then
	exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "emulator.sh: no qemu-aarch64, and no apt-get to install it" >&2
	exit 0
fi
as=""
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null && as="sudo -n"
	if [ -z "$as" ]; then
		echo "emulator.sh: no qemu-aarch64, and no right to install it: apt-get install qemu-user" >&2
		exit 0
	fi
fi
echo "emulator.sh: installing qemu-user" >&2
export DEBIAN_FRONTEND=noninteractive
if ! { $as apt-get update -qq >&2 && $as apt-get install -y -qq --no-install-recommends qemu-user >&2; }; then
	echo "emulator.sh: qemu-user could not be installed; the test of the kernel for arm64 will say so" >&2
fi
exit 0
