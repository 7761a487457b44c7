//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/trial"
)

type patient struct {
	name     string
	old, new []byte
}

func patients(t *testing.T, lines int) []patient {
	batch := []byte(strings.Repeat(faulty+"\n", lines))
	_, fixed, _ := program(bytes.NewReader(batch), "fix")
	session := brokenSession(lines)
	l, err := agentlog.Read("session.jsonl", session, agentlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	repaired, err := l.Fix(agentlog.Options{})
	if err != nil || len(repaired.Remaining) > 0 || bytes.Equal(repaired.Raw, session) {
		t.Fatalf("%v, left: %v", err, repaired.Remaining)
	}
	return []patient{{"batch", batch, []byte(fixed)}, {"session", session, repaired.Raw}}
}

func brokenSession(lines int) []byte {
	var b bytes.Buffer
	parent := "null"
	for i := range lines {
		uuid := fmt.Sprintf(`"%08x-0000-4000-8000-000000000000"`, i)
		head := fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s","version":"2.1.0","uuid":%s,"timestamp":"2026-01-01T00:%02d:%02d.%03dZ",`,
			parent, uuid, i/60%60, i%60, i%1000)
		switch turn := i / 4; i % 4 {
		case 0:
			fmt.Fprintf(&b, `%s"type":"user","message":{"role":"user","content":"prompt %d"}}`+"\n", head, turn)
		case 1:
			fmt.Fprintf(&b, `%s"type":"assistant","message":{"id":"msg_%d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"ls"}}]}}`+"\n", head, i, turn)
		case 2:
			if turn%5 == 0 {
				continue // lost; the next line links to the call
			}
			fmt.Fprintf(&b, `%s"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"output %d"}]}}`+"\n", head, turn, turn)
		case 3:
			fmt.Fprintf(&b, `%s"type":"assistant","message":{"id":"msg_%d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"reply %d"}]}}`+"\n", head, i, turn)
		}
		parent = uuid
	}
	return b.Bytes()
}

// strayName matches the hidden files that a killed run leaves: a new file, or the journal of a replacement.
var strayName = regexp.MustCompile(`^\.x\.jsonl\.pare-\d+-\d+(\.journal)?$`)

func (p *patient) inspect(t *testing.T, path string) (isNew bool) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the file is gone: %v", err)
	}
	isNew = bytes.Equal(got, p.new)
	if !isNew && !bytes.Equal(got, p.old) {
		t.Errorf("the file is neither the old nor the new one: %d bytes", len(got))
	}
	backup := false
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "x.jsonl", strayName.MatchString(name):
		case atomicfile.IsBackup(filepath.Join(filepath.Dir(path), name)):
			kept, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
			if err != nil || !bytes.Equal(kept, p.old) {
				t.Errorf("%s is not the old file: %d bytes, %v", name, len(kept), err)
			}
			backup = true
		default:
			t.Errorf("%s lies in the folder", name)
		}
	}
	if isNew && !backup {
		t.Error("the file is new, and the old one is lost")
	}
	return isNew
}

func (p *patient) again(t *testing.T, pare, path string) {
	t.Helper()
	done := p.inspect(t, path)
	out, err := exec.Command(pare, "fix", "--in-place", "--force", path).CombinedOutput()
	if err != nil {
		t.Errorf("a second run: %v: %s", err, out)
	}
	if !p.inspect(t, path) {
		t.Error("a second run has not repaired the file")
	}
	// A run that writes removes the temporary files of the killed one.
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".x.jsonl.pare-*")); err != nil || !done && len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
	// Hidden files with half a batch do not disturb the check of the folder.
	if out, err := exec.Command(pare, "check", filepath.Dir(path)).CombinedOutput(); err != nil {
		t.Errorf("check of the folder: %v: %s", err, out)
	}
}

func (p *patient) lay(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, p.old, 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKill(t *testing.T) {
	switch {
	case trial.Race:
		t.Skip("the program runs as a process of its own; under the race detector it takes minutes to trace it")
	case testing.Short():
		t.Skip("kills the program sixty times; left to make test")
	}
	pare := programPath(t)
	t.Run("at each step", func(t *testing.T) { killAtEachStep(t, pare) })
	t.Run("at any time", func(t *testing.T) { killAtAnyTime(t, pare) })
}

func TestInPlaceObstacles(t *testing.T) {
	trial.Long(t, "makes disks")
	pare := programPath(t)
	t.Run("disk full", func(t *testing.T) { diskFull(t, pare) })
	t.Run("read-only disk", func(t *testing.T) { readOnlyDisk(t, pare) })
	t.Run("file too large", func(t *testing.T) { fileTooLarge(t, pare) })
	t.Run("no permission", func(t *testing.T) { noPermission(t, pare) })
	t.Run("symlinks", func(t *testing.T) { symlinks(t, pare) })
}

func killAtEachStep(t *testing.T, pare string) {
	for _, p := range patients(t, 700) {
		t.Run(p.name, func(t *testing.T) {
			all := traced(t, 0, pare, "fix", "--in-place", "--force", p.lay(t))
			if len(all) == 0 {
				t.Skip("no right to trace a process: it cannot be killed at each step")
			}
			order := regexp.MustCompile(`^open .*write .*fsync .*link link .*open .*write .*fsync .*exchange exchange .*unlink unlink .*fsync fsync$`) // backup and journal exist before the file changes
			if s := strings.Join(all, " "); !order.MatchString(s) {
				t.Errorf("the steps are %s", s)
			}
			isOld, isNew := 0, 0
			for n := 1; n <= len(all); n++ {
				path := p.lay(t)
				steps := traced(t, n, pare, "fix", "--in-place", "--force", path)
				if len(steps) != n {
					t.Fatalf("%d steps were to be made, but it made %v", n, steps)
				}
				if p.inspect(t, path) {
					isNew++
				} else {
					isOld++
				}
				p.again(t, pare, path)
				if t.Failed() {
					t.Fatalf("killed at step %d: %v", n, steps)
				}
			}
			t.Logf("%d kills: the file was the old one %d times, the new one %d times; the steps: %s", len(all), isOld, isNew, strings.Join(all, " "))
			if isNew == 0 || isOld == 0 {
				t.Error("the moment of the change was missed")
			}
		})
	}
}

func traced(t *testing.T, n int, argv ...string) (stops []string) {
	t.Helper()
	runtime.LockOSThread() // ptrace works per thread
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if errors.Is(err, syscall.EPERM) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	const (
		good, clone, exitKill  = 1, 8, 1 << 20
		anyThread, ownChildren = 1 << 30, 1 << 29
	)
	var ws syscall.WaitStatus
	if _, err = syscall.Wait4(pid, &ws, 0, nil); err == nil {
		err = errors.Join(syscall.PtraceSetOptions(pid, good|clone|exitKill), syscall.PtraceSyscall(pid, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
	calls := callTrace{pid: pid, folder: filepath.Dir(argv[len(argv)-1]), counts: changingCalls(), in: map[int]string{}}
	for {
		tid, err := syscall.Wait4(-1, &ws, anyThread|ownChildren, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			t.Fatal(err)
		case ws.Exited() || ws.Signaled():
			if tid != pid {
				continue
			}
			if n == 0 && (!ws.Exited() || ws.ExitStatus() != 0) {
				t.Fatalf("status %v", ws)
			}
			return stops
		}
		pass := 0
		switch sig := ws.StopSignal(); {
		case sig == syscall.SIGTRAP|0x80: // a system call
			if name := calls.stop(tid); name != "" {
				stops = append(stops, name)
			}
			if n > 0 && len(stops) == n {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				n = -1
			}
		case sig == syscall.SIGTRAP, sig == syscall.SIGSTOP: // a new thread
		default:
			pass = int(sig)
		}
		_ = syscall.PtraceSyscall(tid, pass) // the thread may have exited
	}
}

func changingCalls() map[uint64]string {
	calls := map[uint64]string{
		syscall.SYS_OPENAT: "open", syscall.SYS_WRITE: "write", syscall.SYS_PWRITE64: "write", syscall.SYS_FSYNC: "fsync", syscall.SYS_FDATASYNC: "fsync",
		syscall.SYS_FCHMOD: "chmod", syscall.SYS_FCHMODAT: "chmod", syscall.SYS_FCHOWN: "chown", syscall.SYS_FCHOWNAT: "chown",
		syscall.SYS_FTRUNCATE: "truncate", syscall.SYS_UTIMENSAT: "utimes", syscall.SYS_LINKAT: "link", syscall.SYS_UNLINKAT: "unlink",
		syscall.SYS_RENAMEAT: "rename", syscall.SYS_MKDIRAT: "mkdir", unix.SYS_RENAMEAT2: "exchange",
	}
	if runtime.GOARCH == "amd64" { // amd64 also has older calls
		calls[82], calls[86], calls[87], calls[94] = "rename", "link", "unlink", "chown"
	}
	return calls
}

type callTrace struct {
	pid    int
	folder string
	counts map[uint64]string
	in     map[int]string
}

func (c *callTrace) stop(tid int) string {
	if name := c.in[tid]; name != "" { // the call returns
		delete(c.in, tid)
		return name
	}
	var info struct {
		op     uint8
		_      [3]uint8
		arch   uint32
		ip, sp uint64
		nr     uint64
		args   [6]uint64
		_      [2]uint64
	}
	const getSyscallInfo, entry = 0x420e, 1
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 || info.op != entry {
		return ""
	}
	name := c.counts[info.nr]
	switch name {
	case "":
		return ""
	case "open":
		if info.args[2]&syscall.O_CREAT == 0 {
			return ""
		}
	case "write", "fsync": // the runtime also writes to wake its threads
		file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.pid, info.args[0]))
		if err != nil || !strings.HasPrefix(file, c.folder) {
			return ""
		}
	}
	c.in[tid] = name
	return name
}

func killAtAnyTime(t *testing.T, pare string) {
	kills := 10
	if trial.Soak() {
		kills = 100
	}
	for _, p := range patients(t, 100*kills) {
		t.Run(p.name, func(t *testing.T) {
			args := func(path string) []string { return []string{"fix", "--in-place", "--force", path} }
			start := time.Now()
			if out, err := exec.Command(pare, args(p.lay(t))...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			whole := time.Since(start)
			isNew, isOld, late, strays := 0, 0, 0, 0
			for i := range kills {
				path := p.lay(t)
				cmd := exec.Command(pare, args(path)...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				delay := whole * time.Duration(i) / time.Duration(kills) * 6 / 5
				time.AfterFunc(delay, func() { cmd.Process.Kill() })
				if cmd.Wait() == nil {
					late++
				}
				if p.inspect(t, path) {
					isNew++
				} else {
					isOld++
				}
				hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
				strays += len(hidden)
				if len(hidden) > 0 && i%3 == 0 {
					p.again(t, pare, path)
				}
				if t.Failed() {
					t.Fatalf("killed after %v of %v", delay, whole)
				}
			}
			t.Logf("%d kills within %v (%d came too late): the file was the old one %d times, the new one %d times; %d hidden files were left", kills, whole, late, isOld, isNew, strays)
		})
	}
}

func (p *patient) alone(t *testing.T, path string) {
	t.Helper()
	if isNew := p.inspect(t, path); isNew {
		t.Error("the file was changed")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v in the folder: %v", entries, err)
	}
}

func refused(t *testing.T, cmd *exec.Cmd, words ...string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != statusInvalid {
		t.Errorf("%v: %s", err, out)
	}
	for _, w := range append(words, "pare: ", "x.jsonl") {
		if !strings.Contains(string(out), w) {
			t.Errorf("%q is not in %s", w, out)
		}
	}
	if strings.Contains(string(out), ".pare-") || strings.Contains(string(out), "goroutine") {
		t.Errorf("it speaks of itself: %s", out)
	}
}

func ownMounts(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	err := syscall.Unshare(syscall.CLONE_NEWNS)
	if err == nil {
		err = syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	}
	if err != nil {
		t.Skip("no right to mount a small disk: " + err.Error())
	}
}

func mount(t *testing.T, folder, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, options); err != nil {
		t.Skip("no right to mount a small disk: " + err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, 0) })
}

func diskFull(t *testing.T, pare string) {
	ownMounts(t)
	for _, p := range patients(t, 1500) {
		folder := t.TempDir()
		mount(t, folder, fmt.Sprintf("size=%d", len(p.old)+len(p.old)/2))
		path := filepath.Join(folder, "x.jsonl")
		if err := os.WriteFile(path, p.old, 0o640); err != nil {
			t.Fatal(err)
		}
		refused(t, exec.Command(pare, "fix", "--in-place", "--force", path), "write ", "no space left on device", "no file was changed")
		p.alone(t, path)
		if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT, "size=64m"); err != nil {
			t.Fatal(err)
		}
		p.again(t, pare, path)
	}
}

func readOnlyDisk(t *testing.T, pare string) {
	ownMounts(t)
	for _, p := range patients(t, 100) {
		folder := t.TempDir()
		mount(t, folder, "size=64m")
		path := filepath.Join(folder, "x.jsonl")
		if err := os.WriteFile(path, p.old, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		refused(t, exec.Command(pare, "fix", "--in-place", "--force", path), "write ", "read-only file system")
		p.alone(t, path)
	}
}

func fileTooLarge(t *testing.T, pare string) {
	for _, p := range patients(t, 1500) {
		path := p.lay(t)
		// The unit is 512 bytes, or 1024 if sh is bash.
		cmd := exec.Command("sh", "-c", `ulimit -f 100 && exec "$0" "$@"`, pare, "fix", "--in-place", "--force", path)
		refused(t, cmd, "write ", "file too large", "no file was changed")
		p.alone(t, path)
		p.again(t, pare, path)
	}
}

func nobody(t *testing.T, cmd *exec.Cmd, reach ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		return cmd
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent") // the settings of root cannot be read
	for _, path := range append(reach, cmd.Path) {
		for dir := filepath.Dir(filepath.Dir(path)); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cmd
}

func noPermission(t *testing.T, pare string) {
	own := func(path string) {
		if os.Geteuid() == 0 {
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range patients(t, 100) {
		cases := []struct {
			name         string
			folder, file fs.FileMode
			foreign      bool // the file belongs to another user
			words        []string
		}{
			{"read-only folder", 0o555, 0o644, false, []string{"write ", "permission denied", "-o FILE"}},
			{"unreadable file", 0o755, 0o000, false, []string{"permission denied"}},
			{"foreign file in a shared folder", fs.ModeSticky | 0o777, 0o644, true, []string{"write ", "not permitted", "-o FILE"}},
		}
		for _, c := range cases {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				if c.foreign && os.Geteuid() != 0 {
					t.Skip("only root can make a file that belongs to somebody else")
				}
				path := p.lay(t)
				folder := filepath.Dir(path)
				t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
				if !c.foreign {
					own(path)
					own(folder)
				}
				if err := errors.Join(os.Chmod(path, c.file), os.Chmod(folder, c.folder)); err != nil {
					t.Fatal(err)
				}
				refused(t, nobody(t, exec.Command(pare, "fix", "--in-place", "--force", path), path), c.words...)
				if err := errors.Join(os.Chmod(folder, 0o755), os.Chmod(path, 0o644)); err != nil {
					t.Fatal(err)
				}
				if c.foreign { // the backup may exist already
					if p.inspect(t, path) {
						t.Error("the file was changed")
					}
				} else {
					p.alone(t, path)
				}
				own(path)
				own(folder)
				p.again(t, pare, path)
			})
		}
	}
}

func symlinks(t *testing.T, pare string) {
	for _, p := range patients(t, 100) {
		t.Run(p.name, func(t *testing.T) {
			path := p.lay(t)
			links := t.TempDir()
			link, second := filepath.Join(links, "x.jsonl"), filepath.Join(links, "second")
			if err := errors.Join(os.Symlink(path, link), os.Symlink("x.jsonl", second)); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(pare, "fix", "--in-place", "--force", second).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !p.inspect(t, path) {
				t.Error("what the link leads to is as it was")
			}
			for _, l := range []string{link, second} {
				if st, err := os.Lstat(l); err != nil || st.Mode().Type() != fs.ModeSymlink {
					t.Errorf("%s is no link any more: %v", l, err)
				}
			}
			if entries, _ := os.ReadDir(links); len(entries) != 2 {
				t.Errorf("%v beside the links", entries)
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
		})
	}
	for name, to := range map[string]string{"nowhere": "gone", "itself": "x.jsonl"} {
		t.Run("to "+name, func(t *testing.T) {
			link := filepath.Join(t.TempDir(), "x.jsonl")
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
			refused(t, exec.Command(pare, "fix", "--in-place", link), map[string]string{"nowhere": "no such file", "itself": "too many"}[name])
			if entries, _ := os.ReadDir(filepath.Dir(link)); len(entries) != 1 {
				t.Errorf("%v in the folder", entries)
			}
		})
	}
}
