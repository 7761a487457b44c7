//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// place makes files in a new folder, and goes there.
func place(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, n := range names {
		if err := os.MkdirAll(filepath.Dir(n), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(n, []byte(n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestClaims checks pairs of claims: whether they clash depends on the file, not on its spelling.
func TestClaims(t *testing.T) {
	type use struct {
		role, name string
		use        Use
	}
	input := func(n string) use { return use{"the input", n, Read} }
	inPlace := func(n string) use { return use{"the input", n, Replace} }
	output := func(n string) use { return use{"-o", n, Write} }
	receipt := func(n string) use { return use{"--receipt", n, Write} }
	for _, c := range []struct {
		a, b use
		want string // what the clash says; "": none
	}{
		{input("s.json"), output("s.json"), "the input s.json and -o s.json are the same file"},
		{input("s.json"), output("./s.json"), "the input s.json and -o ./s.json are the same file"},
		{input("s.json"), output("sub/../s.json"), "the input s.json and -o sub/../s.json are the same file"},
		{input("s.json"), output("link.json"), "the input s.json and -o link.json are the same file"},
		{input("s.json"), output("hard.json"), "the input s.json and -o hard.json are the same file"},
		{input("sub/in.json"), output("folder/in.json"), "the input sub/in.json and -o folder/in.json are the same file"},
		{output("o.json"), receipt("./o.json"), "-o o.json and --receipt ./o.json are the same file"},
		{output("o.json"), receipt("dangling"), "-o o.json and --receipt dangling are the same file"},
		{output("sub/o.json"), receipt("folder/o.json"), "-o sub/o.json and --receipt folder/o.json are the same file"},
		{inPlace("s.json"), receipt("s.json"), "the input s.json and --receipt s.json are the same file"},
		{inPlace("s.json"), receipt("s.json.bak"), "the backup of s.json and --receipt s.json.bak are the same file"},
		{inPlace("s.json"), receipt("./s.json.bak.7"), "the backup of s.json and --receipt ./s.json.bak.7 are the same file"},
		{receipt("s.json.bak"), inPlace("s.json"), "--receipt s.json.bak and the backup of s.json are the same file"},
		{receipt("s.json.bak"), inPlace("link.json"), "--receipt s.json.bak and the backup of link.json are the same file"},
		{receipt("folder/in.json.bak"), inPlace("sub/in.json"), "--receipt folder/in.json.bak and the backup of sub/in.json are the same file"},
		{inPlace("s.json"), inPlace("hard.json"), "the input s.json and the input hard.json are the same file"},

		{input("s.json"), input("./s.json"), ""},
		{inPlace("s.json"), inPlace("./s.json"), ""}, // named twice, replaced once
		{inPlace("s.json"), inPlace("link.json"), ""},
		{inPlace("s.json"), receipt("sub/s.json.bak"), ""},
		{inPlace("s.json"), receipt("s.jsonx.bak"), ""},
		{input("s.json"), output("s.json.bak"), ""},
		{input("gone.json"), input("gone.json"), ""},
		{output("o.json"), receipt("o2.json"), ""},
		{output("/dev/null"), receipt("/dev/null"), ""},
		{output("nowhere/o.json"), receipt("nowhere/o.json"), ""}, // neither can be made
	} {
		place(t, "s.json", "sub/in.json")
		must(t, os.Symlink("s.json", "link.json"))
		must(t, os.Link("s.json", "hard.json"))
		must(t, os.Symlink("o.json", "dangling"))
		must(t, os.Symlink("sub", "folder"))
		var f Files
		must(t, f.Claim(c.a.role, c.a.name, c.a.use))
		err := f.Claim(c.b.role, c.b.name, c.b.use)
		got := ""
		if err != nil {
			var clash *Clash
			if !errors.As(err, &clash) {
				t.Fatalf("%v is no clash", err)
			}
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestOpenFileIsClaimed(t *testing.T) {
	place(t, "s.json")
	out, err := os.OpenFile("s.json", os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer out.Close()
	var f Files
	must(t, f.ClaimOpen("standard output", out, Write))
	err = f.Check("the input", "s.json", nil, Read)
	if want := "standard output and the input s.json are the same file"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	must(t, f.ClaimOpen("standard output", w, Write))
	must(t, f.ClaimOpen("standard error", w, Write))
}

// A file that is open already is known by what it is, whatever the run writes to.
func TestCheckOpen(t *testing.T) {
	place(t, "s.json", "other.json")
	must(t, os.Link("s.json", "link.json"))
	st := func(name string) os.FileInfo {
		st, err := os.Stat(name)
		must(t, err)
		return st
	}
	out, err := os.OpenFile("s.json", os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer out.Close()
	for _, c := range []struct {
		what  string
		claim func(f *Files) error
		clash bool
	}{
		{"nothing is written", func(f *Files) error { return f.Claim("the input", "s.json", Read) }, false},
		{"to standard output", func(f *Files) error { return f.ClaimOpen("standard output", out, Write) }, true},
		{"to a path", func(f *Files) error { return f.Claim("-o", "s.json", Write) }, true},
		{"in place", func(f *Files) error { return f.Claim("the input", "s.json", Replace) }, true},
	} {
		var f Files
		must(t, c.claim(&f))
		for _, name := range []string{"s.json", "link.json"} {
			if err := f.Check("the input", name, st(name), Read); (err != nil) != c.clash {
				t.Errorf("%s: %s: %v", c.what, name, err)
			}
		}
		must(t, f.Check("the input", "other.json", st("other.json"), Read))
	}
}

func TestCheckLeavesNoNote(t *testing.T) {
	place(t, "s.json")
	var f Files
	must(t, f.Check("the input", "s.json", nil, Read))
	must(t, f.Claim("-o", "s.json", Write))
}

// TestClaimsFoldCase checks that claims ignore case in folders that do.
func TestClaimsFoldCase(t *testing.T) {
	place(t)
	here, err := os.Getwd()
	must(t, err)
	for _, folds := range []bool{false, true} {
		var f Files
		folder, _ := f.placeOf(filepath.Join(here, "x"))
		f.folding[folder] = folds
		must(t, f.Claim("-o", "O.json", Write))
		if err := f.Claim("--receipt", "o.JSON", Write); (err != nil) != folds {
			t.Errorf("folds %v: %v", folds, err)
		}
		must(t, f.Claim("the input", "new.json", Replace))
		if err := f.Claim("--archive", "NEW.json.bak", Write); (err != nil) != folds {
			t.Errorf("folds %v: %v", folds, err)
		}
	}
}

func TestFoldsCase(t *testing.T) {
	place(t, "Name", "other")
	if foldsCase(".") {
		// Rare here, but then the system must agree.
		if _, err := os.Stat("nAME"); err != nil {
			t.Error("said to fold, and does not")
		}
	} else if _, err := os.Stat("nAME"); err == nil {
		t.Error("folds, and is said not to")
	}
	if _, told := otherCase(".", "123"); told {
		t.Error("digits have no case")
	}
}

func TestResolve(t *testing.T) {
	place(t, "sub/a")
	must(t, os.Symlink("sub", "link"))
	must(t, os.Symlink("link/new", "dangling"))
	must(t, os.Symlink("round", "round"))
	for name, want := range map[string]string{"sub/a": "sub/a", "link/a": "sub/a", "link/new": "sub/new", "dangling": "sub/new", "new": "new"} {
		got, err := Resolve(name)
		if err != nil || !strings.HasSuffix("/"+got, "/"+want) {
			t.Errorf("Resolve(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"round", "nowhere/a"} {
		if got, err := Resolve(name); err == nil {
			t.Errorf("Resolve(%q) = %q", name, got)
		}
	}
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	// As for /dev/stdout: what is behind the link has no name.
	if open := filepath.Join("/proc/self/fd", fd(w)); exists(open) {
		if got, err := Resolve(open); err != nil || !exists(got) {
			t.Errorf("Resolve(%q) = %q, %v", open, got, err)
		}
	}
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

func fd(f *os.File) string {
	n := int(f.Fd())
	digits := ""
	for ; n > 0; n /= 10 {
		digits = string(rune('0'+n%10)) + digits
	}
	return digits
}

func TestPipesHaveManyRoles(t *testing.T) {
	place(t)
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Skip("no pipes with names here:", err)
	}
	var f Files
	must(t, f.Claim("-o", "pipe", Write))
	must(t, f.Claim("--receipt", "pipe", Write))
}
