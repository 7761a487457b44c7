package proxy

import (
	"context"
	"net/http"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/internal/inside"
)

// Internal returns functions that only packages of this module can use, because only they can
// import the key.
func Internal(*inside.Key) internals { return internals{} }

// internals forwards to unexported functions and methods.
type internals struct{}

func (internals) Join(l Learned, m Learned) Learned {
	return l.join(m)
}

func (internals) Learn(c *Conversations, key string, l Learned) {
	c.learn(key, l)
}

func (internals) Learned(c *Conversations, key string) Learned {
	return c.learned(key)
}

func (internals) Bound(r *Record) {
	r.truncate()
}

func (internals) Enter(h *Handler, w http.ResponseWriter, r *http.Request) (on *http.Request, leave func(), err error) {
	return h.enter(w, r)
}

func (internals) Turn(h *Handler, ctx context.Context, raw []byte) (in context.Context, done func(), err error) {
	return h.turn(ctx, raw)
}

func (internals) Refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	writeRefusal(w, r, status, message)
}

func (internals) Unpack(coding string, packed []byte, most int64) ([]byte, error) {
	return decompress(coding, packed, most)
}

func (internals) Vendors() map[string]Upstream {
	return knownVendors()
}

func (internals) SetPassed(h *Handler, passed func(*RecordedExchange), passes func(*Record) bool) {
	h.setPassed(passed, passes)
}

func (internals) SetStop(h *Handler, stop func(*fullness.Outlook) string) {
	h.setStop(stop)
}

func (internals) SetPolicy(h *Handler, p *pare.Policy) {
	h.setPolicy(p)
}
