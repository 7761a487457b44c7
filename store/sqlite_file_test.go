//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/store"
)

// TestSQLiteOpenedTwice checks that opening a file twice in a process keeps the locks of the first
// connection. Without them, a program with an old SQLite deletes the journal, and later entries are
// lost.
func TestSQLiteOpenedTwice(t *testing.T) {
	if path := os.Getenv("PARE_TEST_LOCKED"); path != "" { // the other program
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const sharedFirst, sharedSize = 0x40000002, 510 // of SQLite's file format
		at := syscall.Flock_t{Type: syscall.F_WRLCK, Start: sharedFirst, Len: sharedSize}
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &at); err != nil {
			t.Fatal(err)
		}
		fmt.Println("locked:", at.Type != syscall.F_UNLCK)
		return
	}
	path := filepath.Join(t.TempDir(), "pare.db")
	for n := range 3 {
		create(t, open(t, path), fmt.Sprint(n))
		other := exec.Command(os.Args[0], "-test.run=^TestSQLiteOpenedTwice$")
		other.Env = append(os.Environ(), "PARE_TEST_LOCKED="+path)
		if out, err := other.CombinedOutput(); err != nil || !strings.Contains(string(out), "locked: true") {
			t.Errorf("opened %d times: %s: %v", n+1, out, err)
		}
	}
}

// TestSQLiteFileReplaced checks that writes to a removed or replaced file are not acknowledged, and
// that the store recovers when the file is back.
func TestSQLiteFileReplaced(t *testing.T) {
	for _, name := range []string{"pare.db", "pare.db-wal"} {
		for _, how := range []string{"removed", "replaced"} {
			t.Run(name+" "+how, func(t *testing.T) {
				dir := t.TempDir()
				path, link := filepath.Join(dir, "pare.db"), filepath.Join(t.TempDir(), "link.db")
				if err := os.Symlink(path, link); err != nil {
					t.Fatal(err)
				}
				st := open(t, link)
				key := create(t, st, "a")
				put := func(id string) error {
					_, err := st.Append(ctx, key, store.Anywhere, store.Message(id, user(id)))
					return err
				}
				for _, id := range []string{"one", "two"} { // the second one is quick
					if err := put(id); err != nil {
						t.Fatal(err)
					}
				}
				at := filepath.Join(dir, name)
				if err := os.Rename(at, at+".away"); err != nil {
					t.Fatal(err)
				}
				if how == "replaced" {
					if err := os.WriteFile(at, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if err := put("three"); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "removed or replaced") {
						t.Errorf("append: %v", err)
					}
				}
				if err := st.Ping(ctx); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("ping: %v", err)
				}
				if err := os.Rename(at+".away", at); err != nil {
					t.Fatal(err)
				}
				if err := put("three"); err != nil {
					t.Error(err)
				}
				if got := texts(t, st, key); len(got) != 3 {
					t.Errorf("%v", got)
				}
			})
		}
	}
}

// TestSQLiteCanceledAppend checks that the connection that a canceled append closes does not look
// like a removed journal.
func TestSQLiteCanceledAppend(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	key, rng, given := create(t, st, "a"), rand.New(rand.NewPCG(1, 2)), 0
	for n := range 300 {
		short, cancel := context.WithCancel(ctx)
		if spins := rng.IntN(200) - 20; spins < 0 {
			cancel()
		} else {
			go func() {
				for range spins {
					runtime.Gosched()
				}
				cancel()
			}()
		}
		var err error
		if n%3 == 0 {
			_, err = st.Append(short, key, store.Anywhere, store.Message(fmt.Sprint(n), user("quick")))
		} else {
			err = st.Delete(short, create(t, st, fmt.Sprint("b", n)))
		}
		cancel()
		if errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "replaced") {
			t.Fatalf("%d: %v", n, err)
		}
		if err != nil {
			given++
		}
	}
	if given == 0 {
		t.Error("nobody gave up")
	}
	if _, err := st.Append(ctx, key, store.Anywhere, store.Message("last", user("last"))); err != nil {
		t.Error(err)
	}
}
