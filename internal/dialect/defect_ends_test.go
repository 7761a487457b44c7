package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestEndsInProvidersCall: what the provider runs gets no stub, so a history that ends with it
// and may not end with the model goes on like any other.
func TestEndsInProvidersCall(t *testing.T) {
	for _, last := range []string{`{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"toolCall":{"id":"s","toolType":"GOOGLE_SEARCH_WEB","args":{}}}`} {
		defect{name: last, as: dialect.Gemini, model: "gemini-3-pro-preview",
			body:  `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"},` + last + `]}]}`,
			found: []string{"last-role"}, keeps: []string{"Continue.", last}}.run(t)
	}
}

// TestResponseOfAnotherName: a response with the id of a call has its name, too, where that is to
// be valid everywhere.
func TestResponseOfAnotherName(t *testing.T) {
	for name, found := range map[string][]string{"f": nil, "g": {"name-missing"}} {
		r, err := dialect.Parse([]byte(`{"model":"gemini-2.5-flash","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"s"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"`+name+`","response":{"output":"x"}}}]}]}`), dialect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if found := r.Check(dialect.CheckOptions{}); len(found) > 0 {
			t.Errorf("%s: found %v", name, found)
		}
		var got []string
		for _, f := range r.Check(dialect.CheckOptions{Strict: true}) {
			got = append(got, f.Rule)
		}
		if !slices.Equal(got, found) {
			t.Errorf("%s: found %q, want %q", name, got, found)
		}
		m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{Strict: true})
		if err != nil || len(m.Left) > 0 || !strings.Contains(string(m.Request.Raw()), `"functionResponse":{"id":"a","name":"f",`) {
			t.Errorf("%s: %v, left %v: %s", name, err, m.Left, m.Request.Raw())
		}
	}
}

// TestSignedCompactionBegins: the signed compaction has to be the first block, so nothing is put in
// front of it for the sake of those who want the user to begin.
func TestSignedCompactionBegins(t *testing.T) {
	const rest = `]},{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"n"}]}`
	for _, strict := range []bool{false, true} {
		body := []byte(`{"messages":[{"role":"assistant","content":[{"type":"compaction","content":"sum","signature":"Z"}` + rest)
		r, err := dialect.Parse(body, dialect.Options{Dialect: dialect.Anthropic})
		if err != nil {
			t.Fatal(err)
		}
		m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{Strict: strict})
		if err != nil || len(m.Found) > 0 || string(m.Request.Raw()) != string(body) {
			t.Errorf("strict %v: %v, found %v: %s", strict, err, m.Found, m.Request.Raw())
		}
	}
	r, err := dialect.Parse([]byte(`{"messages":[{"role":"assistant","content":[{"type":"compaction","content":"sum"}`+rest), dialect.Options{Dialect: dialect.Anthropic})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{Strict: true}); err != nil || len(m.Found) != 1 || m.Found[0].Rule != "first-role" || len(m.Left) > 0 {
		t.Errorf("without a signature: %v, found %v, left %v", err, m.Found, m.Left)
	}
}

// TestSystemEnds: Mistral wants the user or a tool to end; everywhere else on Chat the system may.
func TestSystemEnds(t *testing.T) {
	const rest = `{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"n"},{"role":"system","content":"s"}]}`
	defect{name: "mistral", as: dialect.OpenAIChat, body: `{"model":"mistral-large-latest","messages":[` + rest,
		found: []string{"last-role"}, keeps: []string{`{"role":"system","content":"s"},{"role":"user","content":"Continue."}]`}}.run(t)
	defect{name: "openai", as: dialect.OpenAIChat, body: `{"model":"gpt-5","messages":[` + rest}.run(t)
	r, err := dialect.Parse([]byte(`{"model":"mistral-large-latest","messages":[`+rest), dialect.Options{Dialect: dialect.OpenAIChat})
	if err != nil {
		t.Fatal(err)
	}
	m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{Strict: true})
	if out := string(m.Request.Raw()); err != nil || len(m.Left) > 0 || strings.Contains(out, "Continue.") || !strings.Contains(out, "system-reminder") {
		t.Errorf("strict: %v, left %v: %s", err, m.Left, out)
	}
}
