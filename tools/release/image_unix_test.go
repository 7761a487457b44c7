//go:build unix

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// runImage goes through the image as an engine does, by its digests, and runs what is in it: alone in its root,
// as the user that it names, where this process may do that.
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
	switch linked := slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }); {
	case !linked:
		cmd.Path, cmd.SysProcAttr.Chroot = "/pare", root
	case !cached:
		t.Error("the program is not static")
	default: // it needs the libraries of this machine, and who reaches the folder of the test
		cmd.SysProcAttr = nil
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "clean") {
		t.Errorf("%v: %s", err, out)
	}
}
