package store_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/fault"
	"github.com/pare-llm/pare/store"
)

// TestFaultsSQLite fails disk calls of SQLite, simulates power loss during them, cancels calls at
// any point and reuses their buffers.
func TestFaultsSQLite(t *testing.T) {
	base := filepath.Join(t.TempDir(), "pare.db")
	st, err := store.Open(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	all := &faultRun{t: t}
	all.ready(st, 0)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	dir := faultFolder(t)
	var tally fault.Tally
	fault.Run(t, 60, func(t *testing.T, s *fault.Source) {
		path := filepath.Join(dir, "pare.db")
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			os.Remove(path + end)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &faultRun{t: t, s: s, keys: all.keys, own: slices.Clone(all.own)}
		r.arm()
		d := newDisk(t, dir, s)
		defer d.close()
		chance := s.Rand("power")
		cut := chance.IntN(2) == 0
		if cut {
			last := 1 + chance.IntN(300)
			s.AfterCalls(last, func() { d.powerOff(); s.CountFailure("power cut") })
		}
		for try := 0; r.st == nil; try++ {
			if r.st, err = store.OpenWith(ctx, path, store.Options{Now: func() time.Time { return faultClock(s) }}); err != nil && (d.off() || try == 20) {
				s.Stop()
				d.revive(t, chance, &tally)
				if r.st, err = store.Open(ctx, path); err != nil {
					t.Errorf("the store cannot be opened any more: %v", err)
					return
				}
			}
		}
		r.run()
		s.Stop()
		if d.off() {
			r.st.Close()
			d.revive(t, chance, &tally)
			if r.st, err = store.Open(ctx, path); err != nil {
				t.Errorf("the store cannot be opened any more: %v", err)
				return
			}
		}
		r.verify(r.st)
		if problems, err := r.st.Fsck(ctx, false); err != nil || len(problems) > 0 {
			t.Errorf("fsck: %v %v", problems, err)
		}
		if err := r.st.Close(); err != nil {
			t.Error(err)
		}
		if open := openFiles(dir); len(open) > 0 {
			t.Errorf("the store is closed, and its files are not: %v", open)
		}
		tally.Add(s, r.ops)
	})
	t.Log(&tally)
}

// openFiles lists the files of a folder that this process has open, including deleted ones.
func openFiles(dir string) (open []string) {
	all, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range all {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			open = append(open, to)
		}
	}
	return open
}

// faultFolder returns a folder in memory if possible, because the test does not need a disk.
func faultFolder(t *testing.T) string {
	t.Helper()
	if dir, err := os.MkdirTemp("/dev/shm", "pare-faults-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// revive is powerOn for a disk that may still have power.
func (d *disk) revive(t *testing.T, chance *rand.Rand, tally *fault.Tally) {
	t.Helper()
	if d.off() {
		tally.Count("unsynced writes lost", d.powerOn(t, chance))
	}
	d.mu.Lock()
	d.dead, d.pending = false, make(map[string][]piece)
	d.mu.Unlock()
}
