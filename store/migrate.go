package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// schema is the version of the tables that this program knows.
const schema = 17

// oldest is the version from which on tables are brought up to date: those of before were
// written by no release.
const oldest = 9

// migrate brings the tables up to date. Any number of processes may do so at once:
// PostgreSQL is locked for the time, and SQLite has one writer. A database that is newer
// than the program is refused.
func migrate(ctx context.Context, db *sql.DB, eng engine) error {
	n, err := version(ctx, db)
	switch {
	case n == schema:
		return nil // the usual case, without a lock
	case err != nil && eng.isDamaged(err):
		return err // which no upgrade cures, however often it is tried
	}
	if eng.name() == "sqlite" {
		return migrateSQLite(ctx, db, eng)
	}
	return retryMissingTable(ctx, func() error {
		return upgrade(ctx, db, goose.DialectPostgres, eng, goose.WithSessionLocker(upgradeLock{}))
	})
}

// untilSeen tries an upgrade of PostgreSQL again if a table is not there. Of 2,100 processes that
// opened a new database, eight at a time on a busy machine, one was told that the table of
// versions was there, and then that it was not: another one had just made it.
func retryMissingTable(ctx context.Context, upgrade func() error) error {
	for try := 1; ; try++ {
		err := upgrade()
		var e *pgconn.PgError
		if try == 6 || !errors.As(err, &e) || e.Code != "42P01" {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * 50 * time.Millisecond):
		}
	}
}

// inLine lets one process at a time upgrade a PostgreSQL, by the lock that goose would take.
// Goose asks for it every five seconds; here the server lets the next one in, so that eight
// that are started at once do not wait for a clock.
type upgradeLock struct{}

// maxUpgrade is how long one waits for those in front.
const maxUpgrade = 5 * time.Minute

func (upgradeLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, maxUpgrade)
	defer cancel()
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, lock.DefaultLockID)
	if err != nil {
		return fmt.Errorf("wait for another program that upgrades the database: %w", err)
	}
	return nil
}

func (upgradeLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, lock.DefaultLockID)
	return err
}

// version asks which version the tables have; zero, with an error, if there are none.
func version(ctx context.Context, db *sql.DB) (n int, err error) {
	err = db.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&n)
	return n, err
}

func upgrade(ctx context.Context, db *sql.DB, d goose.Dialect, eng engine, o ...goose.ProviderOption) error {
	files, err := fs.Sub(migrations, "migrations/"+eng.name())
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(d, db, files, o...)
	if err != nil {
		return err
	}
	switch n, _ := version(ctx, db); {
	case n > schema:
		return fmt.Errorf("the database has version %d, this program knows %d: use a newer pare", n, schema)
	case n > 0 && n < oldest:
		return fmt.Errorf("the database has version %d, which is older than %d, the oldest that this program can take over: "+
			"export its sessions with the pare that wrote it and import them into a new database", n, oldest)
	}
	_, err = p.Up(ctx)
	return err
}

// migrateSQLite lets one process at a time upgrade a file: goose reads before it
// writes, so two of them would get in each other's way. Whatever may come of that is tried
// again; what will be the same the next time is not.
func migrateSQLite(ctx context.Context, db *sql.DB, eng engine) error {
	err := checkWritable(ctx, db)
	if isPermanent(err) {
		return err // goose would try it for three seconds
	}
	for try := range 60 {
		if err = upgrade(ctx, db, goose.DialectSQLite3, eng); err == nil {
			return nil
		}
		if n, _ := version(ctx, db); n == schema {
			return nil // another process did it
		} else if n > schema || n > 0 && n < oldest || isPermanent(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try+1) * 5 * time.Millisecond):
		}
	}
	return err
}

// tryTable makes a table and takes it back: whether a database can be written to at all.
func checkWritable(ctx context.Context, db *sql.DB) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	_, err = t.ExecContext(ctx, `CREATE TABLE tried (x)`)
	return err
}
