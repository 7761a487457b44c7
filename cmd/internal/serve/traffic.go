package serve

import (
	"maps"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// The watch is the source of the live page.
var _ ui.TrafficSource = (*Watch)(nil)

// shownRequests is how many requests the live page begins with.
const shownRequests = 300

// Begin takes the record of a request that is on its way.
func (w *Watch) Begin(r *proxy.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[r.ID] = w.changed(r)
}

// changed notes that there is something new.
func (w *Watch) changed(r *proxy.Record) sequenced {
	w.seq++
	return sequenced{r, w.seq}
}

// hold keeps the conversation of a request in memory.
func (w *Watch) hold(c conversation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.running[c.id]; ok && c.request == nil {
		c.dialect, _ = wire.ParseDialect(r.Dialect)
		c.model = r.Model
	}
	w.kept.put(c)
}

// Traffic returns the content of the live page.
func (w *Watch) Traffic(after int) ui.Traffic {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.totals.Totals
	out := ui.Traffic{Since: w.since, Seq: w.seq, Requests: []ui.Request{}, Totals: ui.Totals{
		Requests: int(t.Requests) + len(w.running), Running: len(w.running), Changed: int(t.Changed),
		Before: w.totals.tokensBefore, After: w.totals.tokensAfter,
		Input: t.Usage.Input, Output: t.Usage.Output, CacheRead: t.Usage.Read, CacheWrite: t.Usage.Written,
		Spent: t.Dollars, Saved: t.Spared, Fitted: int(t.Fitted), Lost: int(t.Lost), Refused: int(w.totals.refused),
		Rules: counts(t.Rules), Heals: counts(t.Healed), Skips: counts(t.Skipped),
	}}
	if t.Thrift != nil {
		now := *t.Thrift
		out.Totals.Thrift = &now
	}
	if w.remembers != nil && w.remembers.Load() {
		out.Totals.Remember = &ui.Remember{Kept: int(t.Remembered), Dropped: int(t.Unremembered)}
	}
	for _, n := range out.Totals.Heals {
		out.Totals.Healed += n
	}
	for _, n := range out.Totals.Skips {
		out.Totals.Skipped += n
	}
	add := func(r sequenced, done bool) {
		if r.seq > after {
			out.Requests = append(out.Requests, w.request(r.Record, r.seq, done))
		}
	}
	for i := range min(len(w.last), shownRequests) {
		add(w.nthLast(i), true)
	}
	slices.Reverse(out.Requests)
	for _, r := range w.running {
		add(r, false)
	}
	slices.SortStableFunc(out.Requests, func(a, b ui.Request) int { return a.Time.Compare(b.Time) })
	return out
}

// request is one request for the live page.
func (w *Watch) request(r *proxy.Record, seq int, done bool) ui.Request {
	const milli = 1e6 // nanoseconds
	v := ui.Request{
		ID: r.ID, Seq: seq, Time: r.Time, Method: r.Method, Path: r.Path, Upstream: r.Upstream, Dialect: r.Dialect, Model: r.Model,
		Status: r.Status, Done: done, Stream: r.Stream, Bytes: int(r.BytesIn), Sent: int(r.BytesOut),
		Changes: len(r.Changes), Healed: r.Healed, Skipped: string(r.Skipped), Faults: r.Faults,
		Own: float64(r.Planned) / milli, First: float64(r.Waited) / milli,
		Input: r.Usage.Input + r.Usage.Written, Cached: r.Usage.Read, Output: r.Usage.Output, View: w.kept.has(r.ID),
	}
	v.Conversation, v.Agent, v.Over, v.Fullness = r.Conversation, agentName(r.Agent), r.Over, r.Fullness
	v.Spent, v.Saved = w.totals.costs(r)
	v.Before, v.After = size(r)
	if m, known := tokens.Lookup(r.Model); known {
		v.Window = m.Window
	}
	for _, c := range r.Changes {
		if v.Rules == nil {
			v.Rules = make(map[string]int)
		}
		v.Rules[c.Rule]++
	}
	return v
}

// size is how many tokens a request had and has, as the provider counts where it does.
func size(r *proxy.Record) (before, after int) {
	before, after = r.TokensIn, r.TokensOut
	if after == 0 {
		after = before
	}
	// What several rounds used is no size.
	if counted := r.Usage.Input + r.Usage.Read + r.Usage.Written; counted > 0 {
		return counted + max(0, before-after), counted
	}
	return before, after
}

func counts(m map[string]int64) map[string]int {
	out := make(map[string]int, len(m))
	for k, n := range m {
		out[k] = int(n)
	}
	return out
}

// Page returns the page of a request's conversation, or nil if it is not held.
func (w *Watch) Page(id string) (*ui.Page, error) {
	w.mu.Lock()
	c, ok := w.kept.find(id)
	w.mu.Unlock()
	if !ok {
		return nil, nil
	}
	if c.request == nil {
		var err error
		if c.request, err = wire.Parse(c.body, wire.Options{Dialect: c.dialect, Model: c.model}); err != nil {
			return nil, nil // it could not be read, and went on
		}
	}
	q := fullness.Question{Request: c.request}
	if c.plan != nil {
		q.Request = c.plan.Result() // which the provider has counted
	}
	if r, ok := w.Find(id); ok {
		q.Counted = fullness.Counted{Input: r.Usage.Input + r.Usage.Read + r.Usage.Written, Messages: len(q.Request.Transcript().Messages())}
	}
	p := ui.New(c.request, ui.Options{Source: "request " + id, Findings: c.request.Check(wire.CheckOptions{}), Plan: c.plan, Size: fullness.Of(q)})
	p.Back = true
	return p, nil
}

// Titles returns the first words of the held conversations. They are separate from the list of
// requests, which contains no text.
func (w *Watch) Titles() map[string]string {
	w.mu.Lock()
	known, held := w.titles, make(map[string]conversation)
	now := make(map[string]string)
	for i := range len(w.last) {
		r := w.last[i].Record
		if r.Conversation == "" {
			continue
		}
		if title, ok := known[r.Conversation]; ok {
			now[r.Conversation] = title
		} else if c, ok := w.kept.find(r.ID); ok {
			held[r.Conversation] = c
		}
	}
	w.mu.Unlock()
	for key, c := range held { // one that is being read keeps no request waiting
		r := c.request
		if r == nil {
			var err error
			if r, err = wire.Parse(c.body, wire.Options{Dialect: c.dialect, Model: c.model}); err != nil {
				continue
			}
		}
		now[key] = ui.Title(r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.titles = now
	return maps.Clone(now)
}

// agents are programs by how their User-Agent begins.
var agents = map[string]string{
	"claude-cli": "Claude Code", "claude-code": "Claude Code", "codex_cli_rs": "Codex", "codex_exec": "Codex", "codex-tui": "Codex", "geminicli": "Gemini CLI", "opencode": "opencode",
	"qwencode": "Qwen Code", "goose": "goose", "pi": "pi", "cline": "Cline", "copilot": "GitHub Copilot",
}

// agentName returns the usual name of a program; an unknown program keeps its own name.
func agentName(name string) string {
	own, version, _ := strings.Cut(name, "/")
	if known, ok := agents[strings.ToLower(own)]; ok {
		return strings.TrimSpace(known + " " + version)
	}
	return name
}

// A conversation is a request with its plan. It is only kept in memory.
type conversation struct {
	id      string
	request *wire.Request // nil: it was sent unchanged and is parsed on demand
	plan    *pare.Plan    // nil: likewise
	body    []byte
	dialect wire.Dialect // that raw is read as
	model   string
}

// blockBytes is what a block takes beside its text: in the request, in what was repaired of it
// and in the result.
const blockBytes = 1 << 10

// bytes is what it holds of memory: a body lies in a buffer that may be larger.
func (c *conversation) bytes() int {
	if c.request == nil {
		return cap(c.body)
	}
	return cap(c.request.Raw()) + cap(c.plan.Result().Raw()) + blockBytes*len(c.request.Transcript().Blocks())
}

// conversations are the newest ones, as far as there is room for them.
type conversations struct {
	byID  map[string]conversation
	order []string // of their ids, oldest first
	size  int
}

// keptBytes is the room for conversations.
const keptBytes = 64 << 20

func (k *conversations) put(c conversation) {
	if k.byID == nil {
		k.byID = make(map[string]conversation)
	}
	if was, known := k.byID[c.id]; known {
		k.size -= was.bytes()
	} else {
		k.order = append(k.order, c.id)
	}
	k.byID[c.id] = c
	k.size += c.bytes()
	for (k.size > keptBytes || len(k.order) > maxRecords) && len(k.order) > 1 {
		oldest := k.byID[k.order[0]]
		k.size -= oldest.bytes()
		delete(k.byID, oldest.id)
		k.order = k.order[1:]
	}
}

func (k *conversations) find(id string) (conversation, bool) {
	c, ok := k.byID[id]
	return c, ok
}

func (k *conversations) has(id string) bool {
	_, ok := k.byID[id]
	return ok
}
