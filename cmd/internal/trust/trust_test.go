package trust_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/trust"
)

func TestEditEndsTrust(t *testing.T) {
	store, file := trust.Open(filepath.Join(t.TempDir(), "new", "pare")), filepath.Join(t.TempDir(), "pare.toml")
	content := []byte("[archive]\nfile = \"removed.jsonl\"\n")
	wantTrust(t, store, file, content, false)
	if err := store.Add(file, content); err != nil {
		t.Fatal(err)
	}
	wantTrust(t, store, file, content, true)
	wantTrust(t, store, file, append(content, '\n'), false)
	wantTrust(t, store, file, nil, false)
	if err := store.Add(file, []byte("enabled = true\n")); err != nil {
		t.Fatal(err)
	}
	wantTrust(t, store, file, content, false) // the earlier content was replaced
	if removed, err := store.Revoke(file); err != nil || !removed {
		t.Fatal(removed, err)
	}
	wantTrust(t, store, file, []byte("enabled = true\n"), false)
	if removed, err := store.Revoke(file); err != nil || removed {
		t.Fatal(removed, err)
	}
}

func TestTrustIsForOnePath(t *testing.T) {
	store, folder, content := trust.Open(t.TempDir()), t.TempDir(), []byte("[archive]\nfile = \"a\"\n")
	file := filepath.Join(folder, "pare.toml")
	for _, dir := range []string{"linked-file", "copy"} {
		if err := os.Mkdir(filepath.Join(folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link, linkedFolder := filepath.Join(folder, "linked-file", "pare.toml"), filepath.Join(folder, "linked-folder")
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Symlink(folder, linkedFolder); err != nil {
		t.Fatal(err)
	}
	if err := store.Add(file, content); err != nil {
		t.Fatal(err)
	}
	wantTrust(t, store, filepath.Join(folder, "copy", "pare.toml"), content, false)
	wantTrust(t, store, link, content, false)
	wantTrust(t, store, filepath.Join(linkedFolder, "pare.toml"), content, true) // the same folder under another name
	t.Chdir(folder)
	wantTrust(t, store, "pare.toml", content, true)
}

func TestFileOfDeletedFolderCanBeRevoked(t *testing.T) {
	store, folder := trust.Open(t.TempDir()), filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := store.Add(filepath.Join(folder, "pare.toml"), nil); err != nil {
		t.Fatal(err)
	}
	all, err := store.List()
	if err != nil || len(all) != 1 || os.Remove(folder) != nil {
		t.Fatal(all, err)
	}
	if removed, err := store.Revoke(all[0].Path); !removed || err != nil {
		t.Error(removed, err)
	}
}

func TestListIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	folder := filepath.Join(t.TempDir(), "pare")
	if err := trust.Open(folder).Add(filepath.Join(t.TempDir(), "f"), nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "trust.json": 0o600} {
		st, err := os.Stat(filepath.Join(folder, name))
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%q: %v, %v; want %v", name, st.Mode(), err, want)
		}
	}
}

func TestConcurrentAddsAreAllListed(t *testing.T) {
	store, folder := trust.Open(t.TempDir()), t.TempDir()
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if err := store.Add(filepath.Join(folder, fmt.Sprint(i)), []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, err := store.List(); err != nil || len(all) != 5 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
}

func TestUnreadableListTrustsNothing(t *testing.T) {
	folder := t.TempDir()
	store, file := trust.Open(folder), filepath.Join(folder, "pare.toml")
	if err := os.WriteFile(filepath.Join(folder, "trust.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if trusted, err := store.IsTrusted(file, nil); trusted || err == nil {
		t.Error(trusted, err)
	}
	if err := store.Add(file, nil); err == nil {
		t.Error("a list that cannot be read was replaced")
	}
}

func wantTrust(t *testing.T, store trust.Store, path string, content []byte, want bool) {
	t.Helper()
	if got, err := store.IsTrusted(path, content); got != want || err != nil {
		t.Errorf("%s is trusted: %v, %v; want %v", path, got, err, want)
	}
}
