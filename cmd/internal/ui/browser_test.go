package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// The pages are tested in a real browser: one browser, a tab per test.

func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a browser for half a minute; left to make test")
	}
	b := startBrowser(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *browser)
	}{
		{"Load", testLoad}, {"Scroll", testScroll}, {"Arcs", testArcs}, {"Faults", testFaults}, {"Plan", testPlan}, {"EveryAction", testEveryAction},
		{"Widths", testWidths}, {"Keys", testKeys}, {"Search", testSearch}, {"Filter", testFilter}, {"Hostile", testHostile}, {"Schemes", testSchemes},
		{"Names", testNames}, {"Tab", testTab}, {"Zoom", testZoom}, {"Live", testLive}, {"Threads", testThreads}, {"Others", testOthers}, {"TurnedNames", testTurnedNames}, {"DefectX9Shares", testDefectX9Shares}, {"Empty", testEmpty}, {"ShowAll", testShowAll}, {"Traffic", testTraffic},
		{"Deeds", testDeeds}, {"Talks", testTalks}, {"DefectB16Axe", testDefectB16Axe},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
}

// plainSession opens the session of the screenshots without a plan.
func plainSession(t *testing.T, b *browser) *tab {
	t.Helper()
	r := parse(t, session(t))
	return b.open(t, file(t, New(r, options(r, "session.json"))), 1360, 860, "light")
}

func plannedSession(t *testing.T, b *browser, scheme string) (*tab, *Page, *pare.Plan) {
	t.Helper()
	page, plan := planned(t, session(t), "session.json", wire.Repair{})
	return b.open(t, file(t, page), 1360, 860, scheme), page, plan
}

// many is how many messages a long conversation has: 5,000 in a soak.
func many() int {
	if trial.Soak() {
		return 5000
	}
	return 2000
}

// testLoad opens many messages, and a tenth of them: the page has as many nodes as are
// in sight, and its work grows with the messages at most. In a soak the clock is
// looked at as well.
func testLoad(t *testing.T, b *browser) {
	open := func(n int) *tab {
		r := parse(t, long(n))
		page := New(r, options(r, "long.json"))
		if got := len(page.Before.Messages); got != n {
			t.Fatalf("%d messages", got)
		}
		return b.open(t, file(t, page), 1360, 860, "light")
	}
	few, p := open(many()/10), open(many())
	small, large := few.measured(), p.measured()
	t.Logf("a tenth of %d messages: %d nodes, %v of work; all: %d nodes, %v of work, ready after %s ms", many(), small.nodes, small.work, large.nodes, large.work, p.text("document.documentElement.dataset.ready"))
	if large.nodes > 2*small.nodes {
		t.Errorf("a tenth is %d nodes, all are %d", small.nodes, large.nodes)
	}
	if large.work > 40*small.work {
		t.Errorf("a tenth is %v of work, all are %v", small.work, large.work)
	}
	if rows := p.number("document.querySelectorAll('.message').length"); rows < 3 || rows > 60 {
		t.Errorf("%v rows are drawn", rows)
	}
	if got := p.text("document.querySelector('#status').textContent"); got != fmt.Sprintf("%d,000 messages", many()/1000) {
		t.Errorf("status %q", got)
	}
	p.quiet()
	page, plan := planned(t, long(many()), "long.json", wire.Repair{})
	q := b.open(t, file(t, page), 1360, 860, "light")
	laid := q.measured()
	t.Logf("with a plan of %d changes: %d nodes, %v of work, ready after %s ms", len(plan.Changes()), laid.nodes, laid.work, q.text("document.documentElement.dataset.ready"))
	if laid.nodes > 4*small.nodes || laid.work > 80*small.work {
		t.Errorf("with a plan %d nodes and %v of work, without one %d and %v", laid.nodes, laid.work, large.nodes, large.work)
	}
	q.quiet()
	if !trial.Soak() {
		return
	}
	for _, p := range []*tab{p, q} {
		if ready := p.number("document.documentElement.dataset.ready"); ready > 2000 {
			t.Errorf("ready after %.0f ms", ready)
		}
	}
	if large.work > 2*time.Second || laid.work > 2*time.Second {
		t.Errorf("the page works for %v and %v before it is ready", large.work, laid.work)
	}
}

// testScroll goes through many messages, in steps and in leaps: what is in sight is
// drawn, and never much more. In a soak it measures what a frame costs.
func testScroll(t *testing.T, b *browser) {
	r := parse(t, long(many()))
	p := b.open(t, file(t, New(r, options(r, "long.json"))), 1360, 860, "light")
	steps := 40
	if trial.Soak() {
		steps = 120
	}
	var frames struct{ Worst, Mean, Blank, Rows float64 }
	before := p.measured()
	p.eval(fmt.Sprintf(`(async () => {
		const next = () => new Promise(requestAnimationFrame);
		let worst = 0, sum = 0, blank = 0, rows = 0;
		await next();
		for (let i = 0; i < %[1]d; i++) {
			const start = performance.now();
			scrollBy(0, i < %[1]d / 2 ? 300 : 9000);
			await next();
			await next();
			const took = (performance.now() - start) / 2;
			worst = Math.max(worst, took);
			sum += took;
			// What is in the middle of the window must be drawn.
			if (!document.elementFromPoint(500, 500)?.closest(".message")) blank++;
			rows = Math.max(rows, document.querySelectorAll(".message").length);
		}
		return {worst, mean: sum / %[1]d, blank, rows};
	})()`, steps), &frames)
	work := (p.measured().work - before.work) / time.Duration(steps)
	t.Logf("a step costs %v of work; frames: mean %.1f ms, worst %.1f ms, %v of %d blank; at most %v rows", work.Round(100*time.Microsecond), frames.Mean, frames.Worst, frames.Blank, steps, frames.Rows)
	if frames.Blank > 2 || frames.Rows > 60 {
		t.Errorf("scrolling stutters: %+v", frames)
	}
	// Half of the steps are leaps, after which everything is drawn anew. Without a GPU
	// this is several times what a user's machine takes; a list that drew all rows would
	// take seconds.
	if trial.Soak() && work > 80*time.Millisecond {
		t.Errorf("a step costs %v of work", work)
	}
	p.press("S-G")
	last := fmt.Sprint(many() - 1)
	if got := p.text("document.activeElement.dataset.message"); got != last {
		t.Errorf("G leads to message %s", got)
	}
	if !inSight(p, "#message-"+last) {
		t.Error("the last message is not in sight")
	}
	// Heights settle: what is looked at stays where it is.
	p.press("g")
	p.eval(fmt.Sprintf("scrollTo(0, %d)", 20*many()), nil)
	p.settled()
	p.settled()
	const place = "(m => m.dataset.message + ' ' + m.getBoundingClientRect().top)([...document.querySelectorAll('.message')].find(m => m.getBoundingClientRect().top > 150))"
	was := p.text(place)
	p.settled()
	if now := p.text(place); now != was {
		t.Errorf("a message moves from %v to %v by itself", was, now)
	}
}

func inSight(p *tab, selector string) bool {
	return p.is(fmt.Sprintf("(() => { const r = document.querySelector(%q)?.getBoundingClientRect(); return r && r.bottom > 0 && r.top < innerHeight })()", selector))
}

// An arc as the page has drawn it, with the distance of its ends from the middle of
// the blocks that it joins.
type arc struct {
	Call, Result, State  string
	Top, Bottom          float64
	CallGap, ResultGap   float64
	CallTool, ResultTool string
}

const arcsDrawn = `(() => {
	const y = (n) => { const e = document.querySelector('.block[data-block="' + n + '"] .label'); return e ? e.getBoundingClientRect() : null };
	return [...document.querySelectorAll("#arcs .arc")].map(g => {
		const dot = g.querySelector(".dot")?.getBoundingClientRect(), head = g.querySelector(".head")?.getBoundingClientRect();
		const a = y(g.dataset.call), b = y(g.dataset.result);
		const tool = (n) => document.querySelector('.block[data-block="' + n + '"] .tool')?.textContent || "";
		return {call: g.dataset.call, result: g.dataset.result, state: g.dataset.state,
			callGap: dot && a ? Math.abs(dot.top + dot.height / 2 - (a.top + 11)) : -1, resultGap: head && b ? Math.abs(head.top + head.height / 2 - (b.top + 11)) : -1,
			callTool: tool(g.dataset.call), resultTool: tool(g.dataset.result)};
	});
})()`

func testArcs(t *testing.T, b *browser) {
	r := parse(t, session(t))
	page := New(r, options(r, "session.json"))
	// High enough to draw everything at once.
	p := b.open(t, file(t, page), 1360, 6000, "light")
	var drawn []arc
	p.eval(arcsDrawn, &drawn)
	want := map[[2]string]string{}
	for _, x := range page.Before.Exchanges {
		call := ""
		if x.Call >= 0 {
			call = fmt.Sprint(x.Call)
		}
		for _, res := range x.Results {
			want[[2]string{call, fmt.Sprint(res)}] = x.State
		}
		if len(x.Results) == 0 {
			want[[2]string{call, ""}] = x.State
		}
	}
	if len(drawn) != len(want) {
		t.Errorf("%d arcs, want %d", len(drawn), len(want))
	}
	for _, a := range drawn {
		if state, ok := want[[2]string{a.Call, a.Result}]; !ok || state != a.State {
			t.Errorf("an arc joins %q and %q (%s), want %q", a.Call, a.Result, a.State, state)
		}
		if a.CallGap > 6 || a.ResultGap > 6 {
			t.Errorf("the arc from %s to %s ends %v and %v pixels beside its blocks", a.Call, a.Result, a.CallGap, a.ResultGap)
		}
		if a.Call != "" && a.Result != "" && a.CallTool != a.ResultTool {
			t.Errorf("an arc joins %s and %s", a.CallTool, a.ResultTool)
		}
	}
	if n := p.number("document.querySelectorAll('#arcs .broken').length"); n != 3 {
		t.Errorf("%v arcs are broken, want 3", n)
	}
	if n := p.number("document.querySelectorAll('#arcs .cross').length"); n != 2 {
		t.Errorf("%v arcs end in a cross, want 2", n)
	}
	// In the middle of a long list as well, after a jump.
	long := parse(t, long(many()))
	p = b.open(t, file(t, New(long, options(long, "long.json"))), 1360, 860, "light")
	p.eval(fmt.Sprintf("scrollTo(0, %d)", 40*many()), nil)
	p.settled()
	p.settled()
	p.eval(arcsDrawn, &drawn)
	joined := 0
	for _, a := range drawn {
		if a.CallGap > 6 || a.ResultGap > 6 {
			t.Errorf("after a jump the arc from %s to %s ends %v and %v pixels beside its blocks", a.Call, a.Result, a.CallGap, a.ResultGap)
		}
		if a.CallGap >= 0 && a.ResultGap >= 0 {
			joined++
		}
	}
	if joined < 3 {
		t.Errorf("only %d arcs are drawn with both ends", joined)
	}
}

func testFaults(t *testing.T, b *browser) {
	r := parse(t, session(t))
	o := options(r, "session.json")
	p := b.open(t, file(t, New(r, o)), 1360, 6000, "light")
	for i, f := range o.Findings {
		box := fmt.Sprintf(`document.querySelector('.message [data-fault="%d"]')`, i)
		if got := p.text(box + ".querySelector('.says').textContent"); got != f.Message {
			t.Errorf("fault %d says %q, want %q", i, got, f.Message)
		}
		if got := p.text(box + ".closest('.block').dataset.block"); got != fmt.Sprint(int(f.Block)) {
			t.Errorf("fault %d is shown at block %s, want %d", i, got, f.Block)
		}
		if !p.is(box + ".querySelector('strong').textContent.startsWith('✗ ')") {
			t.Errorf("fault %d is told by colour alone", i)
		}
	}
}

// testPlan compares colours and words with the receipts, on both sides.
func testPlan(t *testing.T, b *browser) {
	p, page, plan := plannedSession(t, b, "light")
	p.size(1360, 6000)
	p.settled()
	p.settled()
	checkReceipts(t, p, plan)
	// Why: hidden, told on click.
	if p.is("document.querySelector('.message .why:not([hidden])')") {
		t.Error("a reason is shown before anybody asked")
	}
	p.eval("document.querySelector('.message [data-change=\"0\"]').click()", nil)
	if got := p.text("document.querySelector('.message [data-change=\"0\"]').parentNode.querySelector('.why p').textContent"); got != plan.Changes()[0].Reason {
		t.Errorf("the reason is %q, want %q", got, plan.Changes()[0].Reason)
	}
	if got := p.text("document.querySelector('.message [data-change=\"0\"]').getAttribute('aria-expanded')"); got != "true" {
		t.Errorf("aria-expanded is %s", got)
	}
	// On focus as a tip.
	p.eval("document.querySelector('.message [data-change=\"1\"]').focus()", nil)
	if got := p.text("document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent"); got != plan.Changes()[1].Reason {
		t.Errorf("the tip says %q, want %q", got, plan.Changes()[1].Reason)
	}
	p.press("b")
	if got := p.number("document.querySelectorAll('.message').length"); got != float64(len(page.After.Messages)) {
		t.Errorf("%v messages afterwards, want %d", got, len(page.After.Messages))
	}
	for i, block := range page.After.flat() {
		has := func(class string) bool {
			return p.is(fmt.Sprintf(`document.querySelector('.block[data-block="%d"]').classList.contains(%q)`, i, class))
		}
		if has("is-insert") != (block.From == 0) {
			t.Errorf("block %d of the result: inserted %v, from %d", i, has("is-insert"), block.From)
		}
		if has("is-drop") {
			t.Errorf("block %d of the result is dropped", i)
		}
	}
	if p.is("document.querySelector('.message .fault')") {
		t.Error("the result has faults")
	}
	p.quiet()
}

// checkReceipts wants each receipt where its path leads, in the class of its action.
func checkReceipts(t *testing.T, p *tab, plan *pare.Plan) {
	t.Helper()
	var shown map[string]struct{ Class, Path, Text, Block string }
	p.eval(`Object.fromEntries([...document.querySelectorAll('.message [data-change]')].map(e => {
		const b = e.closest(".block");
		return [e.dataset.change, {class: e.className, text: e.textContent, block: b ? b.className : "", path: b ? b.dataset.block : ""}];
	}))`, &shown)
	for i, c := range plan.Changes() {
		s, ok := shown[fmt.Sprint(i)]
		if !ok {
			t.Errorf("%s %s is not shown", c.Action, c.Path)
			continue
		}
		if s.Class != "change change-"+string(c.Action) {
			t.Errorf("%s %s has class %q", c.Action, c.Path, s.Class)
		}
		if !strings.Contains(s.Text, c.Rule) {
			t.Errorf("%s %s says %q, not %s", c.Action, c.Path, s.Text, c.Rule)
		}
		if s.Block != "" && string(c.Action) != "insert" && !strings.Contains(s.Block, "is-"+string(c.Action)) {
			t.Errorf("the block of %s %s has class %q", c.Action, c.Path, s.Block)
		}
	}
	if len(shown) != len(plan.Changes()) {
		t.Errorf("%d changes are shown, want %d", len(shown), len(plan.Changes()))
	}
}

// testEveryAction has a plan that drops, edits, inserts, moves, renames and merges.
func testEveryAction(t *testing.T, b *browser) {
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"name":"read","input_schema":{"type":"object"}}],"messages":[
		{"role":"user","content":"a"},
		{"role":"assistant","content":[{"type":"tool_use","id":"bad id!","name":"read","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"bad id!","content":"one"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"toolu_a","name":"read","input":{}},{"type":"tool_use","id":"toolu_b","name":"read","input":{}}]},
		{"role":"user","content":"Stop."},
		{"role":"assistant","content":"Stopped."},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_b","content":"late"}]},
		{"role":"assistant","content":"b"},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_lost","content":"lost"},{"type":"text","text":""}]},
		{"role":"assistant","content":"c"}, {"role":"user","content":"d"}]}`)
	seen := map[string]bool{}
	for _, policy := range []wire.Repair{{}, {OrphanResult: wire.RemedyDrop, OrphanCall: wire.RemedyDrop}} {
		page, plan := planned(t, body, "x.json", policy)
		p := b.open(t, file(t, page), 1360, 3000, "light")
		for _, c := range plan.Changes() {
			seen[string(c.Action)] = true
		}
		checkReceipts(t, p, plan)
		p.press("b")
		p.quiet()
	}
	// A message that goes as a whole takes its blocks with it.
	empty := []byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[]},{"role":"user","content":"b"}]}`)
	page, plan := planned(t, empty, "empty.json", wire.Repair{})
	checkReceipts(t, b.open(t, file(t, page), 1360, 1000, "light"), plan)
	chat := []byte(`{"model":"mistral-large-latest","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`)
	r, err := wire.Parse(chat, wire.Options{Profile: "mistral"})
	if err != nil {
		t.Fatal(err)
	}
	o := options(r, "chat.json")
	if o.Plan, err = planner.Repair(context.Background(), r, pare.Options{Check: wire.CheckOptions{Strict: true}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range o.Plan.Changes() {
		seen[string(c.Action)] = true
	}
	p := b.open(t, file(t, New(r, o)), 1360, 3000, "light")
	checkReceipts(t, p, o.Plan)
	for _, a := range []string{"drop", "edit", "insert", "move", "rename", "merge"} {
		if !seen[a] {
			t.Errorf("no plan of this test has a %s", a)
		}
	}
}

// testWidths compares what is drawn with the tokens: the bars of the blocks, and the
// strip, whose pixels are looked at.
func testWidths(t *testing.T, b *browser) {
	r := parse(t, session(t))
	page := New(r, options(r, "session.json"))
	p := b.open(t, file(t, page), 1360, 6000, "light")
	most := 0
	for _, b := range page.Before.flat() {
		most = max(most, b.Tokens)
	}
	var bars []float64
	p.eval(`[...document.querySelectorAll(".block .width span")].map(e => e.getBoundingClientRect().width / e.parentNode.getBoundingClientRect().width)`, &bars)
	total, marks := 0, 0
	for _, h := range page.Before.Head {
		if h.Kind == "marks" { // what is around the messages stands behind them
			marks += h.Tokens
		} else {
			total += h.Tokens
		}
	}
	head := total
	for i, b := range page.Before.flat() {
		if want := float64(b.Tokens) / float64(most); bars[i] < want-0.02 || bars[i] > want+0.02 {
			t.Errorf("block %d of %d tokens is %.3f wide, want %.3f", i, b.Tokens, bars[i], want)
		}
		total += b.Tokens
	}
	total += marks
	// The largest block: its colour fills the strip from its first token to its last.
	at, largest := head, 0
	start := 0
	for i, b := range page.Before.flat() {
		if b.Tokens > page.Before.flat()[largest].Tokens || i == 0 {
			largest, start = i, at
		}
		at += b.Tokens
	}
	width := page.Before.flat()[largest].Tokens
	var same bool
	p.eval(fmt.Sprintf(`(() => {
		const c = document.querySelector(".strip canvas"), k = c.getContext("2d");
		const at = (tokens) => k.getImageData(Math.floor(tokens / %d * c.width), 20, 1, 1).data.join();
		const from = at(%d), to = at(%d), outside = at(%d);
		const probe = document.createElement("span"); probe.className = "swatch fill-result"; document.body.append(probe);
		const want = getComputedStyle(probe).backgroundColor.match(/\d+/g).join() + ",255"; probe.remove();
		return from === want && to === want && outside !== want;
	})()`, total, start+width/20, start+width*19/20, head/2), &same)
	if !same {
		t.Error("the strip does not show the largest block where it is")
	}
	var sums map[string]string
	p.eval(`Object.fromEntries([...document.querySelectorAll("#aside tbody tr")].map(r => [r.querySelector("th").textContent, r.querySelector(".tokens").textContent]))`, &sums)
	for name, want := range map[string]int{"system prompt and tools": head, "message overhead": marks} {
		if strings.ReplaceAll(sums[name], ",", "") != fmt.Sprint(want) {
			t.Errorf("%s: %s tokens, want %d", name, sums[name], want)
		}
	}
}

func testKeys(t *testing.T, b *browser) {
	p, _, _ := plannedSession(t, b, "light")
	at := func() string { return p.text("document.activeElement.dataset.message ?? document.activeElement.id") }
	want := func(keys []string, message string) {
		t.Helper()
		p.press(keys...)
		if got := at(); got != message {
			t.Errorf("%s leads to %s, want %s", strings.Join(keys, " "), got, message)
		}
		if message != "find" && !inSight(p, "#message-"+message) {
			t.Errorf("%s: message %s is not in sight", strings.Join(keys, " "), message)
		}
	}
	want([]string{"j"}, "0")
	want([]string{"j", "j", "j"}, "3")
	want([]string{"k"}, "2")
	want([]string{"ArrowDown"}, "3")
	want([]string{"ArrowUp", "ArrowUp"}, "1")
	want([]string{"S-G"}, "41")
	want([]string{"j"}, "41")
	want([]string{"g"}, "0")
	want([]string{"n"}, "10")
	want([]string{"n"}, "13")
	want([]string{"n"}, "19")
	want([]string{"n"}, "10")
	want([]string{"p"}, "19")
	want([]string{"g", "c"}, "4")
	want([]string{"S-C"}, "19")
	want([]string{"g", "j", "m"}, "2")
	want([]string{"m"}, "1")
	if n := p.number("document.querySelectorAll('#list > [tabindex=\"0\"]').length"); n != 1 {
		t.Errorf("%v messages can be reached by Tab, want 1", n)
	}
	p.press("Enter")
	if !p.is("document.querySelector('#message-1.open .details')") || at() != "1" {
		t.Error("Enter does not open the message")
	}
	p.press("Escape")
	if p.is("document.querySelector('.message.open')") {
		t.Error("Escape does not close the message")
	}
	want([]string{"/"}, "find")
	p.press("Escape")
	if at() != "1" {
		t.Errorf("Escape leads from the search to %s", at())
	}
	p.press("?")
	if !p.is("document.querySelector('#help').open") {
		t.Error("? shows no help")
	}
	p.press("j")
	p.press("Escape")
	if p.is("document.querySelector('#help').open") {
		t.Error("Escape does not close the help")
	}
	p.press("b")
	if !p.is("document.querySelector('#sides input[value=after]').checked") {
		t.Error("b does not show the other side")
	}
	p.press("t", "t")
	if got := p.text("getComputedStyle(document.documentElement).colorScheme"); got != "dark" {
		t.Errorf("t t leads to %q", got)
	}
	// Escape with nothing to take back leaves the focus where it is.
	p.press("g", "j", "Escape", "Escape")
	if got := at(); got != "1" {
		t.Errorf("after Escape the focus is on %s", got)
	}
	// The strip is a slider.
	p.eval("document.querySelector('.strip.now .track').focus()", nil)
	p.press("Home", "ArrowRight", "ArrowRight")
	if got := p.text("document.activeElement.getAttribute('aria-valuenow') + document.activeElement.getAttribute('aria-valuetext')"); !strings.HasPrefix(got, "2message 2, tool") {
		t.Errorf("the slider says %q", got)
	}
	p.quiet()
}

func testSearch(t *testing.T, b *browser) {
	p := plainSession(t, b)
	p.press("/")
	p.do("Input.insertText", map[string]any{"text": "berlin"}, nil)
	p.until("document.querySelector('#find-count').textContent.includes('/')")
	if got := p.text("document.querySelector('#find-count').textContent"); got != "1/3" {
		t.Errorf("found %q", got)
	}
	if got := p.text("document.querySelector('#status').textContent"); got != "3 messages with “berlin”" {
		t.Errorf("status %q", got)
	}
	if got := p.text("document.querySelector('.message.current').dataset.message"); got != "7" {
		t.Errorf("the first match is message %s", got)
	}
	if n := p.number("[...CSS.highlights.get('found')].length"); n < 2 {
		t.Errorf("%v matches are marked", n)
	}
	p.press("Enter")
	if got := p.text("document.querySelector('.message.current').dataset.message"); got != "8" {
		t.Errorf("Enter leads to message %s", got)
	}
	p.press("S-Enter")
	if got := p.text("document.querySelector('.message.current').dataset.message"); got != "7" {
		t.Errorf("shift Enter leads to message %s", got)
	}
	// A match far behind the beginning of a text is shown, not only counted.
	p.eval("document.querySelector('#find').value = 'TestStore0'; document.querySelector('#find').dispatchEvent(new Event('input'))", nil)
	p.until("document.querySelector('#status').textContent.includes('TestStore0')")
	if !p.is("[...CSS.highlights.get('found')].length > 0") {
		t.Error("the match is not shown")
	}
	p.eval("document.querySelector('#find').value = 'zebra crossing'; document.querySelector('#find').dispatchEvent(new Event('input'))", nil)
	p.until("document.querySelector('#find-count').textContent === 'none'")
	p.press("Escape")
	if got := p.text("document.querySelector('#find').value + document.querySelector('#find-count').textContent"); got != "" {
		t.Errorf("Escape leaves %q", got)
	}
	p.quiet()
}

func testFilter(t *testing.T, b *browser) {
	p, page, _ := plannedSession(t, b, "light")
	pick := func(id, value string) []int {
		t.Helper()
		p.eval(fmt.Sprintf("(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event('change')) })()", id, value), nil)
		p.size(1360, 6000)
		p.settled()
		p.settled()
		var shown []int
		p.eval("[...document.querySelectorAll('.message')].map(m => Number(m.dataset.message))", &shown)
		return shown
	}
	expect := func(name string, got []int, is func(Message) bool) {
		t.Helper()
		var want []int
		for i, m := range page.Before.Messages {
			if is(m) {
				want = append(want, i)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if got := p.text("document.querySelector('#status').textContent"); got != fmt.Sprintf("%d of 42 messages", len(want)) && len(want) < 42 {
			t.Errorf("%s: status %q", name, got)
		}
	}
	expect("role", pick("#by-role", "assistant"), func(m Message) bool { return m.Role == "assistant" })
	all := func(Message) bool { return true }
	expect("no role", pick("#by-role", ""), all)
	grep := pick("#by-tool", "Grep")
	if fmt.Sprint(grep) != "[1 2]" {
		t.Errorf("Grep is in messages %v", grep)
	}
	expect("no tool", pick("#by-tool", ""), all)
	p.click("#only-faults")
	if got := p.text("[...document.querySelectorAll('.message')].map(m => m.dataset.message)"); got != "10,13,19" {
		t.Errorf("faults are in %s", got)
	}
	p.click("#only-faults")
	p.click("#only-changes")
	if got := p.text("[...document.querySelectorAll('.message')].map(m => m.dataset.message)"); got != "4,6,8,10,13,15,19" {
		t.Errorf("changes are in %s", got)
	}
	p.press("Escape")
	if got := p.text("document.querySelector('#status').textContent"); got != "42 messages" {
		t.Errorf("after Escape: %q", got)
	}
	// A way to a message that is filtered out takes the filter away.
	pick("#by-tool", "Grep")
	p.eval("document.querySelector('.fault-place').click()", nil)
	p.settled()
	if got := p.text("document.activeElement.dataset.message"); got != "10" {
		t.Errorf("the way to the fault leads to %s", got)
	}
	p.quiet()
}

// testHostile shows text that would run if it were read as markup.
func testHostile(t *testing.T, b *browser) {
	p := b.open(t, file(t, evilPage(t)), 1000, 2000, "light")
	p.press("j", "Enter", "j", "Enter", "j", "Enter", "b")
	p.eval("for (const d of document.querySelectorAll('details')) d.open = true", nil)
	p.settled()
	if p.is("window.hacked || document.querySelector('img') || document.querySelectorAll('svg').length !== 1") {
		t.Error("text of the conversation became markup")
	}
	if got := p.text("document.querySelector('h1').textContent"); got != evil {
		t.Errorf("the title is %q", got)
	}
	// The policy holds even if somebody found a way in.
	p.eval(`(() => { const s = document.createElement("script"); s.textContent = "window.hacked = 1"; document.body.append(s) })()`, nil)
	if p.is("window.hacked") {
		t.Error("the policy lets a script in")
	}
	p.until("true")
	p.mu.Lock()
	p.errors = nil // the policy has complained, as it should
	p.mu.Unlock()
}

const evil = `</script><img src=x onerror="window.hacked=1"><svg onload="window.hacked=1"></svg><!--`

// evilPage is a conversation of nothing but text that would run if it were read as markup.
func evilPage(t *testing.T) *Page {
	t.Helper()
	q, _ := json.Marshal(evil)
	s := string(q)
	r := parse(t, []byte(`{"model":`+s+`,"max_tokens":1,"system":`+s+`,"messages":[{"role":"user","content":`+s+`},
		{"role":"assistant","content":[{"type":"tool_use","id":"a","name":`+s+`,"input":{"x":`+s+`}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":`+s+`}]}]}`))
	o := options(r, evil)
	plan, err := planner.Repair(context.Background(), r, pare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Plan = plan
	return New(r, o)
}

// testSchemes measures the contrast of every text against what it stands on.
func testSchemes(t *testing.T, b *browser) {
	paper := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		p, _, _ := plannedSession(t, b, scheme)
		paper[scheme] = p.text("getComputedStyle(document.body).backgroundColor")
		p.press("n", "Enter")
		for range 2 {
			p.size(1360, 6000)
			p.settled()
			p.settled()
			var poor []string
			p.eval(contrast, &poor)
			for _, s := range poor {
				t.Errorf("%s: %s", scheme, s)
			}
			p.press("b")
		}
		p.quiet()
	}
	if paper["light"] == paper["dark"] {
		t.Errorf("light and dark are both %s", paper["light"])
	}
}

// contrast lists the texts whose contrast is below what WCAG AA wants.
const contrast = `(() => {
	const parse = (c) => {
		const m = c.match(/[\d.]+/g).map(Number);
		if (c.startsWith("color(srgb")) return [m[0] * 255, m[1] * 255, m[2] * 255, m[3] ?? 1];
		return [m[0], m[1], m[2], m[3] ?? 1];
	};
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const behind = (e) => {
		const stack = [];
		for (; e; e = e.parentElement) stack.push(parse(getComputedStyle(e).backgroundColor));
		return stack.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]);
	};
	const poor = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement;
		if (!n.data.trim() || !e.checkVisibility({visibilityProperty: true}) || e.closest(":disabled, .unseen, .unseen-head, script, style, option, .skip")) continue;
		const style = getComputedStyle(e), back = behind(e);
		const fore = over(parse(style.color), back);
		const [a, b] = [light(fore), light(back)].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		const size = parseFloat(style.fontSize), big = size >= 24 || size >= 18.6 && style.fontWeight >= 700;
		if (ratio < (big ? 3 : 4.5)) poor.add(ratio.toFixed(2) + " for " + (e.className || e.tagName) + " in " + e.parentElement.className + ": " + n.data.trim().slice(0, 30));
	}
	return [...poor];
})()`

// testNames looks at the page as a screen reader does: everything that can be
// operated has a name, the headings have an order, the list says how long it is.
func testNames(t *testing.T, b *browser) {
	p, _, _ := plannedSession(t, b, "light")
	p.press("n", "Enter")
	var tree struct {
		Nodes []struct {
			Ignored bool
			Role    struct{ Value string }
			Name    struct{ Value string }
		}
	}
	p.do("Accessibility.getFullAXTree", nil, &tree)
	count := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role := n.Role.Value
		count[role]++
		switch role {
		case "button", "link", "searchbox", "combobox", "radio", "slider", "heading", "main", "complementary", "search":
			if strings.TrimSpace(n.Name.Value) == "" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
	for role, least := range map[string]int{"button": 10, "searchbox": 1, "slider": 2, "heading": 8, "main": 1, "complementary": 1, "list": 5, "listitem": 10, "radio": 2, "table": 2, "status": 1, "search": 1} {
		if count[role] < least {
			t.Errorf("%d nodes of role %s, want %d or more: %v", count[role], role, least, count)
		}
	}
	if count["image"] > 0 {
		t.Error("the arcs are read out")
	}
	var levels []int
	p.eval("[...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))", &levels)
	for i, l := range levels {
		if i == 0 && l != 1 || i > 0 && l > levels[i-1]+1 {
			t.Errorf("headings go %v", levels)
			break
		}
	}
	if got := p.text("(m => m.getAttribute('aria-posinset') + '/' + m.getAttribute('aria-setsize'))(document.activeElement)"); got != "11/42" {
		t.Errorf("the message says it is %s", got)
	}
	// Tab leads through everything and out again.
	p.eval("document.activeElement.blur(); scrollTo(0, 0)", nil)
	for range 12 {
		p.press("Tab")
		if p.is("document.activeElement === document.body") {
			t.Fatal("Tab leads nowhere")
		}
		if !p.is("document.activeElement.matches(':focus-visible')") {
			t.Errorf("the focus on %s cannot be seen", p.text("document.activeElement.outerHTML.slice(0, 80)"))
		}
	}
}

// testTab scrolls by pointer and then goes on by keys.
func testTab(t *testing.T, b *browser) {
	r := parse(t, long(500))
	p := b.open(t, file(t, New(r, options(r, "long.json"))), 1360, 860, "light")
	p.eval("scrollTo(0, 30000)", nil)
	p.settled()
	p.settled()
	if n := p.number("document.querySelectorAll('#list > [tabindex=\"0\"]').length"); n != 1 {
		t.Errorf("%v messages can be reached by Tab, want 1", n)
	}
	p.press("j")
	if !inSight(p, ".message.current") || p.number("document.activeElement.dataset.message") < 50 {
		t.Errorf("j leads to message %s", p.text("document.activeElement.dataset.message"))
	}
	// What has the focus stays, even where it cannot be seen.
	at := p.text("document.activeElement.dataset.message")
	p.eval("scrollTo(0, 60000)", nil)
	p.settled()
	p.settled()
	if got := p.text("document.activeElement.dataset.message"); got != at {
		t.Errorf("the focus went from message %s to %s", at, got)
	}
}

// testZoom looks at 200 %: the page of a window of half the size.
func testZoom(t *testing.T, b *browser) {
	p, _, _ := plannedSession(t, b, "light")
	for _, w := range []int{640, 320} {
		p.size(w, 430)
		p.settled()
		p.settled()
		if over := p.number("document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("at %d pixels the page is %v too wide", w, over)
		}
		p.press("n")
		if !inSight(p, ".message.current") {
			t.Errorf("at %d pixels the message is not in sight", w)
		}
		if top := p.number("document.querySelector('.message.current').getBoundingClientRect().top - document.querySelector('.stick').getBoundingClientRect().bottom"); p.is("getComputedStyle(document.querySelector('.stick')).position === 'sticky'") && top < 0 {
			t.Errorf("at %d pixels the message is hidden by what sticks to the top", w)
		}
	}
}

// testLive changes a file while the page looks at it.
func testLive(t *testing.T, b *browser) {
	path := filepath.Join(t.TempDir(), "live.json")
	write := func(n int) {
		t.Helper()
		if err := os.WriteFile(path, long(n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(4)
	server := httptest.NewServer(Handler(Live{
		Every: 20 * time.Millisecond,
		Version: func() string {
			st, err := os.Stat(path)
			if err != nil {
				return "none"
			}
			return fmt.Sprint(st.Size(), st.ModTime().UnixNano())
		},
		Load: func() (*Page, error) {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			r, err := wire.Parse(raw, wire.Options{})
			if err != nil {
				return nil, err
			}
			return New(r, options(r, "live.json")), nil
		},
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p := b.open(t, server.URL, 1000, 800, "dark")
	p.press("j", "j")
	if got := p.text("document.querySelector('#status').textContent"); got != "4 messages" {
		t.Errorf("status %q", got)
	}
	write(8)
	p.until("document.querySelector('#status').textContent === 'the file has changed: 8 messages'")
	if got := p.text("document.activeElement.dataset.message"); got != "1" {
		t.Errorf("after the change the focus is on message %s", got)
	}
	// A file that is half written is not shown, and the next state is.
	if err := os.WriteFile(path, long(10)[:500], 0o600); err != nil {
		t.Fatal(err)
	}
	p.until("document.querySelector('#status').textContent.startsWith('the file cannot be read')")
	write(12)
	p.until("document.querySelector('#status').textContent === 'the file has changed: 12 messages'")
	p.quiet()
}

// testThreads shows a page that was filled in by hand: a session file with lines and
// several talks.
func testThreads(t *testing.T, b *browser) {
	page := &Page{Source: "session.jsonl", Before: Side{Messages: []Message{
		{Role: "user", Line: 3, Thread: "main", Blocks: []Block{{Kind: "text", Text: "hello", Tokens: 2}}},
		{Role: "assistant", Line: 9, Thread: "main", Blocks: []Block{{Kind: "text", Text: "hi", Tokens: 1}}},
		{Role: "user", Line: 12, Thread: "agent-7", Blocks: []Block{{Kind: "text", Text: "look", Tokens: 1}}},
	}}}
	p := b.open(t, file(t, page), 1000, 800, "light")
	if got := p.text("[...document.querySelectorAll('.line')].map(e => e.textContent)"); got != "line 3,line 9,line 12" {
		t.Errorf("lines: %s", got)
	}
	p.eval("(() => { const s = document.querySelector('#by-thread'); s.value = 'agent-7'; s.dispatchEvent(new Event('change')) })()", nil)
	p.settled()
	if got := p.text("[...document.querySelectorAll('.message')].map(m => m.dataset.message)"); got != "2" {
		t.Errorf("agent-7 has messages %s", got)
	}
	if p.is("document.querySelector('#aside').textContent.includes('none that the provider')") {
		t.Error("a session that nobody checked is said to be clean")
	}
}

// testDefectX9Shares: of a plan the headline has the share of the window before and after.
func testDefectX9Shares(t *testing.T, b *browser) {
	says := func(n int) Side {
		return Side{Messages: []Message{{Role: "user", Blocks: []Block{{Kind: "text", Text: "hello", Tokens: n}}}}}
	}
	for _, c := range []struct {
		after int
		want  string
	}{
		{88, "291 tokens → 88 (−70 %) · 291 % → 88 % of the 100 tokens available · estimated"},
		{291, "291 tokens · 291 % of the 100 tokens available · estimated"},
	} {
		after := says(c.after)
		p := b.open(t, file(t, &Page{Window: 100, Before: says(291), After: &after}), 1000, 800, "light")
		if got := p.text("document.querySelector('#fill-sum').textContent"); got != c.want {
			t.Errorf("headline: %s", got)
		}
	}
}

// testTurnedNames: a model whose name turns text around does not turn what stands behind it, and
// the button for colours is called by what it shows (B11, B16).
func testTurnedNames(t *testing.T, b *browser) {
	page := &Page{Source: "s", Dialect: "anthropic", Model: "claude\u202e", Before: Side{Messages: []Message{{Role: "user", Blocks: []Block{{Kind: "text", Text: "hello", Tokens: 5}}}}}}
	p := b.open(t, file(t, page), 1000, 800, "light")
	left := func(part int) string {
		return "document.querySelectorAll('#about bdi')[" + strconv.Itoa(part) + "].getBoundingClientRect().left"
	}
	if got := p.text(left(1) + " < " + left(2) + " && " + left(2) + " < " + left(3)); got != "true" {
		t.Errorf("the parts of the line do not follow each other: %s", got)
	}
	if got := p.text("document.querySelector('#theme').getAttribute('aria-label').includes(document.querySelector('#theme').textContent)"); got != "true" {
		t.Error("the name of the button for colours leaves out what it shows")
	}
	if got := p.text("document.querySelector('#strips').getAttribute('role')"); got != "region" {
		t.Errorf("the strip is a %s", got)
	}
}

// testOthers: the headline is about what is sent; other talks of the session fold away
// until one is chosen, and come with their own numbers (S3).
func testOthers(t *testing.T, b *browser) {
	page := &Page{Source: "session.jsonl", Thread: "main", Window: 1000, Guess: true, Before: Side{Messages: []Message{
		{Role: "user", Line: 9, Blocks: []Block{{Kind: "text", Text: "hello", Tokens: 57}}},
	}}, Others: []Thread{{Name: "dormant", Side: Side{Messages: []Message{
		{Role: "user", Line: 3, Blocks: []Block{{Kind: "text", Text: "long ago", Tokens: 300}}},
		{Role: "assistant", Line: 4, Blocks: []Block{{Kind: "text", Text: "indeed", Tokens: 21}}},
	}}}}}
	p := b.open(t, file(t, page), 1000, 800, "light")
	sum := func() string { return p.text("document.querySelector('#fill-sum').textContent") }
	lines := func() string { return p.text("[...document.querySelectorAll('.line')].map(e => e.textContent)") }
	if got := sum(); got != "57 tokens · 5.7 % of the 1,000 tokens available (a guess: the model is not known) · estimated · 1 thread not sent" {
		t.Errorf("headline: %s", got)
	}
	if got := lines(); got != "line 9" {
		t.Errorf("lines: %s", got)
	}
	pick := func(name string) {
		p.eval("(() => { const s = document.querySelector('#by-thread'); s.value = '"+name+"'; s.dispatchEvent(new Event('change')) })()", nil)
		p.settled()
	}
	pick("dormant")
	if got := lines() + " " + sum(); got != "line 3,line 4 321 tokens · not sent" {
		t.Errorf("the other thread: %s", got)
	}
	p.press("j", "c", "n", "/")
	pick("")
	if got := lines(); got != "line 9" {
		t.Errorf("back: %s", got)
	}
	pick("dormant")
	p.eval("document.querySelector('#clear').click()", nil)
	p.settled()
	if got := lines(); got != "line 9" {
		t.Errorf("after Clear: %s", got)
	}
	p.quiet()
}

func testEmpty(t *testing.T, b *browser) {
	p := b.open(t, file(t, &Page{Source: "nothing.json"}), 1000, 800, "light")
	p.press("j", "k", "g", "S-G", "n", "c", "m", "b", "]", "Enter", "Escape")
	if got := p.text("document.querySelector('h1').textContent"); got != "nothing.json" {
		t.Errorf("title %q", got)
	}
	p.quiet()
}

// testShowAll opens a text of a megabyte: first a part of it, then all.
func testShowAll(t *testing.T, b *browser) {
	text, _ := json.Marshal(strings.Repeat("All work and no play. ", 50_000))
	r := parse(t, []byte(`[{"role":"user","content":`+string(text)+`},{"role":"assistant","content":"Well."}]`))
	p := b.open(t, file(t, New(r, options(r, "x.json"))), 1000, 800, "light")
	if n := p.number("document.querySelector('.block .text').textContent.length"); n > 500 {
		t.Errorf("%v characters are shown at first", n)
	}
	p.press("j", "Enter")
	if n := p.number("document.querySelector('.block .text').textContent.length"); n != 6000 {
		t.Errorf("%v characters are shown when opened", n)
	}
	p.click(".more")
	if n := p.number("document.querySelector('.block .text').textContent.length"); n != 1_100_000 {
		t.Errorf("%v characters are shown in the end", n)
	}
	p.press("j")
	if !inSight(p, "#message-1") {
		t.Error("the next message is not in sight")
	}
	p.quiet()
}
