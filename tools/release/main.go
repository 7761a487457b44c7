// Command release builds the archives of a release: the program for each system with the
// licence, the man pages and the completions, and a list of checksums. The same commit gives
// the same bytes, wherever it is built with the same Go.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// A release is what all archives have in common.
type release struct {
	root, out       string
	version, commit string
	at              time.Time
	docs            []entry
	cached          bool // built as go build does, with what its cache holds: for tests
}

// An entry is a file of an archive.
type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

func main() {
	r := release{}
	targets := flag.String("targets", everywhere, "systems to build for, as `os/arch`; host is this one")
	flag.StringVar(&r.version, "version", "", "the version; default: the tag of the commit, else the one of the program")
	flag.StringVar(&r.out, "o", "dist", "the folder to write to")
	flag.StringVar(&r.root, "root", ".", "the root of the project")
	flag.Parse()
	if err := r.run(strings.Split(*targets, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run(targets []string) error {
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	r.identify()
	if err := r.document(); err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, target := range targets {
		goos, goarch, ok := strings.Cut(strings.ReplaceAll(target, "host", runtime.GOOS+"/"+runtime.GOARCH), "/")
		if !ok {
			return fmt.Errorf("%q is not os/arch", target)
		}
		name, archive, err := r.archive(goos, goarch)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", goos, goarch, err)
		}
		if err := os.WriteFile(filepath.Join(r.out, name), archive, 0o666); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive), name)
		fmt.Println(filepath.Join(r.out, name))
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), sums.Bytes(), 0o666)
}

// identify asks git for commit, time and tag. Without git the commit is unknown, and files
// have the time zero.
func (r *release) identify() {
	r.commit = r.git("rev-parse", "HEAD")
	if r.commit != "" && r.git("status", "--porcelain", "--untracked-files=no") != "" {
		r.commit = r.commit[:12] + "-modified"
	}
	seconds, _ := strconv.ParseInt(r.git("log", "-1", "--format=%ct"), 10, 64)
	r.at = time.Unix(seconds, 0).UTC()
	if r.version == "" {
		r.version = r.git("describe", "--tags", "--exact-match", "--match", "v*")
	}
}

// git returns what git says, or nothing.
func (r *release) git(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// document collects what every archive holds beside the program, made by the program of
// this system, which also says which version it is.
func (r *release) document() error {
	dir, err := os.MkdirTemp("", "pare-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	host := filepath.Join(dir, "pare.exe")
	if err := r.build(host, runtime.GOOS, runtime.GOARCH); err != nil {
		return err
	}
	says, err := exec.Command(host, "--version").Output()
	if err != nil {
		return err
	}
	words := strings.Fields(string(says))
	if len(words) < 2 {
		return fmt.Errorf("pare --version says %q", says)
	}
	r.version = words[1]
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		r.docs = append(r.docs, entry{name, 0o644, data})
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		data, err := exec.Command(host, "completion", shell).Output()
		if err != nil {
			return err
		}
		r.docs = append(r.docs, entry{"completions/pare." + shell, 0o644, data})
	}
	return r.manuals(host, filepath.Join(dir, "man"))
}

func (r *release) manuals(host, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if out, err := exec.Command(host, "man", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("pare man: %w\n%s", err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("pare man wrote nothing")
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		r.docs = append(r.docs, entry{"man/" + f.Name(), 0o644, data})
	}
	return nil
}

// build builds the program, static and without a trace of the place where it was built.
func (r *release) build(to, goos, goarch string) error {
	flags := "-s -w -X main.stampedCommit=" + r.commit + " -X main.stampedVersion=" + r.version
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", to)
	cmd.Dir = r.root
	if !r.cached {
		cmd.Args = append(cmd.Args, "-trimpath")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	}
	cmd.Args = append(cmd.Args, "./cmd/pare")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// archive builds for a system and packs. The program for Linux also stays beside the
// archives, where the Containerfile looks for it.
func (r *release) archive(goos, goarch string) (name string, packed []byte, err error) {
	program := "pare"
	if goos == "windows" {
		program = "pare.exe"
	}
	dir, err := filepath.Abs(filepath.Join(r.out, goos+"_"+goarch))
	if err != nil {
		return "", nil, err
	}
	built := filepath.Join(dir, program)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", nil, err
	}
	if err := r.build(built, goos, goarch); err != nil {
		return "", nil, err
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return "", nil, err
	}
	if goos != "linux" {
		if err := os.RemoveAll(dir); err != nil {
			return "", nil, err
		}
	}
	base := fmt.Sprintf("pare_%s_%s_%s", r.version, goos, goarch)
	files := append([]entry{{program, 0o755, data}}, r.docs...)
	if goos == "windows" {
		packed, err = r.zip(base, files)
		return base + ".zip", packed, err
	}
	packed, err = r.tar(base, files)
	return base + ".tar.gz", packed, err
}

func (r *release) tar(base string, files []entry) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: path.Join(base, f.name), Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: r.at}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), z.Close())
	return b.Bytes(), err
}

func (r *release) zip(base string, files []entry) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: path.Join(base, f.name), Method: zip.Deflate, Modified: r.at}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
