#!/bin/sh
# The completions are tested in every shell they are for, and the pages of the manual with
# mandoc. This installs what is missing of them, and says so where it cannot; the run then
# says what was not tested.
set -u
missing=""
for what in fish zsh mandoc; do
	command -v "$what" >/dev/null 2>&1 || missing="$missing $what"
done
# shellcheck disable=SC2086 # a list of packages
[ -z "$missing" ] || "$(dirname "$0")/install.sh" "the shells whose completions are tested" $missing
exit 0
