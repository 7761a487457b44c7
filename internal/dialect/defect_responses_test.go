package dialect_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/trial"
)

// The quotation of a stray stands behind the last response of its step, however the responses are spread over
// contents, and never between two of them.
func TestDefectT10QuotationBehindTheStep(t *testing.T) {
	call := func(name string) string { return `{"functionCall":{"name":"` + name + `","args":{}}}` }
	part := regexp.MustCompile(`"functionResponse"|quoted, not written|WORDS`)
	for seed := range trial.Size(2000) {
		r := rand.New(rand.NewPCG(uint64(seed), 10))
		n := 1 + r.IntN(4)
		var calls, parts []string
		for i := range n {
			calls = append(calls, call(fmt.Sprint("f", i)))
			if r.IntN(5) > 0 {
				parts = append(parts, fmt.Sprintf(`{"functionResponse":{"name":"f%d","response":{"output":"out %d"}}}`, i, i))
			}
		}
		strays := 1 + r.IntN(2)
		for i := range strays {
			at := r.IntN(len(parts) + 1)
			parts = append(parts[:at], append([]string{fmt.Sprintf(`{"functionResponse":{"name":"lost%d","response":{"output":"STRAY %d"}}}`, i, i)}, parts[at:]...)...)
		}
		var contents []string
		for len(parts) > 0 {
			k := 1 + r.IntN(len(parts))
			contents = append(contents, `{"role":"user","parts":[`+strings.Join(parts[:k], ",")+`]}`)
			parts = parts[k:]
		}
		body := `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[` + strings.Join(calls, ",") + `]},` + strings.Join(contents, ",") + `]}`
		for _, model := range []string{"gemini-2.0-flash", "gemini-2.5-pro"} {
			req, err := dialect.Parse([]byte(body), dialect.Options{Dialect: dialect.Gemini, Model: model})
			if err != nil {
				t.Fatal(err)
			}
			m, err := dialect.RepairRequest(req, dialect.Repair{}, dialect.CheckOptions{})
			if err != nil || len(m.Left) > 0 {
				t.Fatalf("%s: left %v: %v", body, m.Left, err)
			}
			order := strings.Join(part.FindAllString(string(m.Request.Raw()), -1), " ")
			want := strings.TrimSpace(strings.Repeat(`"functionResponse" `, n) + strings.Repeat("quoted, not written ", strays))
			if order != want {
				t.Fatalf("seed %d, %s\n%s\nbecame\n%s", seed, model, body, m.Request.Raw())
			}
		}
	}
}

// A response that goes on is one for functions that do not block; those that are declared and do have one
// response, so the parts are joined.
func TestDefectT10Series(t *testing.T) {
	body := func(declared string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"eHl6"}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":"one"},"willContinue":true}},{"functionResponse":{"id":"a","name":"f","response":{"output":"two"},"willContinue":false}}]}]` + declared + `}`
	}
	twice := []string{"duplicate-result"}
	for _, model := range []string{"gemini-2.5-pro", "gemini-3-pro"} {
		for _, key := range []string{"functionDeclarations", "function_declarations"} {
			for _, d := range []defect{
				{name: "undeclared", body: body("")},
				{name: "another is declared", body: body(`,"tools":[{"` + key + `":[{"name":"g"}]}]`)},
				{name: "does not block", body: body(`,"tools":[{"` + key + `":[{"name":"f","behavior":"NON_BLOCKING"}]}]`)},
				{name: "blocks", body: body(`,"tools":[{"` + key + `":[{"name":"g"},{"name":"f","behavior":"BLOCKING"}]}]`), found: twice, keeps: []string{`one\n\ntwo`}},
				{name: "blocks by default", body: body(`,"tools":[{"` + key + `":[{"name":"f"}]}]`), found: twice, keeps: []string{`one\n\ntwo`}},
				{name: "declared in front", body: `{"tools":[{"` + key + `":[{"name":"f"}]}],` + body("")[1:], found: twice, keeps: []string{`one\n\ntwo`}},
			} {
				d.as, d.model, d.name = dialect.Gemini, model, model+", "+key+", "+d.name
				d.run(t)
			}
		}
	}
}

// A part needs data: a signature alone is carried by an empty text, and stays.
func TestDefectT10SignatureAlone(t *testing.T) {
	body := func(part string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"},` + part + `]},{"role":"user","parts":[{"text":"n"}]}]}`
	}
	empty := []string{"empty-text"}
	for _, d := range []defect{
		{name: "alone", body: body(`{"thoughtSignature":"eHl6"}`), found: empty, keeps: []string{`{"thoughtSignature":"eHl6","text":""}`}},
		{name: "in the other spelling", body: body(`{"thought_signature":"eHl6"}`), found: empty, keeps: []string{`{"thought_signature":"eHl6","text":""}`}},
		{name: "beside null", body: body(`{"text":null,"thoughtSignature":"eHl6"}`), found: empty, keeps: []string{`"eHl6"`, `"text":""`}},
		{name: "of a thought", body: body(`{"thought":true,"thoughtSignature":"eHl6"}`), found: empty, keeps: []string{`"eHl6"`, `"text":""`}},
		{name: "beside an empty text", body: body(`{"text":"","thoughtSignature":"eHl6"}`)},
		{name: "empty", body: body(`{"thoughtSignature":""}`), found: empty, loses: []string{"thoughtSignature"}},
	} {
		d.as, d.model = dialect.Gemini, "gemini-3-pro"
		d.run(t)
	}
}

// DeepSeek's Anthropic endpoint names the calls and their message; the finding names the result that stands
// apart.
func TestDefectT11SplitResults(t *testing.T) {
	result := func(id string) string {
		return `{"type":"tool_result","tool_use_id":"` + id + `","content":"r` + id + `"}`
	}
	call := func(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"f","input":{}}` }
	user := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	head := `{"model":"deepseek-v4","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"q"},{"role":"assistant","content":[` + call("a") + "," + call("b") + "," + call("c") + `]},`
	for _, c := range []struct {
		results string
		path    string
		ids     []string
	}{
		{user(result("a")) + "," + user(result("b"), result("c")), "messages.5.content.0", []string{"b", "c"}},
		{user(result("b"), result("c")) + "," + user(`{"type":"text","text":"hm"}`, result("a")), "messages.5.content.1", []string{"a"}},
	} {
		r, err := dialect.Parse([]byte(head+c.results+`]}`), dialect.Options{Profile: "deepseek"})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, f := range r.Check(dialect.CheckOptions{}) {
			if f.Rule != "split-results" {
				continue
			}
			found++
			says := "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: " + strings.Join(c.ids, ", ") + ". Each `tool_use` block must have a corresponding `tool_result` block in the next message."
			if f.Path != c.path || !slices.Equal(f.IDs, c.ids) || f.Message != says {
				t.Errorf("%s %v: %s", f.Path, f.IDs, f.Message)
			}
		}
		m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
		if err != nil || len(m.Left) > 0 || found != 1 {
			t.Errorf("found %d, left %v: %v", found, m.Left, err)
		}
	}
}
