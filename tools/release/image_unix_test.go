//go:build unix

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// inEngine loads the image into Podman and runs it as compose.yaml does: unprivileged, with a
// read-only root and without a network.
func inEngine(t *testing.T, dir string, static bool) {
	podman, err := exec.LookPath("podman")
	switch {
	case err != nil:
		t.Skip("no podman is installed")
	case os.Geteuid() != 0 || !static:
		t.Skip("needs root, and a program without libraries of this machine")
	}
	place, err := os.MkdirTemp("", "pare-podman-") // a short path, or podman minds
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(place)
	call := func(in string, args ...string) (string, error) {
		cmd := exec.Command(podman, append([]string{"--root", place + "/root", "--runroot", place + "/run", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none"}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := call("", "load", "--input", find(t, dir, "pare_*_image.tar")); err != nil || !strings.Contains(out, "localhost/pare:9.8.7") {
		t.Fatalf("%v: %s", err, out)
	}
	hard := []string{"run", "--rm", "-i", "--pull", "never", "--network", "none", "--cgroups", "disabled", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"}
	out, err := call(`{"messages":[{"role":"user","content":"hi"}]}`, append(hard, "pare:9.8.7", "check", "-")...)
	var status *exec.ExitError
	if errors.As(err, &status) && (status.ExitCode() == 125 || status.ExitCode() == 126) {
		t.Skipf("podman runs nothing here: %s", out)
	}
	if err != nil || !strings.HasPrefix(out, "stdin: clean") {
		t.Errorf("%v: %s", err, out)
	}
}

// runImage reads the image as an engine does, by its digests, and runs the program in its root
// as the user of the image, if this process may do that.
func runImage(t *testing.T, dir string, cached bool) {
	if runtime.GOOS != "linux" {
		t.Skip("an image is made of the program for Linux")
	}
	blobs := map[string][]byte{}
	if err := untarPlain(read(t, find(t, dir, "pare_*_image.tar")), blobs); err != nil {
		t.Fatal(err)
	}
	type descriptor struct {
		Digest    string
		Size      int
		Manifests []descriptor
		Config    json.RawMessage
		Layers    []descriptor
	}
	open := func(of descriptor, into any) []byte {
		name, _ := strings.CutPrefix(of.Digest, "sha256:")
		data := blobs["blobs/sha256/"+name]
		if sum(data) != name || len(data) != of.Size {
			t.Fatalf("%s has %d bytes of %s", of.Digest, len(data), sum(data))
		}
		if into != nil {
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	var index, inner, manifest, of descriptor
	var config struct {
		Architecture string
		Config       struct {
			User       string
			Entrypoint []string
		}
	}
	if err := json.Unmarshal(blobs["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	open(index.Manifests[0], &inner)
	open(inner.Manifests[0], &manifest)
	if err := json.Unmarshal(manifest.Config, &of); err != nil {
		t.Fatal(err)
	}
	open(of, &config)
	if config.Config.User != "65532:65532" || config.Architecture != runtime.GOARCH || config.Config.Entrypoint[0] != "/pare" {
		t.Errorf("the image says %+v", config)
	}
	files := map[string][]byte{}
	if err := untar(open(manifest.Layers[0], nil), files); err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || len(files["LICENSE"]) == 0 {
		t.Errorf("%d files are in the image", len(files))
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "pare"), files["pare"], 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("to run the image in its own root takes the right to change it: run this test as root")
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	binary, err := elf.NewFile(bytes.NewReader(files["pare"]))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(root, "pare"), "check", "-")
	cmd.Dir, cmd.Env, cmd.Stdin = "/", []string{}, strings.NewReader(`{"messages":[{"role":"user","content":"hi"}]}`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	linked := slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	switch {
	case !linked:
		cmd.Path, cmd.SysProcAttr.Chroot = "/pare", root
	case !cached:
		t.Error("the program is not static")
	default: // it needs the libraries of this machine and access to the folder of the test
		cmd.SysProcAttr = nil
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "clean") {
		t.Errorf("%v: %s", err, out)
	}
	t.Run("engine", func(t *testing.T) { inEngine(t, dir, !linked) })
}
