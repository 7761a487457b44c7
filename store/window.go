package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// Ask says what a window is to be like. The zero value asks for the model's own window.
type Ask struct {
	// Policy is what is done to the messages. Nil: they are repaired and made to fit the
	// window of the model, where that is known.
	Policy *pare.Policy
	// Base takes the place of the session's own: the request around the messages.
	Base []byte
	// Model takes the place of the session's own.
	Model string
}

// A Window is a request body, ready to send.
type Window struct {
	Body []byte
	// Head is the head of the session at that time: give it to Append with the reply.
	Head int64
	// From is the first entry that was looked at, besides what is pinned.
	From int64
	// Plan tells what was done, and why.
	Plan *pare.Plan
}

// Window makes a request out of a session: summaries first, then the messages in
// force, repaired, within the limit of the policy, checked. Calls that nobody has
// answered are closed with a stub, in the body and nowhere else.
//
// What it costs depends on the limit and not on the length of the history: entries that
// cannot be sent are not read. The place where it begins to read is a function of the
// history that moves rarely, and then by half a window, so that the provider's cache
// is not lost at every request.
func (s *Store) Window(ctx context.Context, key Key, ask Ask) (*Window, error) {
	var (
		x *Session
		h history
	)
	p := ask.policy()
	err := s.read(ctx, func(t *tx) (err error) {
		if x, err = s.live(ctx, t, key, false); err != nil {
			return err
		}
		if ask.Model != "" {
			x.Model = ask.Model
		}
		h, err = s.load(ctx, t, x, reach(x, p))
		return err
	})
	if err != nil {
		return nil, err
	}
	body, err := x.body(ask.Base, h.messages)
	if err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	r, err := x.parse(body)
	if err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	plan, err := p.Plan(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	w := &Window{Head: x.Head, From: h.from, Plan: plan}
	if w.Body, err = plan.Apply(); err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	w.Body, err = s.fillBody(ctx, w.Body)
	return w, err
}

// policy is the one to use.
func (a *Ask) policy() *pare.Policy {
	if a.Policy != nil {
		return a.Policy
	}
	return &pare.Policy{Window: &pare.Window{ModelTokens: true}}
}

// reach is how many tokens of messages are worth reading: twice what can be sent, so
// that old results can be cleared in the place of whole turns; 0 is all of them.
func reach(x *Session, p *pare.Policy) int64 {
	if p.Off || p.Window == nil {
		return 0
	}
	limit := p.Window.Tokens
	if limit == 0 && p.Window.ModelTokens {
		m, _ := tokens.Lookup(x.Model)
		limit = m.Window
	}
	return 2 * int64(limit)
}

// A history is what a window is made of.
type history struct {
	messages [][]byte // as they will be sent
	seqs     []int64  // by message: its entry; 0 for those of a summary
	from     int64
	prior    Compacted
}

// load reads what of a session can be sent.
func (s *Store) load(ctx context.Context, t *tx, x *Session, reach int64) (history, error) {
	h := history{from: 1}
	last, compacted := x.state.compaction()
	if compacted {
		c, err := s.compactionAt(ctx, t, x, last.Seq)
		if err != nil {
			return h, err
		}
		for _, m := range c.Prefix {
			h.messages, h.seqs = append(h.messages, m), append(h.seqs, 0)
		}
		h.from, h.prior = last.To+1, last
	}
	start, err := s.start(ctx, t, x, h.from, last.Cum, reach)
	if err != nil {
		return h, err
	}
	if start > h.from && !compacted {
		if err := s.pinned(ctx, t, x, &h, start); err != nil {
			return h, err
		}
	}
	h.from = start
	return h, s.messages(ctx, t, x, &h, start, x.Head)
}

// messages appends the messages of a range.
func (s *Store) messages(ctx context.Context, t *tx, x *Session, h *history, from, to int64) error {
	for _, st := range x.stretches(from, to) {
		var found []scanned
		err := t.each(ctx, func(scan func(...any) error) error {
			e, err := x.scan(st.sid, scan)
			found = append(found, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE sid = ? AND seq BETWEEN ? AND ? AND kind = 'message' ORDER BY seq`, st.sid, st.from, st.to)
		if err != nil {
			return err
		}
		for i := range found {
			if err := s.openLazily(ctx, t, x, &found[i]); err != nil {
				return err
			}
			h.messages, h.seqs = append(h.messages, found[i].Raw), append(h.seqs, found[i].Seq)
		}
	}
	return nil
}

// pinned appends what stays in front of a start: what the system said, and the task.
func (s *Store) pinned(ctx context.Context, t *tx, x *Session, h *history, start int64) error {
	task := false
	for _, st := range x.stretches(1, start-1) {
		var found []scanned
		keep := func(scan func(...any) error) error {
			e, err := x.scan(st.sid, scan)
			found = append(found, e)
			return err
		}
		if !task {
			if err := t.each(ctx, keep, `SELECT `+entryColumns+` FROM entries WHERE sid = ? AND seq BETWEEN ? AND ? AND flags & 1 = 1 ORDER BY seq LIMIT 1`, st.sid, st.from, st.to); err != nil {
				return err
			}
			task = len(found) > 0
		}
		if err := t.each(ctx, keep, `SELECT `+entryColumns+` FROM entries WHERE sid = ? AND seq BETWEEN ? AND ? AND flags & 8 = 8 ORDER BY seq`, st.sid, st.from, st.to); err != nil {
			return err
		}
		sortScanned(found)
		for i := range found {
			if err := s.openLazily(ctx, t, x, &found[i]); err != nil {
				return err
			}
			h.messages, h.seqs = append(h.messages, found[i].Raw), append(h.seqs, found[i].Seq)
		}
	}
	return nil
}

// start is where reading begins. It goes by the weight of the entries and moves in
// steps of a quarter of what may be read, so it stays where it is for many requests, in
// every process.
func (s *Store) start(ctx context.Context, t *tx, x *Session, from, before, reach int64) (int64, error) {
	if reach == 0 || x.cum-before <= reach {
		return from, nil
	}
	step := max(reach/4, 1)
	skip := (x.cum - before - reach + step - 1) / step * step
	seq, err := s.seqAt(ctx, t, x, from, before+skip)
	if err != nil {
		return 0, err
	}
	// A turn is the best beginning, if there is one in the next step.
	turn, err := s.nextTurn(ctx, t, x, seq, before+skip+step)
	if err != nil || turn > 0 {
		return turn, err
	}
	whole, err := s.wholeFrom(ctx, t, x, seq)
	return max(whole, from), err
}

// seqAt is the first entry in force that a weight is reached with. The weights of the
// entries in force rise, so it can be searched for.
func (s *Store) seqAt(ctx context.Context, t *tx, x *Session, from, cum int64) (int64, error) {
	for _, st := range x.stretches(from, x.Head) {
		end, err := s.cumAt(ctx, t, x, st.to)
		if err != nil {
			return 0, err
		}
		if end <= cum {
			continue
		}
		lo, hi := st.from, st.to
		for lo < hi {
			mid := lo + (hi-lo)/2
			c, err := s.cumAt(ctx, t, x, mid)
			if err != nil {
				return 0, err
			}
			if c > cum {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return lo, nil
	}
	return x.Head, nil
}

// nextTurn is the first entry from seq on with which a person begins a turn, if it is
// reached before a weight; 0 otherwise.
func (s *Store) nextTurn(ctx context.Context, t *tx, x *Session, seq, before int64) (int64, error) {
	for _, st := range x.stretches(seq, x.Head) {
		var found, cum int64
		err := t.each(ctx, func(scan func(...any) error) error { return scan(&found, &cum) },
			`SELECT seq, cum FROM entries WHERE sid = ? AND seq BETWEEN ? AND ? AND flags & 1 = 1 ORDER BY seq LIMIT 1`, st.sid, st.from, st.to)
		if err != nil {
			return 0, err
		}
		if found == 0 {
			continue
		}
		if cum > before {
			return 0, nil
		}
		whole, err := s.wholeFrom(ctx, t, x, found)
		if err != nil || whole != found {
			return 0, err // an exchange that is still running straddles it
		}
		return found, nil
	}
	return 0, nil
}

// parse reads a body of the session.
func (x *Session) parse(body []byte) (*wire.Request, error) {
	o := wire.Options{Model: x.Model}
	if x.Dialect != "" {
		d, err := wire.ParseDialect(x.Dialect)
		if err != nil {
			return nil, err
		}
		o.Dialect = d
	}
	return wire.Parse(body, o)
}

// body puts messages into the request that goes around them, and the settings of the
// session beside them.
func (x *Session) body(base []byte, messages [][]byte) ([]byte, error) {
	if x.Dialect == "" {
		return nil, errors.New("the session is empty")
	}
	d, err := wire.ParseDialect(x.Dialect)
	if err != nil {
		return nil, err
	}
	if base == nil {
		base = x.Base
	}
	if len(base) == 0 {
		base = []byte(`{}`)
		if x.Model != "" && !d.ModelInURL() {
			base = append(jsonspan.AppendQuote([]byte(`{"model":`), x.Model), '}')
		}
	}
	n := len(base) + 2
	for _, m := range messages {
		n += len(m) + 1
	}
	list := make([]byte, 0, n)
	list = append(append(append(list, '['), bytes.Join(messages, []byte{','})...), ']')
	if base, err = setMember(base, d.List(), list); err != nil {
		return nil, fmt.Errorf("base of the session: %w", err)
	}
	if len(x.Settings) > 0 {
		if base, err = merge(base, x.Settings); err != nil {
			return nil, fmt.Errorf("settings of the session: %w", err)
		}
	}
	return base, nil
}

// setMember gives a member of an object a value, where it stands or at the end.
func setMember(object []byte, name string, value []byte) ([]byte, error) {
	if err := jsonspan.Valid(object); err != nil {
		return nil, err
	}
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' {
		return nil, errors.New("it is no JSON object")
	}
	return jsonspan.Splice(object, []jsonspan.Edit{jsonspan.SetMember(object, jsonspan.Span{End: len(object)}, name, value)})
}

// merge puts the members of an object into another one; objects are merged, other
// values replaced.
func merge(into, from []byte) ([]byte, error) {
	from = bytes.TrimSpace(from)
	for _, m := range jsonspan.Members(from, jsonspan.Span{End: len(from)}) {
		name := string(jsonspan.Decode(nil, from[m.Key.Start:m.Key.End]))
		value := from[m.Value.Start:m.Value.End]
		if old, ok := jsonspan.Find(into, jsonspan.Span{End: len(into)}, name); ok && value[0] == '{' && into[old.Value.Start] == '{' {
			inner, err := merge(into[old.Value.Start:old.Value.End], value)
			if err != nil {
				return nil, err
			}
			value = inner
		}
		next, err := setMember(into, name, value)
		if err != nil {
			return nil, err
		}
		into = next
	}
	return into, nil
}
