package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/config"
)

// TestArchive: what a window clears lies in the file that the configuration names when the
// provider sees the placeholder. An archive that is none is an error of the configuration.
func TestArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "removed.jsonl")
	var missing, seen atomic.Int32
	o := to(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		kept, err := archive.Open(file)
		if err != nil {
			t.Error(err)
			return
		}
		for _, h := range recallCommand.FindAllSubmatch(body, -1) {
			seen.Add(1)
			if x, err := kept.Get(context.Background(), string(h[1])); err != nil || !strings.Contains(string(x.Raw), "line of part") {
				missing.Add(1)
			}
		}
		ok(w, r)
	})
	o.Settings = settings(t, fmt.Sprintf("[window]\ntokens = 6000\n[archive]\nfile = %q\n", file))
	at, _, _ := start(t, o)
	if resp, body := send(t, "POST", at+"/v1/messages", long()); resp.StatusCode != 200 || seen.Load() == 0 || missing.Load() > 0 {
		t.Errorf("status %d %s, %d placeholders, %d of them name nothing", resp.StatusCode, body, seen.Load(), missing.Load())
	}
	conf, err := config.Parse("pare.toml", []byte(fmt.Sprintf("[archive]\nfile = %q\n", t.TempDir())))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Load(conf, nil); err == nil || !strings.Contains(err.Error(), "archive.file") {
		t.Errorf("a folder as an archive: %v", err)
	}
}
