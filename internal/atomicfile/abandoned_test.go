package atomicfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAbandoned checks that a hidden file without a lock is removed when its process has ended and
// it was not written to for a day.
func TestAbandoned(t *testing.T) {
	t.Chdir(t.TempDir())
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	child := exec.Command(os.Args[0], "-test.run=^$")
	must(t, child.Run())
	gone, here := strconv.Itoa(child.Process.Pid), strconv.Itoa(os.Getpid())
	old := time.Now().Add(-2 * abandonedAfter)
	for name, when := range map[string]time.Time{
		".a.pare-" + gone + "-0+": old, ".b.pare-" + gone + "-1+": time.Now(), ".c.pare-" + here + "-7+": old, ".d.pare-99999999999999999999-0+": old, ".e.pare-0-0+": old, ".f.pare-x-0+": old,
	} {
		must(t, os.WriteFile(name, []byte("x"), 0o600))
		must(t, os.Chtimes(name, when, when))
	}
	must(t, os.Mkdir(".g.pare-"+gone+"-0+", 0o700))
	must(t, os.Chtimes(".g.pare-"+gone+"-0+", old, old))
	var f Files
	must(t, f.WriteFile("a", []byte("new")))
	left, err := filepath.Glob(".*pare-*")
	must(t, err)
	if got := strings.Join(left, " "); strings.Contains(got, ".a.") || len(left) != 6 {
		t.Errorf("left: %s", got)
	}
}
