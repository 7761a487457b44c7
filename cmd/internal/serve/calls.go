package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// calls are what callers in any language ask for: a body comes in, and one goes out.
type calls struct {
	settings atomic.Pointer[Settings]
	max      int64
	note     func(from *http.Request, r *proxy.Record) // gets the receipts
}

// misuse is the error for a parameter that cannot be.
type misuse struct{ error }

// A planner makes the policy of a call; nil: the call only checks.
type planner func(*config.Config, url.Values) (*pare.Policy, error)

// A callable is one of the calls, with its own parameters beside those of all.
type callable struct {
	name  string
	plan  planner
	takes []string
}

var callables = []callable{
	{"check", nil, []string{"advice"}},
	{"fix", fix, changing},
	{"prune", prune, slices.Concat(changing, choosing)},
	{"trim", trim, slices.Concat(changing, choosing, limiting)},
}

// The parameters of all calls, of those that change something, of those that have rules, and
// of trim.
var (
	common   = []string{"as", "profile", "model", "strict"}
	changing = []string{"orphan_call", "orphan_result", "dry_run"}
	choosing = []string{"rules", "keep_recent"}
	limiting = []string{"max_tokens", "max_messages", "max_exchanges", "max_turns", "min_keep"}
	switches = []string{"strict", "advice", "dry_run"} // those that are on or off
)

// parameters reads those of a request. One that the call does not have is an error: a limit
// that is mistyped would be none.
func (do callable) parameters(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, misuse{fmt.Errorf("the parameters cannot be read: %w", err)}
	}
	known := slices.Concat(common, do.takes)
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case !slices.Contains(known, name):
			err := fmt.Errorf("%s has no parameter %q", do.name, name)
			if near := suggest.Sentence(name, known); near != "" {
				err = fmt.Errorf("%w; %s", err, near)
			}
			return nil, misuse{err}
		case len(q[name]) > 1:
			return nil, misuse{fmt.Errorf("%s is given %d times", name, len(q[name]))}
		case slices.Contains(switches, name):
			if _, err := strconv.ParseBool(q.Get(name)); err != nil && q.Get(name) != "" {
				return nil, misuse{fmt.Errorf("%s is %q: expected true or false", name, q.Get(name))}
			}
		}
	}
	return q, nil
}

func (c *calls) serve(w http.ResponseWriter, r *http.Request, do callable) {
	q, err := do.parameters(r)
	if err != nil {
		fail(w, err)
		return
	}
	raw, err := c.body(w, r)
	if err != nil {
		fail(w, err)
		return
	}
	o, err := reading(q)
	if err != nil {
		fail(w, err)
		return
	}
	req, err := wire.Parse(raw, o)
	if err != nil {
		fail(w, err)
		return
	}
	if do.plan == nil {
		c.check(w, req, q)
		return
	}
	conf := c.settings.Load().Config.Clone()
	p, err := do.plan(conf, q)
	if err != nil {
		fail(w, err)
		return
	}
	if err := c.carry(w, r, p, req, q); err != nil {
		fail(w, err)
	}
}

var (
	errCoding = errors.New("the body is packed: send it as it is, without a Content-Encoding")
	errEmpty  = errors.New("the body is empty: expected a request body, or a list of messages")
)

// body reads what was sent.
func (c *calls) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if coding := strings.Join(r.Header["Content-Encoding"], ","); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, errCoding
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, cmp.Or(c.max, 64<<20)))
	if err == nil && len(bytes.TrimSpace(raw)) == 0 {
		err = errEmpty
	}
	return raw, err
}

// reading is how the body is read.
func reading(q url.Values) (o wire.Options, err error) {
	o.Profile, o.Model = q.Get("profile"), q.Get("model")
	if as := q.Get("as"); as != "" {
		if o.Dialect, err = wire.ParseDialect(as); err != nil {
			return o, misuse{err}
		}
	}
	return o, nil
}

// checked is what check answers, as pare check --json does.
type checked struct {
	Dialect  string         `json:"dialect"`
	Profile  string         `json:"profile"`
	Messages int            `json:"messages"`
	Calls    int            `json:"calls"`
	Results  int            `json:"results"`
	Findings []wire.Finding `json:"findings"`
}

func (c *calls) check(w http.ResponseWriter, r *wire.Request, q url.Values) {
	found := r.Check(wire.CheckOptions{Strict: on(q, "strict"), Advice: on(q, "advice")})
	out := checked{Dialect: r.Dialect.String(), Profile: r.Profile.Name, Messages: len(r.Transcript().Messages()), Findings: append([]wire.Finding{}, found...)}
	for _, b := range r.Transcript().Blocks() {
		switch b.Kind {
		case transcript.Call:
			out.Calls++
		case transcript.Result:
			out.Results++
		}
	}
	w.Header().Set("Pare-Changes", "0")
	answer(w, http.StatusOK, out)
}

// saved is how many tokens less the result has. The receipts do not add up to that: they
// estimate each change by its bytes.
func saved(p *pare.Policy, r *wire.Request, plan *pare.Plan) int {
	if plan.Empty() {
		return 0
	}
	c, err := p.Counter(cmp.Or(p.Model, r.Model()))
	if err != nil {
		return 0
	}
	return r.Tokens(c) - plan.Result().Tokens(c)
}

// carry plans, and answers with what comes of it; with ?dry_run, with the plan.
func (c *calls) carry(w http.ResponseWriter, from *http.Request, p *pare.Policy, r *wire.Request, q url.Values) error {
	p.Model = q.Get("model")
	if q.Has("strict") { // decides over the file, as the flag does
		p.Check.Strict = on(q, "strict")
	}
	for _, of := range []struct {
		name, keep string
		remedy     *wire.Remedy
	}{{"orphan_call", "stub", &p.Repair.OrphanCall}, {"orphan_result", "text", &p.Repair.OrphanResult}} {
		switch v := q.Get(of.name); v {
		case "":
		case "drop":
			*of.remedy = wire.RemedyDrop
		case of.keep:
			*of.remedy = wire.RemedyKeep
		default:
			return misuse{fmt.Errorf("%s is %q: expected %s or drop", of.name, v, of.keep)}
		}
	}
	began := time.Now()
	plan, err := p.Plan(from.Context(), r)
	if err != nil {
		return err
	}
	h := w.Header()
	changes := plan.Changes()
	h.Set("Pare-Changes", strconv.Itoa(len(changes)))
	if len(changes) > 0 {
		h.Set("Pare-Rules", strings.Join(wirex.RulesOf(changes), ","))
	}
	less := saved(p, r, plan)
	if less > 0 {
		h.Set("Pare-Saved-Tokens", strconv.Itoa(less))
	}
	if left := plan.Left(); len(left) > 0 {
		h.Set("Pare-Left", strconv.Itoa(len(left)))
	}
	if on(q, "dry_run") {
		answer(w, http.StatusOK, plan)
		return nil
	}
	out := plan.Result().Raw()
	if len(changes) > 0 {
		rec := &proxy.Record{
			ID: strings.ToLower(rand.Text()[:20]), Time: began, Method: from.Method, Path: from.URL.Path, Dialect: r.Dialect.String(), Profile: r.Profile.Name,
			Model: cmp.Or(p.Model, r.Model()), Messages: len(r.Transcript().Messages()), Status: http.StatusOK, BytesIn: int64(len(r.Raw())), BytesOut: int64(len(out)),
			Changes: changes, Rules: wirex.RulesOf(changes), Saved: max(less, 0), Planned: time.Since(began),
		}
		c.note(from, rec)
		h.Set("Pare-Receipt", rec.ID)
	}
	h.Set("Content-Type", "application/json")
	_, err = w.Write(out)
	return err
}

func fix(conf *config.Config, _ url.Values) (*pare.Policy, error) {
	conf.Window, conf.Compact, conf.Archive = nil, nil, nil
	p, err := conf.Policy(nil)
	if err != nil {
		return nil, err
	}
	p.Rules = nil
	return p, nil
}

func prune(conf *config.Config, q url.Values) (*pare.Policy, error) {
	conf.Window, conf.Compact, conf.Archive = nil, nil, nil
	if err := choose(conf, q); err != nil {
		return nil, err
	}
	return conf.Policy(nil)
}

// choose lets the parameters decide which rules run.
func choose(conf *config.Config, q url.Values) error {
	var names []string
	if v := q.Get("rules"); v != "" {
		names = strings.Split(v, ",")
	}
	n, given, err := number(q, "keep_recent", 0)
	if err != nil {
		return err
	}
	if given {
		conf.Recent(n)
		if names != nil {
			names = append(names, "recency")
		}
	}
	if names == nil {
		return nil
	}
	if err := conf.Only(names...); err != nil {
		return misuse{err}
	}
	return nil
}

func trim(conf *config.Config, q url.Values) (*pare.Policy, error) {
	conf.Compact, conf.Archive = nil, nil
	var win config.Window
	if conf.Window != nil {
		win = *conf.Window
	}
	conf.Window = &win
	limited := false
	for _, l := range []struct {
		name string
		set  func(int)
		of   *int
	}{
		{"max_tokens", func(n int) { win.Tokens = config.Limit(n) }, nil}, {"max_messages", nil, &win.Messages},
		{"max_exchanges", nil, &win.Exchanges}, {"max_turns", nil, &win.Turns},
	} {
		n, given, err := number(q, l.name, 1)
		if err != nil {
			return nil, err
		}
		if !given {
			continue
		}
		if !limited { // limits that are given take the place of those of the file
			limited = true
			win.Tokens, win.Messages, win.Exchanges, win.Turns, win.Low, win.Cache, win.Cold = 0, 0, 0, 0, config.Mark{}, false, false
		}
		if l.of != nil {
			*l.of = n
		} else {
			l.set(n)
		}
	}
	n, given, err := number(q, "min_keep", 0)
	if err != nil {
		return nil, err
	}
	if given {
		win.MinKeep = n
	}
	if err := choose(conf, q); err != nil {
		return nil, err
	}
	p, err := conf.Policy(nil)
	if err != nil {
		return nil, err
	}
	if !q.Has("rules") && !q.Has("keep_recent") && len(conf.Standard) == 0 && len(conf.Expressions) == 0 {
		p.Rules = nil // nobody has asked for any
	}
	return p, nil
}

// number reads a parameter.
func number(q url.Values, name string, least int) (n int, given bool, err error) {
	if !q.Has(name) {
		return 0, false, nil
	}
	v := q.Get(name)
	n, err = strconv.Atoi(v)
	if err != nil || n < least {
		return 0, false, misuse{fmt.Errorf("%s is %q: expected a number from %d on", name, v, least)}
	}
	return n, true, nil
}

// on reads a parameter that is on or off; its name alone means on. Clients write True and
// False, too.
func on(q url.Values, name string) bool {
	v, err := strconv.ParseBool(q.Get(name))
	return q.Has(name) && (v || err != nil)
}

// fail answers with what went wrong.
func fail(w http.ResponseWriter, err error) {
	var (
		wrong   misuse
		large   *http.MaxBytesError
		syntax  *wire.SyntaxError
		small   *pare.WindowTooSmall
		unknown *pare.UnknownModelError
		conf    config.Errors
	)
	switch {
	case errors.As(err, &wrong), errors.As(err, &conf):
		problem(w, http.StatusBadRequest, "bad_request", err.Error())
	case errors.As(err, &large):
		problem(w, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is larger than %d bytes", large.Limit))
	case errors.Is(err, errCoding):
		w.Header().Set("Accept-Encoding", "identity")
		problem(w, http.StatusUnsupportedMediaType, "unsupported", err.Error())
	case errors.As(err, &syntax), errors.Is(err, errEmpty), errors.Is(err, wire.ErrNotRequest):
		problem(w, http.StatusBadRequest, "unreadable", err.Error())
	case errors.As(err, &small):
		answer(w, http.StatusUnprocessableEntity, map[string]any{"error": map[string]any{
			"type": "window_too_small", "message": err.Error(), "unit": small.Unit, "limit": small.Limit, "minimum": small.Minimum,
		}})
	case errors.As(err, &unknown):
		problem(w, http.StatusBadRequest, "unknown_model", err.Error())
	case errors.Is(err, context.Canceled):
	default:
		problem(w, http.StatusBadRequest, "failed", err.Error())
	}
}
