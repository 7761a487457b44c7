package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/engine"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// calls are what callers in any language ask for: a body comes in, and one goes out.
type calls struct {
	settings      atomic.Pointer[Settings]
	maxBody       int64
	log           *slog.Logger
	acquireTurn   func(ctx context.Context, raw []byte) (in context.Context, done func(), err error)
	recordReceipt func(from *http.Request, r *proxy.Record) // gets the receipts
}

// dryRun is the server's own parameter, beside the options of a call: the plan is the answer.
const dryRunParameter = "dry_run"

// made is a call that was done.
type callResult struct {
	engine.Done
	dry   bool
	began time.Time
	took  time.Duration
}

func (c *calls) serve(w http.ResponseWriter, r *http.Request, name string) {
	m, err := c.run(w, r, name)
	if err != nil {
		writeCallError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case m.Plan != nil:
		err = c.writeResult(w, r, m)
	case m.Body != nil:
		_, err = w.Write(m.Body)
	default:
		w.Header().Set("Pare-Changes", "0")
		_, err = w.Write(append(m.Report, '\n'))
	}
	if err != nil {
		c.log.Debug("an answer did not arrive", "call", name, "error", err)
	}
}

// do reads a call and does it.
func (c *calls) run(w http.ResponseWriter, r *http.Request, name string) (m callResult, err error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return m, &engine.Error{Type: "options", Message: fmt.Sprintf("the parameters cannot be read: %v", err)}
	}
	var beside []string
	if engine.Changes(name) {
		beside = []string{dryRunParameter}
		if q.Has(dryRunParameter) {
			if m.dry, err = engine.ParseSwitch(dryRunParameter, q.Get(dryRunParameter)); err != nil {
				return m, err
			}
		}
	}
	options, err := engine.ParseQuery(name, q, beside...)
	if err != nil {
		return m, err
	}
	raw, err := c.body(w, r)
	if err != nil {
		return m, err
	}
	set, ctx := c.settings.Load(), r.Context()
	in, done, err := c.acquireTurn(ctx, raw)
	if err != nil {
		return m, err
	}
	defer done()
	if name != "compact" && (set.Policy == nil || set.Policy.Compact == nil) { // a model that writes summaries has its own time
		ctx = in
	}
	m.began = time.Now()
	m.Done, err = engine.Do(ctx, &engine.Settings{Config: set.Config, Getenv: set.getenv}, name, raw, options, engine.Callbacks{})
	m.took = time.Since(m.began)
	if err != nil && context.Cause(in) == context.DeadlineExceeded {
		err = context.DeadlineExceeded
	}
	return m, err
}

var errCoding = errors.New("the body is packed: send it as it is, without a Content-Encoding")

// body reads what was sent.
func (c *calls) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if coding := strings.Join(r.Header["Content-Encoding"], ","); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, errCoding
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, cmp.Or(c.maxBody, 64<<20)))
}

// saved is how many tokens less the result has. The receipts do not add up to that: they
// estimate each change by its bytes.
func savedTokens(p *pare.Policy, r *wire.Request, plan *pare.Plan) int {
	if plan.Empty() {
		return 0
	}
	c, err := p.Counter(cmp.Or(p.Model, r.Model()))
	if err != nil {
		return 0
	}
	return r.Tokens(c) - plan.Result().Tokens(c)
}

// carry answers with what came of a call that changes something; or with its plan.
func (c *calls) writeResult(w http.ResponseWriter, from *http.Request, m callResult) error {
	p, r, plan := m.Policy, m.Request, m.Plan
	h := w.Header()
	changes := plan.Changes()
	h.Set("Pare-Changes", strconv.Itoa(len(changes)))
	if len(changes) > 0 {
		h.Set("Pare-Rules", strings.Join(wirex.RulesOf(changes), ","))
	}
	less := savedTokens(p, r, plan)
	if less > 0 {
		h.Set("Pare-Saved-Tokens", strconv.Itoa(less))
	}
	if left := plan.Remaining(); len(left) > 0 {
		h.Set("Pare-Left", strconv.Itoa(len(left)))
	}
	if m.dry {
		writeJSON(w, http.StatusOK, plan)
		return nil
	}
	out := plan.Result().Raw()
	if len(changes) > 0 {
		rec := &proxy.Record{
			ID: strings.ToLower(rand.Text()[:20]), Time: m.began, Method: from.Method, Path: from.URL.Path, Dialect: r.Dialect.String(), Profile: r.Profile.Name,
			Model: cmp.Or(p.Model, r.Model()), Messages: len(r.Transcript().Messages()), Status: http.StatusOK, BytesIn: int64(len(r.Raw())), BytesOut: int64(len(out)),
			Changes: changes, Rules: wirex.RulesOf(changes), Saved: max(less, 0), Planned: m.took,
		}
		proxyx.Bound(rec)
		c.recordReceipt(from, rec)
		h.Set("Pare-Receipt", rec.ID)
	}
	h.Set("Content-Type", "application/json")
	_, err := w.Write(out)
	return err
}

// fail answers with what went wrong.
func writeCallError(w http.ResponseWriter, err error) {
	var (
		of    *engine.Error
		large *http.MaxBytesError
	)
	switch {
	case errors.As(err, &large):
		writeProblem(w, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is larger than %d bytes", large.Limit))
	case errors.Is(err, errCoding):
		w.Header().Set("Accept-Encoding", "identity")
		writeProblem(w, http.StatusUnsupportedMediaType, "unsupported", err.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		writeProblem(w, http.StatusRequestTimeout, "timeout", err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		writeProblem(w, http.StatusServiceUnavailable, "time", "it took longer than it may")
	case errors.Is(err, context.Canceled):
	case !errors.As(err, &of):
		writeProblem(w, http.StatusBadRequest, "failed", err.Error())
	case of.Type == "options":
		writeProblem(w, http.StatusBadRequest, "bad_request", of.Message)
	case of.Type == "window_too_small", of.Type == "compaction":
		writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"error": of})
	default:
		writeProblem(w, http.StatusBadRequest, of.Type, of.Message)
	}
}
