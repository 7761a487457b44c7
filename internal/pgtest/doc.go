// Package pgtest runs a PostgreSQL server for tests, with a private socket and folder, until the
// test process ends. scripts/postgres.sh installs the server. On other systems than Unix, tests
// that need it are skipped.
package pgtest
