package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/trial"
)

// TestRelease builds the archive for this system, unpacks it and runs the program for its
// version.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program several times; left to make test")
	}
	dir := t.TempDir()
	r := release{root: "../..", out: dir, version: "v9.8.7", cached: !trial.Soak(), made: built}
	if err := r.run([]string{"host"}); err != nil {
		t.Fatal(err)
	}
	ext := ".tar.gz"
	if runtime.GOOS == "windows" {
		ext = ".zip"
	}
	base := "pare_9.8.7_" + runtime.GOOS + "_" + runtime.GOARCH
	packed, err := os.ReadFile(filepath.Join(dir, base+ext))
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, dir)
	t.Run("same bytes", func(t *testing.T) { sameAgain(t, dir, &r) })
	t.Run("image", func(t *testing.T) { runImage(t, dir, r.cached) })
	t.Run("provenance", func(t *testing.T) { readProvenance(t, dir, &r) })
	t.Run("npm", func(t *testing.T) { installNPM(t, dir) })
	t.Run("wheel", func(t *testing.T) { installWheel(t, dir) })
	files := map[string][]byte{}
	if ext == ".zip" {
		err = unzip(packed, files)
	} else {
		err = untar(packed, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md", "completions/pare.bash", "completions/pare.zsh", "completions/pare.fish", "man/pare.1", "man/pare-fix.1"} {
		if len(files[base+"/"+name]) == 0 {
			t.Errorf("%s is not in the archive", name)
		}
	}
	program := filepath.Join(dir, "unpacked.exe")
	data := files[base+"/pare"]
	if data == nil {
		data = files[base+"/pare.exe"]
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	says, err := exec.Command(program, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, says)
	}
	commit := "unknown"
	if hash, modified, ok := strings.Cut(r.commit, "-"); ok {
		commit = hash + ", " + modified
	} else if r.commit != "" {
		commit = hash[:12]
	}
	if want := fmt.Sprintf("pare 9.8.7 (commit %s, %s %s/%s)\n", commit, runtime.Version(), runtime.GOOS, runtime.GOARCH); string(says) != want {
		t.Errorf("--version says %q, want %q", says, want)
	}
}

// TestArchives packs and unpacks both kinds; the same files give the same bytes.
func TestArchives(t *testing.T) {
	r := release{at: time.Unix(1_700_000_000, 0).UTC()}
	in := []entry{{"pare", 0o755, []byte("program")}, {"man/pare.1", 0o644, []byte("page")}}
	for name, pack := range map[string]func(string, []entry) ([]byte, error){"tar": r.tar, "zip": r.zip} {
		one, err := pack("base", in)
		two, err2 := pack("base", in)
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: not the same twice, %v", name, err)
		}
		files := map[string][]byte{}
		unpack := untar
		if name == "zip" {
			unpack = unzip
		}
		if err := unpack(one, files); err != nil || len(files) != 2 || string(files["base/man/pare.1"]) != "page" {
			t.Errorf("%s: %q, %v", name, files, err)
		}
	}
}

// TestTargets checks the six systems, and that Go can build programs for them.
func TestTargets(t *testing.T) {
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(out))
	targets := strings.Split(everywhere, ",")
	for _, target := range targets {
		if !slices.Contains(known, target) {
			t.Errorf("Go does not build for %s", target)
		}
	}
	if len(targets) != 6 {
		t.Errorf("%d targets", len(targets))
	}
}

func untar(packed []byte, files map[string][]byte) error {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(z)
	return errors.Join(err, untarPlain(plain, files))
}

func untarPlain(plain []byte, files map[string][]byte) error {
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return err
		}
	}
}

func unzip(packed []byte, files map[string][]byte) error {
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return err
	}
	for _, f := range r.File {
		from, err := f.Open()
		if err != nil {
			return err
		}
		if files[f.Name], err = io.ReadAll(from); err != nil {
			return err
		}
	}
	return nil
}
