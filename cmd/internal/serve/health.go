package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/pare-llm/pare/store"
)

// health reports whether the server works, and whether its store does. Requests are forwarded
// without the store, too, so that a failed store does not make the server unhealthy.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	say := map[string]string{"status": "ok", "version": s.options.Version}
	if s.options.Store != nil {
		say["store"] = "ok"
		if err := s.probe.check(r.Context(), s.options.Store); err != nil {
			say["status"], say["store"] = "degraded", "unavailable"
		}
		if s.watches.isRemembering.Load() {
			say["remember"] = "on"
		}
	}
	writeJSON(w, http.StatusOK, say)
}

// A storeProbe checks whether a store answers and caches the result for a moment, because every
// client can request it.
type storeProbe struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

const (
	probeLifetime = time.Second
	probeTimeout  = 2 * time.Second // for the store
)

// check returns an error if the store does not answer.
func (p *storeProbe) check(ctx context.Context, st *store.Store) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() && time.Since(p.at) < probeLifetime {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	p.err = st.Ping(ctx)
	p.at = time.Now()
	return p.err
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// writeProblem writes an error in the form of the store's API.
func writeProblem(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]string{"type": kind, "message": message}})
}
