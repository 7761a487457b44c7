package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/trial"
)

func TestCompactInEveryScript(t *testing.T) {
	rounds := min(trial.Size(15), 200)
	for _, language := range trial.Languages() {
		round := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := json.Marshal(trial.Paragraph(language, round, 6000))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, text)
		}))
		defer server.Close()
		body := `{"model":"gpt-5","messages":[{"role":"user","content":"Fix it."}]}`
		for round = range rounds {
			for range 3 {
				body = strings.TrimSuffix(strings.TrimSpace(body), "]}") + fmt.Sprintf(`,{"role":"assistant","content":%q},{"role":"user","content":%q}]}`,
					trial.Paragraph("English", round, 600), trial.Paragraph(language, round, 600))
			}
			status, out, errs := program(strings.NewReader(body), "compact", "--endpoint", server.URL, "--summary-model", "m", "--min-keep", "2", "--max-summary", "800")
			if status != statusClean || out == body || !utf8.ValidString(out) || len(out) > 20_000 {
				t.Fatalf("%s, round %d: status %d, %d bytes: %s", language, round, status, len(out), errs)
			}
			body = out
		}
	}
}

func TestTrimStopsAskingFailingEndpoint(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Error(w, "broken", http.StatusInternalServerError)
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "pare.toml")
	settings := fmt.Sprintf("[compact]\nby = \"endpoint\"\nendpoint = %q\nmodel = \"m\"\n", server.URL)
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := program(strings.NewReader(talk(300)), "trim", "--summarize", "--config", config, "--max-tokens", "8000", "--low", "50%")
	if n := calls.Load(); n == 0 || n > 5 {
		t.Errorf("the endpoint was called %d times", n)
	}
	if status > statusFindings || out == "" || !strings.Contains(errs, "not summarized") {
		t.Errorf("status %d: %s", status, errs)
	}
}
