#!/usr/bin/env bash
# Installs PostgreSQL's server for the tests of the store where it is missing and that is
# allowed. Without it these tests are skipped, and the run says so.
set -u
find_server() { command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; }
find_server && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing PostgreSQL for the tests of the store"
	export DEBIAN_FRONTEND=noninteractive
	# The package would start a server of its own, which nobody needs.
	mkdir -p /etc/postgresql-common && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
	{ apt-get update && apt-get install -y --no-install-recommends postgresql; } >/dev/null 2>&1
fi
find_server || echo "PostgreSQL is not installed and cannot be installed here: the tests of the store skip it. On Debian: apt-get install postgresql"
exit 0
