package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestCompactHundredsOfTimesLosesNoFact compacts a transcript of thousands of turns hundreds of
// times, without a model and with one that writes too much.
func TestCompactHundredsOfTimesLosesNoFact(t *testing.T) {
	rounds := 25
	switch {
	case trial.Soak():
		rounds = 200
	case testing.Short():
		rounds = 10
	}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said, _ := json.Marshal(strings.Repeat("- a line of the model, about "+fmt.Sprint(len(body))+" bytes\n", 200))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, said)
	}))
	defer model.Close()
	for name, flags := range map[string][]string{
		"extract": {}, "model": {"--endpoint", model.URL, "--summary-model", "small"},
	} {
		file := filepath.Join(t.TempDir(), "removed.jsonl")
		messages, turns := "", 0
		for round := range rounds {
			for range 25 {
				text := strings.Repeat("so it is and not otherwise ", 10)
				messages += fmt.Sprintf(`,{"role":"user","content":%q},{"role":"assistant","content":"We decided to keep %s %s"}`, trial.Fact(turns), trial.Decision(turns), text)
				turns++
			}
			var out, errs bytes.Buffer
			status := run(&environment{
				args:  append([]string{"compact", "--min-keep", "4", "--max-summary", "700", "--archive", file}, flags...),
				stdin: strings.NewReader(`{"model":"gpt-4.1","messages":[` + strings.TrimPrefix(messages, ",") + `]}`), stdout: &out, stderr: &errs, getenv: func(string) string { return "" },
			})
			if status != statusClean {
				t.Fatalf("%s, round %d: status %d: %s", name, round, status, errs.String())
			}
			req, err := pare.Parse(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			messages = ""
			for _, m := range req.Transcript().Messages() {
				messages += "," + string(req.Transcript().Bytes(m.Span))
			}
			checkSummaries(t, fmt.Sprintf("%s, round %d", name, round), req)
		}
		a, err := archive.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.NewBufferString(messages)
		for _, m := range regexp.MustCompile(`(?:archived as|pare recall) (pare-[0-9a-f]+)`).FindAllStringSubmatch(messages, -1) {
			items, err := archive.Recall(context.Background(), a, m[1])
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, item := range items {
				all.Write(item.Raw)
			}
		}
		a.Close()
		if i := trial.FirstMissingTurn(all.String(), turns); i < turns {
			t.Fatalf("%s: turn %d is out of reach", name, i)
		}
	}
}

func checkSummaries(t *testing.T, name string, req *wire.Request) {
	t.Helper()
	_, after, _ := strings.Cut(req.Text(req.Transcript().Messages()[1].First), wording.SummaryBegin+"\n")
	text, _, ok := strings.Cut(after, "\n"+wording.SummaryEnd)
	if n := tokens.For("gpt-4.1").Count([]byte(text)); !ok || n > 700 {
		t.Fatalf("%s: %d tokens\n%s", name, n, text)
	}
}
