package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/pare-llm/pare/store"
)

// health says whether the server works, and whether its store does. Without the store requests
// pass all the same, so that is no reason to restart the server, or to send nobody to it.
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

// A pulse remembers for a moment whether a store answers: everybody may ask. Many goroutines may
// use it.
type storeProbe struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

const (
	probeLifetime = time.Second
	probeTimeout  = 2 * time.Second // for the store
)

// take returns an error if the store does not answer.
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

// problem answers a request that failed, as the store does.
func writeProblem(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]string{"type": kind, "message": message}})
}
