// Command release builds a release: archives with the program for each system, the license,
// the man pages and the completions; packages for npm and Python; a container image, a formula
// for Homebrew, an SBOM, a statement of provenance and checksums. The same commit gives the
// same bytes with the same Go version (and, for the library in a wheel, the same C compiler).
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// A release holds the values that all archives share.
type release struct {
	root, out       string
	version, commit string
	at              time.Time
	docs            []entry
	files           []file
	cached          bool              // for tests: built with the cache of go build, and hardly compressed
	made            map[string][]byte // outputs of go build, by command
}

// A file is one of the release.
type file struct{ name, sum string }

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
	if err := r.collectDocuments(); err != nil {
		return err
	}
	var systems []system
	for _, target := range targets {
		s, err := parseSystem(target)
		if err != nil {
			return err
		}
		if err := r.archive(&s); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		systems = append(systems, s)
	}
	if err := errors.Join(r.npm(systems), r.wheels(systems), r.playground()); err != nil {
		return err
	}
	bill, err := r.writeSBOM(systems[0].built)
	if err != nil {
		return err
	}
	if err := r.write("pare_"+r.version+".cdx.json", bill); err != nil {
		return err
	}
	if err := errors.Join(r.image(systems), r.formula(systems)); err != nil {
		return err
	}
	if err := r.provenance(targets); err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, f := range r.files {
		fmt.Fprintf(&sums, "%s  %s\n", f.sum, f.name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), sums.Bytes(), 0o666)
}

// write writes a file of the release, and its checksum.
func (r *release) write(name string, data []byte) error {
	r.files = append(r.files, file{name, sum(data)})
	fmt.Println(filepath.Join(r.out, name))
	return os.WriteFile(filepath.Join(r.out, name), data, 0o666)
}

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// A system is one that programs are built for.
type system struct {
	os, arch string
	built    []byte // the program
}

// parseSystem reads os/arch; host is this one.
func parseSystem(target string) (system, error) {
	goos, goarch, ok := strings.Cut(strings.ReplaceAll(target, "host", runtime.GOOS+"/"+runtime.GOARCH), "/")
	if !ok || npmOS[goos] == "" || npmCPU[goarch] == "" {
		return system{}, fmt.Errorf("%q is not one of %s", target, everywhere)
	}
	return system{os: goos, arch: goarch}, nil
}

// archiveName returns the name of the archive for a system.
func (r *release) archiveName(s system) string {
	ext := ".tar.gz"
	if s.os == "windows" {
		ext = ".zip"
	}
	return fmt.Sprintf("pare_%s_%s_%s", r.version, s.os, s.arch) + ext
}

// program returns the name of the program on a system.
func (s system) program() string {
	if s.os == "windows" {
		return "pare.exe"
	}
	return "pare"
}

// identify reads commit, time and tag from git. Without git the commit is unknown and files
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
	r.version = strings.TrimPrefix(r.version, "v") // as the program prints it
}

// git returns the output of git, or "".
func (r *release) git(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// collectDocuments collects the other files of every archive. They are made by the program of this
// system, which also reports the version.
func (r *release) collectDocuments() error {
	dir, err := os.MkdirTemp("", "pare-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	host := filepath.Join(dir, "pare.exe")
	program, err := r.build(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := os.WriteFile(host, program, 0o755); err != nil {
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
func (r *release) build(goos, goarch string) ([]byte, error) {
	flags := "-s -w -X main.stampedCommit=" + r.commit + " -X main.stampedVersion=" + r.version
	env := []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + goarch}
	if r.cached {
		env = nil
	}
	return r.goBuild("./cmd/pare", "pare", flags, env)
}

// goBuild builds a package as a file of a name, which may be part of it, and returns it; for the
// same command once.
func (r *release) goBuild(pkg, name, flags string, env []string, more ...string) ([]byte, error) {
	args := []string{"build", "-buildvcs=false", "-ldflags", flags}
	if !r.cached {
		args = append(args, "-trimpath")
	}
	args = append(args, more...)
	command := strings.Join(slices.Concat(env, args, []string{pkg}), " ")
	if built, ok := r.made[command]; ok {
		return built, nil
	}
	dir, err := os.MkdirTemp("", "pare-release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, name)
	cmd := exec.Command("go", append(args, "-o", to, pkg)...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	built, err := os.ReadFile(to)
	if err != nil {
		return nil, err
	}
	if r.made == nil {
		r.made = map[string][]byte{}
	}
	r.made[command] = built
	return built, nil
}

// archive builds the program for a system and packs it. The program for Linux is also kept
// next to the archives for the Containerfile.
func (r *release) archive(s *system) error {
	built, err := r.build(s.os, s.arch)
	if err != nil {
		return err
	}
	s.built = built
	if s.os == "linux" {
		dir := filepath.Join(r.out, s.os+"_"+s.arch)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, s.program()), built, 0o755); err != nil {
			return err
		}
	}
	name := r.archiveName(*s)
	files := append([]entry{{s.program(), 0o755, s.built}}, r.docs...)
	pack, base := r.tar, strings.TrimSuffix(name, ".tar.gz")
	if s.os == "windows" {
		pack, base = r.zip, strings.TrimSuffix(name, ".zip")
	}
	packed, err := pack(base, files)
	if err != nil {
		return err
	}
	return r.write(name, packed)
}

// level is how hard archives are compressed.
func (r *release) level() int {
	if r.cached {
		return flate.BestSpeed
	}
	return flate.DefaultCompression
}

func (r *release) tar(base string, files []entry) ([]byte, error) {
	plain, err := r.plainTar(base, files)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, r.level())
	if err != nil {
		return nil, err
	}
	_, err = z.Write(plain)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

func (r *release) plainTar(base string, files []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: path.Join(base, f.name), Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: r.at}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func (r *release) zip(base string, files []entry) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, r.level()) })
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
