package house

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormatted checks that gofmt would change no file.
func TestFormatted(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		formatted, err := format.Source(raw)
		if err != nil {
			return err
		}
		if !bytes.Equal(raw, formatted) {
			t.Errorf("%s: run gofmt -w on it", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 500 {
		t.Errorf("only %d files were found", n)
	}
}
