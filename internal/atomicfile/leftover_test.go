//go:build unix

package atomicfile

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLeftover checks that the hidden files of a killed run are removed when another run writes
// into the folder, and no other files.
func TestLeftover(t *testing.T) {
	if folder := os.Getenv("ATOMICFILE_CHILD"); folder != "" {
		var f Files
		open := draft(t, &f, filepath.Join(folder, "open"), "x")
		closed := draft(t, &f, filepath.Join(folder, "closed"), "x")
		must(t, closed.Close())
		fmt.Println("ready", open.temp != "")
		time.Sleep(time.Minute)
		return
	}
	place(t, "a")
	folder, err := os.Getwd()
	must(t, err)
	child := exec.Command(os.Args[0], "-test.run=^TestLeftover$")
	child.Env = append(os.Environ(), "ATOMICFILE_CHILD="+folder)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	defer child.Process.Kill()
	for line := bufio.NewScanner(out); line.Scan() && !strings.HasPrefix(line.Text(), "ready"); {
	}
	hidden := func() (names []string) {
		all, err := filepath.Glob(".*pare-*")
		must(t, err)
		return all
	}
	living := hidden()
	if len(living) != 2 {
		t.Fatalf("%q", living)
	}
	var f Files
	d := draft(t, &f, "a", "new")
	for _, name := range living {
		if !slices.Contains(hidden(), name) {
			t.Errorf("%s was removed while its run lives", name)
		}
	}
	must(t, child.Process.Kill())
	child.Wait()
	f.sweep("") // once in a run
	if len(hidden()) != 3 {
		t.Errorf("%q", hidden())
	}
	// What is called like one and is none stays.
	must(t, os.Mkdir(".a.pare-1-0", 0o700))
	must(t, os.Symlink("a", ".b.pare-1-0"))
	must(t, os.WriteFile(".c.pare-1", nil, 0o600))
	must(t, os.WriteFile(".d.pare-1-0+", nil, 0o600))
	var next Files
	must(t, next.WriteFile("a", []byte("newer")))
	if got := strings.Join(hidden(), " "); got != ".a.pare-1-0 "+d.temp+" .b.pare-1-0 .c.pare-1 .d.pare-1-0+" {
		t.Errorf("left: %s", got)
	}
	must(t, d.Commit())
	if content(t, "a") != "new" {
		t.Error("a run that lives has lost its file")
	}
}

// TestManyDrafts checks that a run can begin any number of drafts, of which only some stay open.
func TestManyDrafts(t *testing.T) {
	place(t)
	var f Files
	var all []*Draft
	for i := range 3 * maxLocks {
		d := draft(t, &f, fmt.Sprint("f", i), "x")
		must(t, d.Close())
		all = append(all, d)
	}
	if f.locks != maxLocks {
		t.Errorf("%d are open", f.locks)
	}
	var other Files
	must(t, other.WriteFile("other", nil))
	for i, d := range all {
		if !IsHidden(d.temp) {
			t.Errorf("%s is not known", d.temp)
		}
		if i%2 == 0 {
			must(t, d.Commit())
		}
		d.Discard()
	}
	if names, _ := os.ReadDir("."); f.locks != 0 || len(names) != len(all)/2+1 {
		t.Errorf("%d are open, %d files", f.locks, len(names))
	}
}
