//go:build unix

package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return string(b)
}

func stat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	st, err := os.Stat(name)
	must(t, err)
	return st
}

func draft(t *testing.T, f *Files, name, text string) *Draft {
	t.Helper()
	d, err := f.New(name)
	must(t, err)
	_, err = io.WriteString(d, text)
	must(t, err)
	return d
}

// alone fails unless the folder has exactly these files.
func alone(t *testing.T, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}

func TestCommit(t *testing.T) {
	place(t, "a")
	must(t, os.Chmod("a", 0o640))
	must(t, os.Symlink("a", "link"))
	must(t, os.Symlink("new", "dangling"))
	var f Files
	d := draft(t, &f, "link", "text")
	if content(t, "a") != "a" {
		t.Error("seen before it was committed")
	}
	must(t, d.Commit())
	d.Discard()
	if content(t, "a") != "text" || stat(t, "a").Mode().Perm() != 0o640 {
		t.Error("not replaced, or with another mode")
	}
	must(t, f.WriteFile("dangling", []byte("x")))
	if content(t, "new") != "x" {
		t.Error("a link that leads nowhere yet must stay a link")
	}
	draft(t, &f, "b", "never").Discard()
	alone(t, "a", "dangling", "link", "new")
}

func TestCommitOver(t *testing.T) {
	place(t, "a")
	var f Files
	was := stat(t, "a")
	done, err := draft(t, &f, "a", "text").CommitOver(was, Over{Backup: true})
	kept := done.Backup
	must(t, err)
	if kept == "" || content(t, kept) != "a" || content(t, "a") != "text" {
		t.Errorf("kept %q", kept)
	}
	// From here on it is another file.
	d := draft(t, &f, "a", "lost")
	if _, err := d.CommitOver(was, Over{}); !errors.Is(err, ErrMoved) {
		t.Errorf("%v, want ErrMoved", err)
	}
	d.Discard()
	// One that was not there must still not be.
	d = draft(t, &f, "new", "mine")
	must(t, os.WriteFile("new", []byte("theirs"), 0o600))
	if _, err := d.CommitOver(nil, Over{}); !errors.Is(err, ErrMoved) {
		t.Errorf("%v, want ErrMoved", err)
	}
	d.Discard()
	if content(t, "new") != "theirs" {
		t.Error("overwritten")
	}
	d = draft(t, &f, "newer", "mine")
	if _, err := d.CommitOver(nil, Over{}); err != nil {
		t.Error(err)
	}
	alone(t, "a", "a.bak", "new", "newer")
}

func TestPack(t *testing.T) {
	place(t)
	var f Files
	d, err := f.New("a")
	must(t, err)
	must(t, d.Pack(func(w io.Writer) (io.WriteCloser, error) { return upper{w}, nil }))
	io.WriteString(d, "text")
	must(t, d.Commit())
	if got := content(t, "a"); got != "TEXT." {
		t.Errorf("%q", got)
	}
}

type upper struct{ w io.Writer }

func (u upper) Write(p []byte) (int, error) { return u.w.Write(bytes.ToUpper(p)) }
func (u upper) Close() error                { _, err := u.w.Write([]byte(".")); return err }

// TestNewFilesKeepPrivacy checks that a file made from a private file is private from the first
// byte on.
func TestNewFilesKeepPrivacy(t *testing.T) {
	place(t, "there")
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	var f Files
	early := draft(t, &f, "early", "x")
	f.Restrict(0o640)
	if got := stat(t, early.temp).Mode().Perm(); got != 0o640 {
		t.Errorf("the draft that was begun is %o", got)
	}
	f.Restrict(0o604)
	late := draft(t, &f, "late", "x")
	if got := stat(t, late.temp).Mode().Perm(); got != 0o600 {
		t.Errorf("the draft is %o", got)
	}
	there := draft(t, &f, "there", "x")
	for _, d := range []*Draft{early, late, there} {
		must(t, d.Commit())
	}
	for name, want := range map[string]fs.FileMode{"early": 0o600, "late": 0o600, "there": 0o644} {
		if got := stat(t, name).Mode().Perm(); got != want {
			t.Errorf("%s is %o, want %o", name, got, want)
		}
	}
	var open Files
	open.Restrict(0o444) // that the owner may not write is no reason not to
	must(t, open.WriteFile("open", nil))
	if got := stat(t, "open").Mode().Perm(); got != 0o644 {
		t.Errorf("%o", got)
	}
}

// TestOneReplacementWins checks that one of many concurrent runs replaces a file that all have
// read.
func TestOneReplacementWins(t *testing.T) {
	place(t, "a")
	was := stat(t, "a")
	const runs = 8
	var wait sync.WaitGroup
	errs := make([]error, runs)
	for i := range runs {
		d := draft(t, &Files{}, "a", "new")
		wait.Add(1)
		go func() {
			defer wait.Done()
			_, errs[i] = d.CommitOver(was, Over{Backup: true})
			d.Discard()
		}()
	}
	wait.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !errors.Is(err, ErrMoved) {
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d runs have replaced the file", done)
	}
	if content(t, "a.bak") != "a" {
		t.Error("the backup is not the original")
	}
	alone(t, "a", "a.bak")
}

func TestLockedByOthers(t *testing.T) {
	place(t, "a")
	other, err := os.Open("a")
	must(t, err)
	defer other.Close()
	must(t, syscall.Flock(int(other.Fd()), syscall.LOCK_SH))
	f := Files{Patience: time.Nanosecond}
	was := stat(t, "a")
	d := draft(t, &f, "a", "new")
	if _, err := d.CommitOver(was, Over{}); !errors.Is(err, ErrLocked) {
		t.Errorf("%v, want ErrLocked", err)
	}
	if _, err := d.CommitOver(was, Over{Force: true}); err != nil || content(t, "a") != "new" {
		t.Errorf("forced: %v", err)
	}
}

// TestBackupNumbersAreBounded checks that files with numbers out of bounds are no backups.
func TestBackupNumbersAreBounded(t *testing.T) {
	place(t, "a", "a.bak.9223372036854775807", "a.bak.1000000", "a.bak.007", "a.bak.x", "b", "b.bak.999999")
	var f Files
	for _, want := range []string{"a.bak", "a.bak.1"} {
		if got, err := f.Backup("a"); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if got, err := f.Backup("b"); !errors.Is(err, ErrManyBackups) {
		t.Errorf("%q, %v; want ErrManyBackups", got, err)
	}
	if got := Backups("a"); len(got) != 2 || got[0] != 1 {
		t.Errorf("%v", got)
	}
}

func TestRestore(t *testing.T) {
	place(t, "a", "a.bak")
	var f Files
	done, err := f.Restore("a", "a.bak", stat(t, "a"), Over{})
	must(t, err)
	if content(t, "a") != "a.bak" || content(t, done.Backup) != "a" {
		t.Errorf("kept %q", done.Backup)
	}
	must(t, os.Remove("a"))
	if done, err = f.Restore("a", done.Backup, nil, Over{}); err != nil || done.Backup != "" || content(t, "a") != "a" {
		t.Errorf("%q, %v", done.Backup, err)
	}
	var we *Error
	if _, err := f.Restore("a", "gone", stat(t, "a"), Over{}); !errors.As(err, &we) {
		t.Errorf("%v", err)
	}
	alone(t, "a")
}

func TestIsBackup(t *testing.T) {
	const odd = "two\nlines"
	place(t, "a", "a.bak", "b.bak", "a.bak.3", "a.bak.x", odd, odd+".bak", odd+".bak.12")
	want := map[string]bool{"a": false, "a.bak": true, "b.bak": false, "a.bak.3": true, "a.bak.x": false, odd: false, odd + ".bak": true, odd + ".bak.12": true}
	if got := Backups(odd); !slices.Equal(got, []int{12, 0}) {
		t.Errorf("Backups(%q) = %v", odd, got)
	}
	for name, want := range want {
		if got := IsBackup(name); got != want {
			t.Errorf("IsBackup(%q) = %v", name, got)
		}
	}
}

func TestIsHidden(t *testing.T) {
	for _, base := range []string{"a", "two\nlines", "\xff"} {
		for _, locks := range []bool{true, false} {
			if name := hiddenName(base, 3, locks); !IsHidden(name) {
				t.Errorf("IsHidden(%q) = false", name)
			}
		}
	}
}

func TestClear(t *testing.T) {
	place(t, "a")
	var f Files
	draft(t, &f, "a", "x")
	draft(t, &f, "b", "x")
	f.Clear()
	alone(t, "a")
	if _, err := f.New("c"); err == nil {
		t.Error("the run is over")
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	place(t)
	var f Files
	must(t, os.Mkdir("folder", 0o700))
	for name, want := range map[string]string{"folder": "write folder: it is a folder", "no/x": "write no/x: no such file or directory"} {
		if _, err := f.New(name); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f.Create = func(string, fs.FileMode) (File, error) {
		return nil, &fs.PathError{Op: "open", Path: ".x.pare-1-0", Err: syscall.EACCES}
	}
	if _, err := f.New("x"); !errors.Is(err, fs.ErrPermission) || err.Error() != "write x: permission denied" {
		t.Error(err)
	}
}

func TestTempsAvoidClaims(t *testing.T) {
	place(t)
	var f Files
	d := draft(t, &f, "a", "x")
	taken := d.temp
	d.Discard()
	must(t, f.Claim("--receipt", taken, Write))
	if d = draft(t, &f, "a", "x"); d.temp == taken {
		t.Error("the hidden file would be written by the receipt")
	}
	d.Discard()
}

func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var f Files
	for _, n := range []int{0, 10, MaxHeld + 10} {
		s := f.Spool()
		text := bytes.Repeat([]byte("x"), n)
		for part := range bytesOf(text, 1<<20) {
			if _, err := s.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if (s.file != nil) != (n > MaxHeld) {
			t.Errorf("%d bytes: a file: %v", n, s.file != nil)
		}
		var out bytes.Buffer
		must(t, s.Release(&out))
		if !bytes.Equal(out.Bytes(), text) {
			t.Errorf("%d bytes came out of %d", out.Len(), n)
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func bytesOf(all []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(all) > 0 {
			k := min(n, len(all))
			if !yield(all[:k]) {
				return
			}
			all = all[k:]
		}
	}
}

// Where hard links are not to be had, the backup is a copy.
func TestCopy(t *testing.T) {
	place(t, "x")
	must(t, os.Chmod("x", 0o600))
	var f Files
	must(t, f.Copy("x", "x.bak"))
	if content(t, "x.bak") != "x" || stat(t, "x.bak").Mode().Perm() != 0o600 || !stat(t, "x.bak").ModTime().Equal(stat(t, "x").ModTime()) {
		t.Error("not a copy")
	}
	if err := f.Copy("x", "x.bak"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup is overwritten: %v", err)
	}
}

// A file that was rewritten, and left alone since, can go back; one that was written to
// afterwards cannot.
func TestChangedSince(t *testing.T) {
	place(t, "a")
	var f Files
	done, err := draft(t, &f, "a", "new").CommitOver(stat(t, "a"), Over{Backup: true})
	kept := done.Backup
	must(t, err)
	if _, known := changeTime(stat(t, kept)); !known {
		t.Skip("the system does not tell when a name was taken away")
	}
	if ChangedSince(stat(t, "a"), stat(t, kept)) {
		t.Error("nobody has changed it")
	}
	later := time.Now().Add(time.Minute)
	must(t, os.Chtimes("a", later, later))
	if !ChangedSince(stat(t, "a"), stat(t, kept)) {
		t.Error("somebody has changed it")
	}
	same := stat(t, kept).ModTime()
	must(t, os.Chtimes("a", same, same))
	if ChangedSince(stat(t, "a"), stat(t, kept)) {
		t.Error("it bears the time of the backup")
	}
}
