package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pare-llm/pare/store"
)

// TestForeignFileIsRefusedImmediately checks that a file that is not a database is refused without
// waiting, and stays unchanged. Time stops in the test unless all goroutines wait.
func TestForeignFileIsRefusedImmediately(t *testing.T) {
	for name, raw := range map[string][]byte{
		"words":      []byte("these are my notes\n"),
		"transcript": []byte(`{"messages":[{"role":"user","content":"hi"}]}`),
		"noise":      bytes.Repeat([]byte{0xA5, 0x5A, 7}, 5000),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			st, err := store.Open(ctx, path)
			if err == nil {
				st.Close()
				t.Fatalf("%s was opened", name)
			}
			if !strings.Contains(err.Error(), path+" is not a database") {
				t.Errorf("%s: %v", name, err)
			}
			if d := time.Since(start); d > 0 {
				t.Errorf("%s: %v were waited", name, d)
			}
		})
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, raw) {
			t.Errorf("%s was changed, %v", name, err)
		}
	}
}

// TestUpgradeDoesNotRetryPermanentErrors checks that read-only files and full disks are not
// retried.
func TestUpgradeDoesNotRetryPermanentErrors(t *testing.T) {
	for name, how := range map[string]string{"read-only": "?mode=ro", "full": "?_pragma=max_page_count(1)", "nothing can be kept beside it": "?_pragma=journal_mode(WAL)"} {
		path := filepath.Join(t.TempDir(), "empty.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(how, "(WAL)") {
			if err := os.Symlink("/dev/full", path+"-shm"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			db, err := sql.Open("sqlite", "file:"+path+how)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			start := time.Now()
			err = store.MigrateSQLite(ctx, db)
			if d := time.Since(start); err == nil || d > 0 {
				t.Errorf("%s: %v were waited, %v", name, d, err)
			}
		})
	}
}

// TestUpgradeRetriesMissingTable checks that an upgrade is repeated if a new table is not visible
// yet, but not forever and not for other errors.
func TestUpgradeRetriesMissingTable(t *testing.T) { synctest.Test(t, tableIsNotSeenYet) }

func tableIsNotSeenYet(t *testing.T) {
	for _, c := range []struct {
		code         string
		fails, tries int
	}{{"42P01", 2, 3}, {"42P01", 100, 6}, {"42501", 100, 1}, {"", 0, 1}} {
		tries := 0
		err := store.UntilSeen(ctx, func() error {
			if tries++; tries <= c.fails {
				return fmt.Errorf("list: %w", &pgconn.PgError{Code: c.code})
			}
			return nil
		})
		if tries != c.tries || (err == nil) != (c.fails < c.tries) {
			t.Errorf("%+v: %d tries, %v", c, tries, err)
		}
	}
}
