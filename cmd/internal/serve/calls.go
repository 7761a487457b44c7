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
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/engine"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// calls answers requests of callers in any language: a body goes in, a body comes out.
type calls struct {
	settings atomic.Pointer[Settings]
	maxBody  int64
	log      *slog.Logger
	// waits until a body may be processed
	acquireTurn   func(ctx context.Context, raw []byte) (in context.Context, done func(), err error)
	recordReceipt func(from *http.Request, r *proxy.Record) // receives the receipts
}

// dryRunParameter is a parameter of the server, in addition to the options of a call: the reply
// is the plan.
const dryRunParameter = "dry_run"

// A callResult is the result of a call.
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

// run reads a call and executes it.
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

// body reads the body of a call.
func (c *calls) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if coding := strings.Join(r.Header["Content-Encoding"], ","); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, errCoding
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, cmp.Or(c.maxBody, 64<<20)))
}

// savedTokens returns how many tokens smaller the result is. The receipts do not add up to this
// number, because they estimate each change by its bytes.
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

// writeResult writes the changed body or, for a dry run, its plan.
func (c *calls) writeResult(w http.ResponseWriter, from *http.Request, m callResult) error {
	p, r, plan := m.Policy, m.Request, m.Plan
	h := w.Header()
	changes := plan.Changes()
	h.Set("Pare-Changes", strconv.Itoa(len(changes)))
	if len(changes) > 0 {
		h.Set("Pare-Rules", strings.Join(dialect.RulesOf(changes), ","))
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
			Changes: changes, Rules: dialect.RulesOf(changes), Saved: max(less, 0), Planned: m.took,
		}
		proxyx.Bound(rec)
		c.recordReceipt(from, rec)
		h.Set("Pare-Receipt", rec.ID)
	}
	h.Set("Content-Type", "application/json")
	_, err := w.Write(out)
	return err
}

// writeCallError writes the error of a call.
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
