package source

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOpenFound: what cannot be opened is told as os.Open tells it.
func TestOpenFound(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "missing"), filepath.Join(folder, "a\x00b"), ""} {
		f, err := openFound(path)
		_, want := os.Open(path)
		if err == nil || want == nil || err.Error() != want.Error() || f != nil {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}
