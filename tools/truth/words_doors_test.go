package truth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

// A result is the output of a door.
type result struct {
	out      []byte
	changes  []change
	archived [][]byte
	state    doorState
	note     string // how it was read, or why not
	err      error  // why it was refused
	calls    int    // how many calls were seen, where that is known; else -1
}

// A state is the outcome of a door.
type doorState uint8

const (
	refused  doorState = iota // it was not taken
	clean                     // it came back as it was
	repaired                  // it was changed, and nothing is left to say
	left                      // it was changed or not, and findings are left
)

// A door is a way in.
type door struct {
	name string
	// let reports whether a drop may remove a person's words; nil: none may.
	let     func(c *change) bool
	pass    func(d *document, raw []byte) result
	repairs bool // it repairs, and drops nothing on purpose
}

func nobody(*change) bool { return false }

// byWindow allows drops by a window or a summary, which are not repairs.
func byWindow(c *change) bool { return !repairing[c.rule] }

// repairing are the rules that a repair may name.
var repairing = func() map[string]bool {
	all := map[string]bool{}
	for slug := range dialect.RuleSlugs() {
		all[slug] = true
	}
	return all
}()

// doors are those that need no file and no process.
func doors() []door {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		panic(err)
	}
	engine := func(name string, let func(*change) bool, o wire.Options, policy func(r *wire.Request) *pare.Policy) door {
		return door{name, let, func(d *document, raw []byte) result { return throughEngine(d, raw, o, policy) }, strings.HasPrefix(name, "fix")}
	}
	always := func(p pare.Policy) func(*wire.Request) *pare.Policy {
		return func(*wire.Request) *pare.Policy { return &p }
	}
	window := func(share int) func(*wire.Request) *pare.Policy {
		return func(r *wire.Request) *pare.Policy {
			if r == nil { // of a session file: it is only repaired
				return new(pare.Policy)
			}
			return &pare.Policy{Window: &pare.Window{Tokens: 1 + len(r.Raw())*share/400}}
		}
	}
	compactor := &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MinKeep: 1, Inside: true}
	all := []door{
		engine("fix", nobody, wire.Options{}, always(pare.Policy{})),
		engine("fix --strict", nobody, wire.Options{}, always(pare.Policy{Check: wire.CheckOptions{Strict: true}})),
		engine("fix, drop both", nobody, wire.Options{}, always(pare.Policy{Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}})),
		engine("fix --keep-open", nobody, wire.Options{}, always(pare.Policy{Repair: wire.Repair{Open: true}})),
		engine("prune", nobody, wire.Options{}, always(pare.Policy{Rules: standard})),
		engine("trim, all fits", nobody, wire.Options{}, always(pare.Policy{Window: &pare.Window{Tokens: 1 << 30}})),
		engine("trim, half", byWindow, wire.Options{}, window(50)),
		engine("trim, messages", byWindow, wire.Options{}, always(pare.Policy{Window: &pare.Window{Messages: 3}})),
		engine("compact", byWindow, wire.Options{}, always(pare.Policy{Compact: compactor})),
		{"proxy", nobody, throughProxy, true},
	}
	for _, d := range wire.Dialects() {
		all = append(all, engine("fix --as "+d.String(), nobody, wire.Options{Dialect: d}, always(pare.Policy{})))
	}
	return all
}

// throughEngine reads the input as the program does: an agent's session file, lines, or one
// request, possibly in an envelope.
func throughEngine(d *document, raw []byte, o wire.Options, policy func(r *wire.Request) *pare.Policy) result {
	if o.Dialect == wire.Auto {
		if format, ok := agentlog.Detect(d.fileName(), raw); ok {
			return throughSession(d, raw, format, policy(nil))
		}
	}
	if !d.lines {
		return oneRequest(d.root, raw, o, policy)
	}
	sum := result{state: refused, calls: -1}
	for i, line := range d.root.vals {
		one := oneRequest(line, line.write(nil), o, policy)
		sum.out = append(append(sum.out, one.out...), '\n')
		for _, c := range one.changes {
			c.line = i + 1
			sum.changes = append(sum.changes, c)
		}
		sum.archived = append(sum.archived, one.archived...)
		sum.state, sum.note = max(sum.state, one.state), one.note
		if one.err != nil {
			sum.err = errors.New("a line cannot be read")
		}
	}
	return sum
}

func (d *document) fileName() string {
	if d.shape.file != "" {
		return d.shape.file
	}
	return "request.json"
}

func oneRequest(root *node, raw []byte, o wire.Options, policy func(r *wire.Request) *pare.Policy) result {
	in := wire.Unwrap(raw)
	if in.Model != "" {
		o.Model = in.Model
	}
	if o.Dialect == wire.Auto && in.Dialect != wire.Auto {
		if d, err := wire.Detect(in.Body); err == nil && !d.Sure && d.Dialect.List() == in.Dialect.List() {
			o.Dialect = in.Dialect
		}
	}
	r, err := wire.Parse(in.Body, o)
	if err != nil {
		return result{out: raw, note: err.Error(), err: err}
	}
	plan, err := policy(r).Plan(context.Background(), r)
	if err != nil {
		return result{out: raw, note: err.Error()}
	}
	if o.Dialect != wire.Auto && plan.Empty() && len(plan.Remaining()) == 0 { // the program calls nothing clean that it does not understand
		if err := r.Understood(false); err != nil {
			return result{out: raw, note: err.Error(), err: err}
		}
	}
	root, prefix := openEnvelope(in, root)
	out := raw
	if !plan.Empty() {
		out = in.Holding(raw, plan.Result().Raw())
	}
	res := result{out: out, changes: convertChanges(plan.Changes(), root, prefix), note: r.Dialect.String(), state: clean, calls: len(r.Transcript().Exchanges())}
	for _, item := range plan.Archive() {
		res.archived = append(res.archived, item.Raw)
	}
	switch {
	case len(plan.Remaining()) > 0:
		res.state = left
	case !bytes.Equal(out, raw):
		res.state = repaired
	}
	return res
}

// openEnvelope returns the request in an envelope and the keys that lead to it. If a key is
// repeated, the one whose value contains the rest of the path counts.
func openEnvelope(in wire.Envelope, root *node) (*node, []string) {
	if in.Pointer == "" {
		return root, nil
	}
	keys := strings.Split(in.Pointer[1:], "/")
	if inner := root.down(keys); inner != nil {
		return inner, keys
	}
	return root, nil // it is a text: base64, or no request after all
}

// down follows keys to an object or a list, nil if they lead to none.
func (n *node) down(keys []string) *node {
	if len(keys) == 0 {
		if n.kind == 'o' || n.kind == 'a' {
			return n
		}
		return nil
	}
	for i, v := range n.vals {
		if n.kind == 'o' && n.keys[i] == keys[0] {
			if inner := v.down(keys[1:]); inner != nil {
				return inner
			}
		}
	}
	return nil
}

// throughSession repairs a session file.
func throughSession(d *document, raw []byte, format agentlog.Format, p *pare.Policy) result {
	o := agentlog.Options{Format: format}
	if p != nil {
		o.Repair, o.Check = p.Repair, p.Check
	}
	log, err := agentlog.Read(d.fileName(), raw, o)
	if err != nil {
		return result{out: raw, note: err.Error(), err: err}
	}
	fixed, err := log.Fix(o)
	if err != nil {
		return result{out: raw, note: err.Error(), err: err}
	}
	res := result{out: fixed.Raw, note: format.String(), state: clean, calls: -1}
	for _, c := range fixed.Changes {
		// The path is that of the request that the session makes; the line is the line of the file.
		// The rest of the path is somewhere in the line.
		var tail []string
		if parts := strings.Split(c.Path, "."); c.Path != "" && len(parts) > 2 {
			tail = parts[2:]
		}
		line := c.Line
		if !d.lines {
			line = 0
		}
		res.changes = append(res.changes, change{action: string(c.Action), rule: c.Rule, line: line, path: append([]string{anywhere}, tail...), ids: c.IDs, reason: c.Reason})
	}
	switch {
	case len(fixed.Remaining) > 0:
		res.state = left
	case !bytes.Equal(fixed.Raw, raw):
		res.state = repaired
	}
	return res
}

// throughProxy sends a request on its way: to where a client would, or to some provider.
func throughProxy(d *document, raw []byte) result {
	paths := []string{"/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/gemini-2.5-pro:generateContent", "/model/anthropic.claude-sonnet-4-5-20250929-v1:0/converse"}
	if d.lines {
		return result{out: raw, note: "a file"}
	}
	path := d.shape.path
	if path == "" {
		path = paths[d.seed%uint64(len(paths))]
	}
	var out []byte
	var record *proxy.Record
	transport := &proxy.Transport{
		PlanTime: -1,
		Base: upstream(func(req *http.Request) (*http.Response, error) {
			var err error
			out, err = io.ReadAll(req.Body)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, err
		}),
		Record: func(r *proxy.Record) { record = r },
	}
	req, err := http.NewRequest(http.MethodPost, "http://127.0.0.1"+path, bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return result{out: raw, note: err.Error()}
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if record == nil {
		return result{out: out, state: refused, note: "not looked at"}
	}
	root, prefix := openEnvelope(wire.Unwrap(raw), d.root)
	res := result{out: out, note: record.Dialect + " " + string(record.Skipped), state: clean, calls: -1, changes: convertChanges(record.Changes, root, prefix)}
	switch {
	case record.Skipped != "":
		res.state = refused
	case !bytes.Equal(out, raw):
		res.state = repaired
	}
	return res
}

// An upstream answers requests without a network.
type upstream func(*http.Request) (*http.Response, error)

// RoundTrip answers a request.
func (f upstream) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// anywhere is a path element that matches every place of a line.
const anywhere = "*"

var errPanic = errors.New("a panic")

// through passes a document through a door.
func (x *door) through(d *document, raw []byte) (res result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return x.pass(d, slices.Clip(raw)), nil
}

// make makes the document of a seed.
func makeDocument(all []*shape, seed uint64) *document {
	rnd := rand.New(rand.NewPCG(seed, 17))
	s := all[int(seed)%len(all)]
	d := &document{shape: s, root: s.make(rnd, 6), lines: s.lines, seed: seed}
	if seed/uint64(len(all))%4 != 0 { // one in four as it is meant to be
		m := &mutator{Rand: rnd, root: d.root, others: all, gentle: rnd.IntN(3) == 0}
		d.gentle = m.gentle
		d.changed = 1 + rnd.IntN(4)
		for range d.changed {
			m.mutate()
		}
	}
	mark(d.root, rnd)
	return d
}
