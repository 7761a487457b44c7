package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// parse reads a request.
func parse(t testing.TB, body []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// options checks a request and counts as its model does.
func options(r *wire.Request, source string) Options {
	return Options{Source: source, Findings: r.Check(wire.CheckOptions{}), Size: fullness.Of(fullness.Question{Request: r})}
}

// session is the conversation of the screenshots: a bug hunt of 42 messages that was
// interrupted once and compacted badly once.
func session(t testing.TB) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/session.json")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// planned is the page of a request with what the standard rules would do to it.
func planned(t testing.TB, body []byte, source string, policy wire.Repair) (*Page, *pare.Plan) {
	t.Helper()
	r := parse(t, body)
	o := options(r, source)
	p, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	o.Plan, err = planner.Prune(context.Background(), p, r, pare.Options{Counter: o.counter(), Repair: policy})
	if err != nil {
		t.Fatal(err)
	}
	return New(r, o), o.Plan
}

// long is a session of n messages with parallel calls, and a fault in every
// thousandth.
func long(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":1000,"system":"Be brief.","tools":[{"name":"Read","input_schema":{"type":"object"}},{"name":"Bash","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Look at everything."}`)
	prose := strings.Repeat("What the file says is of no use to anybody but the test. ", 12)
	code, _ := json.Marshal(strings.Repeat("\tif err := store.Refresh(ctx, session); err != nil {\n\t\treturn err\n\t}\n", 14))
	id := 0
	for i := 1; i+1 < n; i += 2 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"text","text":"Step %d. %s"}`, i, prose[:40+i*7%600])
		calls := 1 + i/2%3
		for c := range calls {
			name := []string{"Read", "Bash"}[(id+c)%2]
			fmt.Fprintf(&b, `,{"type":"tool_use","id":"toolu_%06d","name":%q,"input":{"path":"src/pkg%d/file_%d.go","limit":%d}}`, id+c, name, i%40, i%900, i%3000)
		}
		b.WriteString(`]},{"role":"user","content":[`)
		for c := range calls {
			if c > 0 {
				b.WriteByte(',')
			}
			key := id + c
			if i%1000 == 999 && c == 0 {
				key += 500_000 // a result that answers nothing
			}
			fmt.Fprintf(&b, `{"type":"tool_result","tool_use_id":"toolu_%06d","content":%s}`, key, code)
		}
		b.WriteString(`]}`)
		id += calls
	}
	b.WriteString(`,{"role":"assistant","content":"That was all."}]}`)
	return b.Bytes()
}

// file writes a page and returns its address.
func file(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}
