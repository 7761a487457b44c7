package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/store"
)

// TestDeleteOnFullDisk checks that a session can be deleted on a full disk, and that the next
// append finds space.
func TestDeleteOnFullDisk(t *testing.T) {
	room := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", room).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v %s", err, strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() { exec.Command("umount", "-l", room).Run() })
	path := filepath.Join(room, "pare.db")
	r := rand.New(rand.NewPCG(8, 8))
	add := func(st *store.Store, i, n int) error {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz    \n-"[r.IntN(32)]
		}
		id := fmt.Sprint("e", i)
		_, err := st.Append(ctx, store.ID(fmt.Sprint("s", i%4)), store.Anywhere, store.Message(id+"c", call(id)), store.Message(id+"r", result(id, string(b))))
		return err
	}
	st := open(t, path)
	for i := range 4 {
		create(t, st, fmt.Sprint("s", i))
	}
	i := 0
	for ; i < 60; i++ { // large enough to be worth a reserve
		if err := add(st, i, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	st.Close()
	st = open(t, path)
	for _, n := range []int{100_000, 100} { // until even small entries fail
		for ; ; i++ {
			if err := add(st, i, n); errors.Is(err, store.ErrFull) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Delete(ctx, store.ID("s1")); err != nil {
		t.Fatalf("%d entries, then delete: %v", i, err)
	}
	for n := range 100 {
		if err := add(st, 4*(i+n), 1000); err != nil { // to the first
			t.Fatalf("%d entries, a session deleted, then entry %d: %v", i, n, err)
		}
	}
}
