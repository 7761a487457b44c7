#!/bin/sh
# Installs PostgreSQL's server for the tests of the store where it is missing and that is
# allowed. Without it these tests are skipped, and the run says so.
set -u
if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
	exit 0
fi
# The package would start a server of its own, which nobody needs.
BEFORE='mkdir -p /etc/postgresql-common && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf' \
	"$(dirname "$0")/install.sh" "PostgreSQL for the tests of the store" postgresql
exit 0
