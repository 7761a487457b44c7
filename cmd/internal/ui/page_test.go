package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

func render(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// embedded takes the data out of a page again.
func embedded(t testing.TB, html string) Page {
	t.Helper()
	_, rest, ok := strings.Cut(html, `type="application/json" data-version="">`)
	data, _, end := strings.Cut(rest, "</script>")
	if !ok || !end {
		t.Fatal("the page holds no data")
	}
	var p Page
	if err := json.Unmarshal([]byte(data), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPageNeedsNothingElse(t *testing.T) {
	page, _ := planned(t, session(t), "session.json", wire.Repair{})
	html := render(t, page)
	for _, bad := range []string{
		`(?i)\bsrc\s*=`, `(?i)href\s*=\s*["']?[^#"']`, `(?i)@import`, `(?i)url\(`, `(?i)<link`, `(?i)<iframe`, `(?i)<base`, `(?i)\son[a-z]+\s*=\s*["']`, `(?i)style\s*="`,
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser`,
	} {
		// The data is not markup; everything else is ours.
		outside := regexp.MustCompile(`(?s)<script id="data".*?</script>|<link rel="icon" href="data:[^"]*">`).ReplaceAllString(html, "")
		if m := regexp.MustCompile(bad).FindString(outside); m != "" {
			t.Errorf("the page has %q (%s)", m, bad)
		}
	}
	if n := strings.Count(strings.ReplaceAll(html, svgNamespace, ""), "http://") + strings.Count(html, "https://"); n > 0 {
		t.Errorf("the page names %d addresses", n)
	}
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]+)"`).FindStringSubmatch(html)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src 'none'; style-src 'sha256-") || !strings.Contains(policy[1], "connect-src 'none'") || strings.Contains(policy[1], "unsafe") {
		t.Errorf("policy: %q", policy)
	}
	if strings.Index(html, "Content-Security-Policy") > strings.Index(html, "<style>") {
		t.Error("the policy stands behind what it is about")
	}
}

const svgNamespace = "http://www.w3.org/2000/svg"

// hostile is text that would leave its place if anybody read it as markup or code.
const hostile = "</script><script>alert(1)</script><!-- <script> ]]> \u2028\u2029 \" ' ` ${x} <img src=x onerror=alert(1)> &lt; \x00 \ufffe"

func TestHostileText(t *testing.T) {
	q, _ := json.Marshal(hostile)
	body := `{"model":"claude-sonnet-4-5","max_tokens":1,"system":` + string(q) + `,"messages":[{"role":"user","content":` + string(q) + `},
		{"role":"assistant","content":[{"type":"tool_use","id":` + string(q) + `,"name":` + string(q) + `,"input":{"x":` + string(q) + `}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":` + string(q) + `,"content":` + string(q) + `}]}]}`
	r := parse(t, []byte(body))
	o := options(r, hostile)
	plan, err := planner.Repair(context.Background(), r, pare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Plan = plan
	html := render(t, New(r, o))
	if n := strings.Count(html, "</script"); n != 2 {
		t.Errorf("%d scripts end, want 2", n)
	}
	for _, s := range []string{"<script>alert", "<img", "\u2028", "\u2029", "\x00"} {
		if strings.Contains(html, s) {
			t.Errorf("the page has %q", s)
		}
	}
	// The frame has no comment, so one that opens would be theirs.
	if strings.Contains(html, "<!--") {
		t.Error("a comment is opened")
	}
	p := embedded(t, html)
	if got := p.Before.Messages[0].Blocks[0].Text; got != hostile {
		t.Errorf("got %q, want %q", got, hostile)
	}
	if p.Source != hostile || p.Before.Messages[1].Blocks[0].Tool != hostile || p.Before.Head[0].Text != hostile {
		t.Error("source, tool or system prompt is not what it was")
	}
}

func TestInvalidUTF8(t *testing.T) {
	r, err := wire.Parse([]byte("{\"messages\":[{\"role\":\"user\",\"content\":\"a\xff\xfeb\"}]}"), wire.Options{Structural: true})
	if err != nil {
		t.Fatal(err)
	}
	p := embedded(t, render(t, New(r, Options{})))
	if got := p.Before.Messages[0].Blocks[0].Text; got != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
}

func TestSameInSameOut(t *testing.T) {
	page, _ := planned(t, session(t), "session.json", wire.Repair{})
	first := render(t, page)
	for range 5 {
		page, _ := planned(t, session(t), "session.json", wire.Repair{})
		if render(t, page) != first {
			t.Fatal("two runs give two pages")
		}
	}
}

// TestSize bounds what the page adds to the conversation: the frame, and names for
// each block. Text that a plan keeps is there once.
func TestSize(t *testing.T) {
	body := long(1000)
	r := parse(t, body)
	frame := len(render(t, &Page{}))
	if frame > 130_000 { // with what draws Markdown, code and differences
		t.Errorf("the frame alone has %d bytes", frame)
	}
	plain := len(render(t, New(r, options(r, "x")))) - frame
	page, _ := planned(t, body, "x", wire.Repair{})
	both := len(render(t, page)) - frame
	t.Logf("frame %d, body %d, page %d, page with plan %d", frame, len(body), plain, both)
	if plain > len(body)*3/2 || both > 2*len(body) {
		t.Errorf("%d bytes become %d, with a plan %d", len(body), plain, both)
	}
}

func TestPicturesAreNotText(t *testing.T) {
	data := strings.Repeat("iVBORw0KGgo", 5000)
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`
	r := parse(t, []byte(`{"model":"claude-sonnet-4-5","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"look"},`+image+`]},
		{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"shot","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"here"},`+image+`]}]}]}`))
	p := New(r, options(r, "x"))
	if html := render(t, p); strings.Contains(html, data[:200]) {
		t.Error("the picture is in the page")
	}
	for _, b := range p.Before.flat() {
		if b.Tokens > 10_000 {
			t.Errorf("%s counts %d tokens", b.Path, b.Tokens)
		}
	}
	if got := p.Before.Messages[0].Blocks[1]; got.Kind != "media" || !strings.HasPrefix(got.Text, "[image, ") {
		t.Errorf("%+v", got)
	}
}

// TestPlan compares the page with the plan: each receipt at its place, each block of
// the result with where it came from.
func TestPlan(t *testing.T) {
	page, plan := planned(t, session(t), "session.json", wire.Repair{})
	if len(page.Changes) != len(plan.Changes()) {
		t.Fatalf("%d changes, want %d", len(page.Changes), len(plan.Changes()))
	}
	before, after := page.Before.flat(), page.After.flat()
	kept := 0
	for i, c := range page.Changes {
		if w := plan.Changes()[i]; c.Action != string(w.Action) || c.Rule != w.Rule || c.Reason != w.Reason || c.Path != w.Path || c.Tokens != w.Tokens {
			t.Errorf("change %d is %+v, want %+v", i, c, w)
		}
		if c.Block < 0 || before[c.Block].Path != c.Path {
			t.Errorf("%s %s is shown at block %d", c.Action, c.Path, c.Block)
		}
	}
	for i, b := range after {
		switch {
		case b.From == 0 && (b.Change == 0 || page.Changes[b.Change-1].Action != "insert"):
			t.Errorf("block %d of the result comes from nowhere: %q", i, b.Text)
		case b.Same && b.Text != "", b.From > 0 && !b.Same && b.Text == before[b.From-1].Text && b.Text != "":
			t.Errorf("block %d: text %q, same %v", i, b.Text, b.Same)
		}
		if b.Kept > 0 {
			kept++
			if page.Kept[b.Kept-1].Rule != "recency" {
				t.Errorf("kept by %+v", page.Kept[b.Kept-1])
			}
		}
	}
	if kept == 0 {
		t.Error("nothing is kept by recency")
	}
	if len(page.After.Faults) > 0 || len(page.Before.Faults) != 3 {
		t.Errorf("%d faults before, %d after", len(page.Before.Faults), len(page.After.Faults))
	}
}

// TestZoo makes a page of every incident, with its repair, in every dialect.
func TestZoo(t *testing.T) {
	lost := 0
	for _, incident := range corpus.Zoo(t) {
		if incident.Request == nil {
			continue
		}
		name := incident.ID
		r, err := wire.Parse(incident.Request, wire.Options{Model: incident.Model})
		if err != nil {
			continue
		}
		o := options(r, name)
		if o.Plan, err = planner.Repair(context.Background(), r, pare.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := New(r, o)
		n := len(p.Before.flat())
		for _, x := range p.Before.Exchanges {
			if x.Call >= n || x.Call < 0 && len(x.Results) == 0 {
				t.Errorf("%s: exchange %+v", name, x)
			}
		}
		for _, f := range p.Before.Faults {
			if f.Block >= n || f.Message >= len(p.Before.Messages) {
				t.Errorf("%s: fault %+v", name, f)
			}
		}
		for _, c := range p.Changes {
			if c.Message < 0 && strings.Contains(c.Path, ".") && !strings.HasPrefix(c.Path, "tools.") && !strings.HasPrefix(c.Path, "thinking.") {
				lost++
				t.Logf("%s: %s %s has no place", name, c.Action, c.Path)
			}
		}
		embedded(t, render(t, p))
	}
	if lost > 3 {
		t.Errorf("%d changes have no place", lost)
	}
}

func TestEmpty(t *testing.T) {
	p := embedded(t, render(t, &Page{Source: "nothing"}))
	if p.Before.Messages == nil || len(p.Before.Messages) != 0 {
		t.Errorf("%+v", p.Before)
	}
	r := parse(t, []byte(`[]`))
	render(t, New(r, Options{}))
	r = parse(t, []byte(`[{"role":"user","content":"hi"}]`))
	if p := New(r, Options{Line: func(i int) int { return i + 7 }}); p.Before.Messages[0].Line != 7 || p.Before.Messages[0].Blocks[0].Tokens != 1 {
		t.Errorf("%+v", p.Before.Messages)
	}
}

func BenchmarkWriteHTML(b *testing.B) {
	body := long(5000)
	r := parse(b, body)
	o := options(r, "x")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		render(b, New(r, o))
	}
}
