package adkgo

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/v2/session"

	"github.com/pare-llm/pare/store"
)

// delta is a change of states, by whose it is; keys are without their prefix.
type delta struct{ app, user, session map[string]any }

func split(all map[string]any) delta {
	d := delta{make(map[string]any), make(map[string]any), make(map[string]any)}
	for key, v := range all {
		if k, ok := strings.CutPrefix(key, session.KeyPrefixApp); ok {
			d.app[k] = v
		} else if k, ok := strings.CutPrefix(key, session.KeyPrefixUser); ok {
			d.user[k] = v
		} else if !strings.HasPrefix(key, session.KeyPrefixTemp) {
			d.session[key] = v
		}
	}
	return d
}

// share writes the changes of the states of app and user, under an id: what was written
// already is not written again.
func (s *Service) share(ctx context.Context, app, user, id string, d delta) error {
	for key, change := range map[store.Key]map[string]any{appKey(app): d.app, userKey(app, user): d.user} {
		if len(change) == 0 {
			continue
		}
		raw, err := json.Marshal(change)
		if err != nil {
			return err
		}
		if _, err := s.st.Create(ctx, key, store.Create{}); err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
		done, err := s.st.Append(ctx, key, store.Anywhere, store.Entry{ID: id, Kind: kindState, Raw: raw})
		if err != nil {
			return err
		}
		if err := s.snapshot(ctx, key, done.Head); err != nil {
			return err
		}
	}
	return nil
}

// every is after how many changes a state is written as a whole, so that nobody reads
// them all.
const every = 64

// snapshot writes a state as a whole, now and then. Who comes late does not.
func (s *Service) snapshot(ctx context.Context, key store.Key, head int64) error {
	if head%every != 0 {
		return nil
	}
	now, err := s.stateOf(ctx, key)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return err
	}
	_, err = s.st.Append(ctx, key, store.Exactly(head), store.Entry{Kind: kindSnapshot, Raw: raw})
	var late *store.ConflictError
	if errors.As(err, &late) {
		return nil
	}
	return err
}

// stateOf reads a state: the last one that was written as a whole, and what came after it.
func (s *Service) stateOf(ctx context.Context, key store.Key) (map[string]any, error) {
	var changes []store.Entry // newest first
	ask := store.Page{Last: true, Limit: every}
	for {
		page, err := s.st.Page(ctx, key, ask)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDeleted) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		whole := false
		for _, e := range slices.Backward(page.Entries) {
			changes = append(changes, e)
			if whole = e.Kind == kindSnapshot; whole {
				break
			}
		}
		if whole || page.Prev == "" {
			break
		}
		ask = store.Page{Before: page.Prev, Limit: every}
	}
	now := state{of: make(map[string]any)}
	for _, e := range slices.Backward(changes) {
		if err := now.decode(e.Raw); err != nil {
			return nil, err
		}
	}
	return now.of, nil
}

// shared is the states of app and user, with their prefixes.
func (s *Service) shared(ctx context.Context, app, user string) (map[string]any, error) {
	out := make(map[string]any)
	for prefix, key := range map[string]store.Key{session.KeyPrefixApp: appKey(app), session.KeyPrefixUser: userKey(app, user)} {
		of, err := s.stateOf(ctx, key)
		if err != nil {
			return nil, err
		}
		for k, v := range of {
			out[prefix+k] = v
		}
	}
	return out, nil
}

// A sessionOf is a session as it was read, with what was appended through it since. Many
// goroutines may use it.
type sessionOf struct {
	app, user, id string
	state         state
	events        events

	mu      sync.Mutex // of an append
	head    int64
	updated time.Time
}

func (s *sessionOf) ID() string                { return s.id }
func (s *sessionOf) AppName() string           { return s.app }
func (s *sessionOf) UserID() string            { return s.user }
func (s *sessionOf) State() session.State      { return &s.state }
func (s *sessionOf) Events() session.Events    { return &s.events }
func (s *sessionOf) LastUpdateTime() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.updated }

// A state is keys and values. Many goroutines may use it.
type state struct {
	mu sync.RWMutex
	of map[string]any
}

func (s *state) Get(key string) (any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.of[key]
	if !ok {
		return nil, session.ErrStateKeyNotExist
	}
	return v, nil
}

func (s *state) Set(key string, v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[key] = v
	return nil
}

func (s *state) All() iter.Seq2[string, any] {
	s.mu.RLock()
	now := maps.Clone(s.of)
	s.mu.RUnlock()
	return maps.All(now)
}

func (s *state) merge(change map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.of, change)
}

func (s *state) decode(raw []byte) error {
	var change map[string]any
	if err := json.Unmarshal(raw, &change); err != nil {
		return err
	}
	s.merge(change)
	return nil
}

// events are a list of events. Many goroutines may read it.
type events struct {
	mu sync.RWMutex
	of []*session.Event
}

func (e *events) list() []*session.Event {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.of
}

func (e *events) add(x *session.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of = append(slices.Clip(e.of), x)
}

func (e *events) All() iter.Seq[*session.Event] { return slices.Values(e.list()) }
func (e *events) Len() int                      { return len(e.list()) }

func (e *events) At(i int) *session.Event {
	if all := e.list(); i >= 0 && i < len(all) {
		return all[i]
	}
	return nil
}
