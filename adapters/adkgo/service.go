package adkgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/pare-llm/pare/store"
)

// The kinds of entries beside messages.
const (
	kindEvent    store.Kind = "adk-event"    // an event, without its content
	kindState    store.Kind = "adk-state"    // a change of a state
	kindSnapshot store.Kind = "adk-snapshot" // a whole state
)

// A Service is the session service of adk-go on a store. Many goroutines may use it.
type Service struct{ st *store.Store }

var _ session.Service = (*Service)(nil)

// New returns the service of a store, which stays the caller's to close.
func New(st *store.Store) *Service { return &Service{st} }

// Key names the session of the store that holds a session of an app.
func Key(app, user, id string) store.Key {
	return store.Key{Scope: app, ID: owner(user) + url.PathEscape(id)}
}

// owner is how the ids of a user's sessions begin.
func owner(user string) string { return "s/" + url.PathEscape(user) + "/" }

// appKey and userKey name the sessions that hold the state of an app and of a user.
func appKey(app string) store.Key { return store.Key{Scope: app, ID: "app"} }
func userKey(app, user string) store.Key {
	return store.Key{Scope: app, ID: "u/" + url.PathEscape(user)}
}

// Create makes a session.
func (s *Service) Create(ctx context.Context, r *session.CreateRequest) (*session.CreateResponse, error) {
	if r.AppName == "" || r.UserID == "" {
		return nil, fmt.Errorf("create session: app name and user id are required, got %q and %q", r.AppName, r.UserID)
	}
	id := r.SessionID
	if id == "" {
		id = store.NewID()
	}
	key := Key(r.AppName, r.UserID, id)
	made, err := s.st.Create(ctx, key, store.Create{Dialect: "gemini"})
	if err != nil {
		return nil, err
	}
	d := split(r.State)
	out := &sessionOf{app: r.AppName, user: r.UserID, id: id, updated: made.Created, state: state{of: maps.Clone(d.session)}}
	if out.state.of == nil {
		out.state.of = make(map[string]any)
	}
	if len(d.session) > 0 {
		raw, err := json.Marshal(d.session)
		if err != nil {
			return nil, fmt.Errorf("create session: state: %w", err)
		}
		done, err := s.st.Append(ctx, key, store.Exactly(0), store.Entry{ID: "state", Kind: kindState, Raw: raw})
		if err != nil {
			return nil, err
		}
		out.head = done.Head
	}
	if err := s.share(ctx, r.AppName, r.UserID, store.NewID(), d); err != nil {
		return nil, err
	}
	shared, err := s.shared(ctx, r.AppName, r.UserID)
	if err != nil {
		return nil, err
	}
	maps.Copy(out.state.of, shared)
	return &session.CreateResponse{Session: out}, nil
}

// Get returns a session with its events. The most recent ones begin with an event more
// where a response would stand without its call otherwise.
func (s *Service) Get(ctx context.Context, r *session.GetRequest) (*session.GetResponse, error) {
	out, err := s.load(ctx, r.AppName, r.UserID, r.SessionID)
	if err != nil {
		return nil, err
	}
	events := out.events.of
	if !r.After.IsZero() {
		var kept []*session.Event
		for _, e := range events {
			if !e.Timestamp.Before(r.After) {
				kept = append(kept, e)
			}
		}
		events = kept
	}
	if n := r.NumRecentEvents; n > 0 && len(events) > n {
		events = events[whole(events, len(events)-n):]
	}
	out.events.of = events
	return &session.GetResponse{Session: out}, nil
}

// whole moves the beginning of a list of events back until no response in it lacks a call
// that stands in front of it.
func whole(all []*session.Event, from int) int {
	for {
		lacking := make(map[string]bool)
		for _, e := range all[from:] {
			for _, p := range parts(e) {
				if p.FunctionResponse != nil {
					lacking[p.FunctionResponse.ID] = true
				}
			}
		}
		for _, e := range all[from:] {
			for _, p := range parts(e) {
				if p.FunctionCall != nil {
					delete(lacking, p.FunctionCall.ID)
				}
			}
		}
		at := from
		for i, e := range all[:from] {
			for _, p := range parts(e) {
				if p.FunctionCall != nil && lacking[p.FunctionCall.ID] {
					at = min(at, i)
				}
			}
		}
		if at == from {
			return from
		}
		from = at
	}
}

func parts(e *session.Event) []*genai.Part {
	if e.Content == nil {
		return nil
	}
	return e.Content.Parts
}

// List returns the sessions of a user, or of all users of an app, without their events.
func (s *Service) List(ctx context.Context, r *session.ListRequest) (*session.ListResponse, error) {
	begins := "s/"
	if r.UserID != "" {
		begins = owner(r.UserID)
	}
	out := &session.ListResponse{Sessions: []session.Session{}}
	var last *store.Session
	for {
		page, err := s.st.Sessions(ctx, r.AppName, 1000, last)
		if err != nil {
			return nil, err
		}
		for _, x := range page {
			last = x
			if !strings.HasPrefix(x.ID, begins) {
				continue
			}
			user, id, err := names(x.ID)
			if err != nil {
				return nil, err
			}
			one, err := s.load(ctx, r.AppName, user, id)
			if errors.Is(err, store.ErrDeleted) {
				continue // meanwhile
			}
			if err != nil {
				return nil, err
			}
			one.events.of = nil
			out.Sessions = append(out.Sessions, one)
		}
		if len(page) < 1000 {
			return out, nil
		}
	}
}

// names are the user and the id of a session, by its id in the store.
func names(id string) (user, name string, err error) {
	_, rest, _ := strings.Cut(id, "/")
	user, name, _ = strings.Cut(rest, "/")
	if user, err = url.PathUnescape(user); err != nil {
		return "", "", err
	}
	name, err = url.PathUnescape(name)
	return user, name, err
}

// Delete deletes a session; one that is not there is deleted already.
func (s *Service) Delete(ctx context.Context, r *session.DeleteRequest) error {
	err := s.st.Delete(ctx, Key(r.AppName, r.UserID, r.SessionID))
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDeleted) {
		return nil
	}
	return err
}

// AppendEvent appends an event, and what it changes of the states of session, user and
// app. Partial events are not kept, nor is the state that is temporary. An error may be a
// *store.ConflictError with what the caller has not seen; appending the same event again is
// safe.
func (s *Service) AppendEvent(ctx context.Context, to session.Session, e *session.Event) error {
	switch {
	case to == nil:
		return errors.New("append event: the session is nil")
	case e == nil:
		return errors.New("append event: the event is nil")
	case e.Partial:
		return nil
	}
	if e.ID == "" {
		e.ID = store.NewID()
	}
	maps.DeleteFunc(e.Actions.StateDelta, func(key string, _ any) bool { return strings.HasPrefix(key, session.KeyPrefixTemp) })
	entries, err := encode(e)
	if err != nil {
		return fmt.Errorf("append event %s: %w", e.ID, err)
	}
	head := store.Anywhere
	own, _ := to.(*sessionOf)
	if own != nil {
		own.mu.Lock()
		defer own.mu.Unlock()
		head = store.Disjoint(own.head)
	}
	key := Key(to.AppName(), to.UserID(), to.ID())
	done, err := s.st.Append(ctx, key, head, entries...)
	var bad *store.EntryError
	if errors.As(err, &bad) { // content that is no message of the dialect stays inside the event
		whole, failed := json.Marshal(e)
		if failed != nil {
			return fmt.Errorf("append event %s: %w", e.ID, failed)
		}
		done, err = s.st.Append(ctx, key, head, store.Entry{ID: e.ID, Kind: kindEvent, Raw: whole})
	}
	if err != nil {
		return fmt.Errorf("append event %s: %w", e.ID, err)
	}
	d := split(e.Actions.StateDelta)
	if err := s.share(ctx, to.AppName(), to.UserID(), e.ID, d); err != nil {
		return fmt.Errorf("append event %s: %w", e.ID, err)
	}
	if own != nil {
		own.head = done.Head
		own.events.add(e)
		own.state.merge(e.Actions.StateDelta)
		own.updated = e.Timestamp
	}
	return nil
}

// encode makes the entries of an event.
func encode(e *session.Event) ([]store.Entry, error) {
	bare := *e
	bare.Content = nil
	raw, err := json.Marshal(&bare)
	if err != nil {
		return nil, err
	}
	all := []store.Entry{{ID: e.ID, Kind: kindEvent, Raw: raw}}
	if e.Content == nil {
		return all, nil
	}
	content, err := json.Marshal(e.Content)
	if err != nil {
		return nil, err
	}
	return append(all, store.Message(e.ID+"/content", content)), nil
}

// load reads a session.
func (s *Service) load(ctx context.Context, app, user, id string) (*sessionOf, error) {
	key := Key(app, user, id)
	x, err := s.st.Session(ctx, key)
	if err != nil {
		return nil, err
	}
	out := &sessionOf{app: app, user: user, id: id, updated: x.Created, head: x.Head, state: state{of: make(map[string]any)}}
	var last *session.Event
	err = s.st.Export(ctx, key, store.Export{All: true}, func(e store.Entry) error {
		switch e.Kind {
		case kindState:
			return out.state.decode(e.Raw)
		case kindEvent:
			last = &session.Event{}
			if err := json.Unmarshal(e.Raw, last); err != nil {
				return fmt.Errorf("event %s: %w", e.ID, err)
			}
			out.events.of = append(out.events.of, last)
			out.state.merge(split(last.Actions.StateDelta).session)
			if !last.Timestamp.IsZero() {
				out.updated = last.Timestamp
			}
		case store.KindMessage:
			if last == nil || e.ID != last.ID+"/content" {
				return nil // written by somebody else
			}
			last.Content = &genai.Content{}
			return json.Unmarshal(e.Raw, last.Content)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("get session %s: %w", id, err)
	}
	shared, err := s.shared(ctx, app, user)
	if err != nil {
		return nil, err
	}
	maps.Copy(out.state.of, shared)
	return out, nil
}
