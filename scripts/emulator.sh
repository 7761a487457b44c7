#!/bin/sh
# The kernel for arm64 is tested under QEMU on other machines. This installs it where it
# is missing, and says so where it cannot; the run then says that it was not tested.
set -u
if [ "$(uname -m)" != x86_64 ] || command -v qemu-aarch64 >/dev/null 2>&1; then
	exit 0
fi
"$(dirname "$0")/install.sh" "QEMU for the test of the kernel for arm64" qemu-user
exit 0
