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

// schema is the version of the tables that this program uses.
const schema = 17

// oldest is the first version that can be upgraded. No release wrote older ones.
const oldest = 9

// migrate upgrades the tables. Several processes may do so at the same time: a lock serializes them
// on PostgreSQL, and SQLite has one writer. It returns an error for newer tables.
func migrate(ctx context.Context, db *sql.DB, eng engine) error {
	n, err := version(ctx, db)
	switch {
	case n == schema:
		return nil
	case err != nil && eng.isDamaged(err):
		return err
	}
	if eng.name() == "sqlite" {
		return migrateSQLite(ctx, db, eng)
	}
	return retryMissingTable(ctx, func() error {
		return upgrade(ctx, db, goose.DialectPostgres, eng, goose.WithSessionLocker(upgradeLock{}))
	})
}

// retryMissingTable repeats an upgrade of PostgreSQL that fails because a table is missing. With
// eight processes at a time opening a new database on a busy machine, one of 2,100 saw the table of
// versions that another process had just created, and then did not find it.
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

// An upgradeLock serializes upgrades of PostgreSQL with goose's own lock. Goose polls the lock
// every five seconds; here the server wakes the next process.
type upgradeLock struct{}

// maxUpgrade limits the wait for other processes.
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

// version returns the version of the tables. It returns zero and an error if there are none.
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

// migrateSQLite upgrades a file. Goose reads before it writes, so concurrent upgrades can fail; it
// repeats all but permanent errors.
func migrateSQLite(ctx context.Context, db *sql.DB, eng engine) error {
	err := checkWritable(ctx, db)
	// Goose would retry for three seconds.
	if isPermanent(err) {
		return err
	}
	for try := range 60 {
		if err = upgrade(ctx, db, goose.DialectSQLite3, eng); err == nil {
			return nil
		}
		if n, _ := version(ctx, db); n == schema {
			return nil
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

// checkWritable creates a table and rolls back.
func checkWritable(ctx context.Context, db *sql.DB) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	_, err = t.ExecContext(ctx, `CREATE TABLE tried (x)`)
	return err
}
