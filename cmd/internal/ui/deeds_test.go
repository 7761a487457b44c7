package ui

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// picture is a PNG in base64.
func picture(t testing.TB, w, h int) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, color.RGBA{uint8(x * 255 / w), uint8(y * 255 / h), 128, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

const prose = "Done. The **session** now has its own clock, see `NewSession`:\n\n## What changed\n\n1. `auth/session.go` keeps a clock\n2. the tests bring *theirs*\n   - no sleep\n   - [x] no globals\n\n" +
	"| test | before | after |\n| --- | --- | --- |\n| TestLogin | flaky | **ok** |\n\n```go\n// now is the clock.\nfunc now() time.Time { return clock(42, \"utc\") }\n```\n\n> Times are compared with a margin.\n\nSee [the report](https://example.com/report) or ~~ask~~."

// deeds is a session with a block of every sort: what people and tools say and do.
func deeds(t testing.TB) *Page {
	t.Helper()
	q := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	body := `{"model":"claude-sonnet-4-5","max_tokens":4000,"system":"Be brief.","tools":[{"name":"Bash","input_schema":{"type":"object"}}],"messages":[
{"role":"user","content":[{"type":"text","text":"The login tests are flaky. Fix them, and show me the screen."},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture(t, 640, 360) + `"}}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"The clock, I think.","signature":"c2ln"},{"type":"text","text":"I'll run them **first**."},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"go test ./auth -run Login","description":"Run the tests"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":` + q("\x1b[31m--- FAIL: TestLogin\x1b[0m (0.00s)\n    login_test.go:31: the session has expired <b>early</b>\nFAIL") + `}]},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"Read","input":{"file_path":"auth/session.go"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":` + q("     1→package auth\n     2→\n     3→// now is the clock.\n     4→var now = time.Now\n     5→func Expired() bool { return now().After(until) && \"x\" != \"\" }") + `}]},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_3","name":"Edit","input":{"file_path":"auth/session.go","old_string":` + q("var now = time.Now\nfunc Expired() bool {") + `,"new_string":` + q("func (s *Session) Expired(now func() time.Time) bool {") + `}},{"type":"tool_use","id":"toolu_4","name":"Write","input":{"file_path":"auth/clock.go","content":` + q("package auth\n\ntype clock struct{ at int }\n") + `}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_3","content":"The file has been updated."},{"type":"tool_result","tool_use_id":"toolu_4","content":[{"type":"text","text":"Written."},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture(t, 40, 400) + `"}}]}]},
{"role":"assistant","content":` + q(prose) + `},
{"role":"user","content":"Good. Commit it."},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_5","name":"apply_patch","input":{"patch":` + q("*** Begin Patch\n*** Update File: NEWS\n@@\n-flaky\n+steady\n*** End Patch") + `}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_5","content":"{\"ok\":true,\"files\":[\"NEWS\"]}"}]},
{"role":"assistant","content":"Committed."}]}`
	r := parse(t, []byte(body))
	o := options(r, "session.jsonl")
	o.Agent = "Claude Code"
	for i := range len(r.Transcript().Messages()) {
		n := Note{Time: 1763370000000 + int64(i)*4200}
		if r.Transcript().Messages()[i].Role.String() == "assistant" {
			n.Model, n.Usage, n.Dollars = "claude-sonnet-4-5", &Usage{Input: 12, Read: 18_000 + 200*i, Written: 400, Output: 90}, 0.0085
		}
		o.Notes = append(o.Notes, n)
	}
	return New(r, o)
}

// testDeeds: an edit is a difference, a command a terminal, a file has its path, Markdown and code
// are drawn, pictures are small ones of our own, and nothing of all that is markup.
func testDeeds(t *testing.T, b *browser) {
	p := b.open(t, file(t, deeds(t)), 1360, 6000, "light")
	if got := p.text("[...document.querySelectorAll('.message .role')].slice(0, 5).map(e => e.textContent).join(' ')"); got != "user assistant tool assistant tool" {
		t.Errorf("who speaks: %s", got)
	}
	if got := p.text("document.querySelector('.turns').innerText"); !strings.Contains(got, "Commit it") || !strings.Contains(got, "4 calls") || !strings.Contains(got, "$0.03") {
		t.Errorf("turns: %q", got)
	}
	if got := p.text("document.querySelector('#message-1').innerText"); !strings.Contains(got, "$ go test ./auth -run Login") || !strings.Contains(got, "+4.2 s") || !strings.Contains(got, "90 out") {
		t.Errorf("a call and its times: %q", got)
	}
	if got := p.text("document.querySelector('#about').textContent"); !strings.Contains(got, "Claude Code") || !strings.Contains(got, "46 s") || !strings.Contains(got, "$0.05 at list prices") {
		t.Errorf("about: %q", got)
	}
	p.press("o")
	p.settled()
	for what, is := range map[string]string{
		"a command is a terminal":       `document.querySelector('#message-1 .terminal').textContent === '$ go test ./auth -run Login'`,
		"what it printed, too":          `document.querySelector('#message-2 .terminal').textContent.startsWith('--- FAIL: TestLogin (0.00s)') && document.querySelector('#message-2').textContent.includes('<b>early</b>')`,
		"no colours of a terminal":      `!document.body.textContent.includes('\u001b')`,
		"a file has its path":           `document.querySelector('#message-4 .codebox-title').textContent === 'auth/session.go'`,
		"its lines are not numbered":    `document.querySelector('#message-4 .code').textContent.startsWith('package auth\n')`,
		"its code is coloured":          `document.querySelector('#message-4 .c-note').textContent === '// now is the clock.' && document.querySelector('#message-4 .c-word') !== null`,
		"an edit is a difference":       `document.querySelectorAll('#message-5 .diff .d-out').length === 2 && document.querySelectorAll('#message-5 .diff .d-in').length === 1`,
		"what is written has its path":  `[...document.querySelectorAll('#message-5 .codebox-title')].map(e => e.textContent).join() === 'auth/session.go,auth/clock.go'`,
		"pictures are small":            `[...document.querySelectorAll('.pictures img')].map(e => e.naturalWidth + 'x' + e.naturalHeight).join() === '320x180,32x320'`,
		"and ours":                      `[...document.querySelectorAll('img')].every(e => e.src.startsWith('data:image/jpeg;base64,') && e.alt)`,
		"bold, italic, code, struck":    `['strong', 'em', 'code', 'del'].every(s => document.querySelector('#message-7 .md ' + s))`,
		"a heading, a table, a quote":   `document.querySelector('#message-7 .md-h2').textContent === 'What changed' && document.querySelectorAll('#message-7 .md-table td').length === 3 && document.querySelector('#message-7 blockquote')`,
		"a list and what is in it":      `[...document.querySelectorAll('#message-7 .md-dot')].map(e => e.textContent).join(' ') === '1. 2. • ☑'`,
		"a fence is coloured":           `document.querySelector('#message-7 .codebox .c-text').textContent === '"utc"'`,
		"links lead nowhere":            `document.querySelectorAll('main a').length === 0 && document.querySelector('.link').dataset.tip.endsWith('example.com/report')`,
		"a patch is a difference":       `document.querySelector('#message-9 .diff .d-in').textContent.includes('steady') && document.querySelector('#message-9 .diff .d-out').textContent.includes('flaky')`,
		"a reply in JSON is indented":   `document.querySelector('#message-10 .code').textContent.includes('"ok": true')`,
		"nothing of it became markup":   `document.querySelectorAll('main b, main script, main iframe').length === 0`,
		"who uses keys can scroll code": `[...document.querySelectorAll('pre')].every(e => e.tabIndex === 0)`,
	} {
		if !p.is(is) {
			t.Errorf("not so: %s", what)
		}
	}
	p.eval("(() => { const f = document.querySelector('#find'); f.value = 'time.Now'; f.dispatchEvent(new Event('input')) })()", nil)
	p.until("document.querySelector('#find-count').textContent !== ''")
	if n := p.number("CSS.highlights.get('found').size"); n < 2 {
		t.Errorf("%v places found in coloured code", n)
	}
	p.quiet()
}

// TestAlbumIsBounded: only so many pictures are drawn, and nothing that is none.
func TestAlbumIsBounded(t *testing.T) {
	var a album
	raw := []byte(`{"data":"` + picture(t, 64, 64) + `"}`)
	n := 0
	for range 3 * mostPictures {
		n += len(a.of(raw))
	}
	if n != mostPictures {
		t.Errorf("%d pictures were drawn", n)
	}
	for _, bad := range []string{"", strings.Repeat("A", 400), base64.StdEncoding.EncodeToString([]byte("GIF89a\xff\xff\xff\xff\x80\x00\x00" + strings.Repeat("x", 60))), base64.StdEncoding.EncodeToString([]byte("<svg xmlns='x' onload='alert(1)'>" + strings.Repeat(" ", 60) + "</svg>"))} {
		if got := new(album).of([]byte(`{"data":"` + bad + `"}`)); len(got) > 0 {
			t.Errorf("%.40q was drawn", bad)
		}
	}
}

// testTalks: the live page by conversation, with what they are about, how full they are, and what
// was saved; their requests fold out.
func testTalks(t *testing.T, b *browser) {
	source := someTraffic(t)
	source.more = " " + hostile
	server := httptest.NewServer(TrafficHandler(source))
	t.Cleanup(server.Close)
	p := b.open(t, server.URL+"/", 1280, 900, "light")
	p.until("document.querySelector('.talk-title').textContent.startsWith('Other') && document.body.innerText.includes('Add a discount code')")
	if got := p.text("document.querySelector('#sentence').textContent"); !strings.Contains(got, "6 requests, 1 refused at first, then answered, 3 would have been refused as too long, about $0.46 saved.") {
		t.Errorf("the sentence: %q", got)
	}
	talk := func(i string) string { return p.text("document.querySelectorAll('.talk')[" + i + "].innerText") }
	if got := talk("1"); !strings.Contains(got, "Why is the build so slow? "+hostile[:20]) || !strings.Contains(got, "Codex 0.166.0") || !strings.Contains(got, "128 % → 85 % of 400k") || !strings.Contains(got, "1 made to fit") || !strings.Contains(got, "$0.61 spent") {
		t.Errorf("a conversation that was made to fit: %q", got)
	}
	if got := talk("2"); !strings.Contains(got, "2 requests") || !strings.Contains(got, "1 repaired") || !strings.Contains(got, "claude-opus-4-8") {
		t.Errorf("a conversation that was repaired: %q", got)
	}
	if got := p.text("document.querySelectorAll('.talk-curve')[2].getAttribute('aria-label')"); got != "from 61k to 62k tokens in 2 requests, 0 cuts" {
		t.Errorf("its curve: %q", got)
	}
	if p.is("document.querySelector('.talk img, .talk script')") {
		t.Error("a title became markup")
	}
	p.eval("document.querySelectorAll('.talk-head')[2].focus()", nil)
	p.eval("document.querySelectorAll('.talk-head')[2].click()", nil)
	if got := p.text("[...document.querySelectorAll('.talk tr')].map(r => r.dataset.id).join(' ')"); got != "r2 r1" {
		t.Errorf("its requests: %q", got)
	}
	if !p.is("document.activeElement.dataset.talk === 'c1' && document.activeElement.getAttribute('aria-expanded') === 'true'") {
		t.Error("the focus is lost when a conversation folds out")
	}
	if got := p.number("document.querySelectorAll('#times .bar-sent').length"); got < 1 {
		t.Errorf("%v bars over time", got)
	}
	if p.is("(() => { const c = [...document.querySelectorAll('.tile')]; const last = c.at(-1).offsetTop; return c.length > 1 && c.filter(e => e.offsetTop === last).length === 1 && c[0].offsetTop !== last })()") {
		t.Error("a card stands alone in its row")
	}
	p.quiet()
	source.page.Back = true
	view := b.open(t, server.URL+"/request/r2", 1280, 900, "light")
	view.follow("#back")
	view.until("document.querySelector('#talks')")
}

// axeCore is the program that looks for what keeps people from reading a page, or "".
func axeCore() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	raw, _ := os.ReadFile(filepath.Join(dir, "pare-axe", "node_modules", "axe-core", "axe.min.js"))
	return string(raw)
}

// testDefectB16Axe: axe finds nothing serious on any page, light or dark, wide or narrow.
func testDefectB16Axe(t *testing.T, b *browser) {
	program := axeCore()
	if program == "" {
		t.Skip("axe is not there: run scripts/axe.sh, which fetches it by npm")
	}
	live := httptest.NewServer(TrafficHandler(someTraffic(t)))
	t.Cleanup(live.Close)
	plan, _ := planned(t, session(t), "session.json", wire.Repair{})
	all, plans := file(t, deeds(t)), file(t, plan)
	for _, c := range []struct {
		name, url, scheme, act string
		width                  int
	}{
		{"deeds", all, "light", "openAll", 1360}, {"deeds dark", all, "dark", "openAll", 1360}, {"plan", plans, "light", "", 420}, {"plan dark", plans, "dark", "", 1360},
		{"live", live.URL + "/", "light", "unfold", 1360}, {"live dark, narrow", live.URL + "/", "dark", "", 420},
	} {
		p := b.open(t, c.url, c.width, 1600, c.scheme)
		switch c.act {
		case "openAll":
			p.press("o")
			p.settled()
		case "unfold":
			p.eval("document.querySelectorAll('.talk-head')[1].click()", nil)
		}
		p.eval(program+";0", nil)
		var found []struct {
			ID, Impact, Help string
			Nodes            []struct{ HTML, FailureSummary string }
		}
		p.eval(`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => ({ ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({ HTML: n.html.slice(0, 200), FailureSummary: n.failureSummary })) })))`, &found)
		for _, v := range found {
			for _, n := range v.Nodes {
				t.Errorf("%s: %s %s: %s\n%s\n%s", c.name, v.Impact, v.ID, v.Help, n.HTML, n.FailureSummary)
			}
		}
	}
}
