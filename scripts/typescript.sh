#!/bin/sh
# The example in TypeScript is compiled before it is run. This installs the compiler, and Node's types,
# where they are missing: into $PARE_TYPESCRIPT, else into ~/.cache/pare-typescript.
set -eu
to="${PARE_TYPESCRIPT:-$HOME/.cache/pare-typescript}"
[ -e "$to/node_modules/typescript/bin/tsc" ] && [ -e "$to/node_modules/@types/node/package.json" ] && exit 0
command -v npm >/dev/null 2>&1 || "$(dirname "$0")/install.sh" "the example in TypeScript" nodejs npm
mkdir -p "$(dirname "$to")"
new="$(mktemp -d "$to-XXXXXX")"
trap 'rm -rf "$new"' EXIT
npm install --prefix "$new" --no-audit --no-fund --ignore-scripts --loglevel=error typescript@5.9 @types/node@22 >&2
[ -e "$to" ] || mv "$new" "$to" # so that a folder of that name is whole
