package storehttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/store"
)

func (a *api) create(c *call) error {
	var in struct {
		ID      textID          `json:"id"`
		Path    textID          `json:"path"`
		Dialect string          `json:"dialect"`
		Model   string          `json:"model"`
		Title   string          `json:"title"`
		Base    json.RawMessage `json:"base"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if in.ID == "" {
		in.ID = textID(store.NewID())
	}
	session, err := a.store.Create(c.request.Context(), store.Key{Scope: c.key.Scope, ID: string(in.ID), Path: string(in.Path)},
		store.Create{Dialect: in.Dialect, Model: in.Model, Title: in.Title, Base: in.Base})
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, session)
}

func (a *api) list(c *call) error {
	limit, err := c.intParameter("limit")
	if err != nil {
		return err
	}
	var before *store.Session
	if id := c.parameter("before"); id != "" {
		if before, err = a.store.Session(c.request.Context(), store.Key{Scope: c.key.Scope, ID: id}); err != nil {
			return err
		}
	}
	all, err := a.store.Sessions(c.request.Context(), c.key.Scope, min(limit, 1000), before)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"sessions": nonNil(all)})
}

// nonNil returns an empty list for nil.
func nonNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func (a *api) get(c *call) error {
	session, err := a.store.Session(c.request.Context(), c.key)
	if err != nil {
		return err
	}
	full, err := a.store.Fullness(c.request.Context(), c.key, a.options.CompactAbove)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, struct {
		*store.Session
		Fullness *fullness.Outlook `json:"fullness,omitempty"`
	}{session, full})
}

func (a *api) paths(c *call) error {
	all, err := a.store.Paths(c.request.Context(), c.key)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"sessions": nonNil(all)})
}

func (a *api) update(c *call) error {
	var in struct {
		Model    *string         `json:"model"`
		Title    *string         `json:"title"`
		Base     json.RawMessage `json:"base"`
		Settings json.RawMessage `json:"settings"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if err := a.store.Update(c.request.Context(), c.key, store.Update{Model: in.Model, Title: in.Title, Base: in.Base, Settings: in.Settings}); err != nil {
		return err
	}
	return a.get(c)
}

func (a *api) remove(c *call) error {
	if err := a.store.Delete(c.request.Context(), c.key); err != nil {
		return err
	}
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) append(c *call) error {
	var in struct {
		Head    headJSON    `json:"head"`
		Entries []entryJSON `json:"entries"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	head, err := in.Head.head()
	if err != nil {
		return err
	}
	list := make([]store.Entry, len(in.Entries))
	for i, e := range in.Entries {
		if len(e.Raw) == 0 {
			return &store.EntryError{Index: i, ID: string(e.ID), Err: errors.New("raw is missing: it is the message, as JSON")}
		}
		list[i] = store.Entry{ID: string(e.ID), Kind: e.Kind, Raw: e.Raw}
	}
	result, err := a.store.Append(c.request.Context(), c.key, head, list...)
	if err != nil {
		return err
	}
	return c.writeRaw(http.StatusOK, withEntries(encode(struct {
		Head     int64 `json:"head"`
		Replayed int   `json:"replayed"`
	}{result.Head, result.Replayed}), "entries", result.Entries))
}

func (a *api) page(c *call) error {
	limit, err := c.intParameter("limit")
	if err != nil {
		return err
	}
	last, err := c.boolParameter("last")
	if err != nil {
		return err
	}
	if c.parameter("after") != "" && c.parameter("before") != "" {
		return fmt.Errorf("%w: after and before exclude each other", errBody)
	}
	page, err := a.store.Page(c.request.Context(), c.key, store.Page{After: c.parameter("after"), Before: c.parameter("before"), Last: last, Limit: min(limit, 10_000)})
	if err != nil {
		return err
	}
	return c.writeRaw(http.StatusOK, withEntries(encode(struct {
		Head int64  `json:"head"`
		Next string `json:"next,omitempty"`
		Prev string `json:"prev,omitempty"`
	}{page.Head, page.Next, page.Prev}), "entries", page.Entries))
}

// window writes a request body that is ready to send. Headers have the head, the number of changes
// and the failed rules.
func (a *api) window(c *call) error {
	var in struct {
		Base  json.RawMessage `json:"base"`
		Model string          `json:"model"`
		Head  int64           `json:"head"`
		Limits
	}
	if err := c.read(&in); err != nil {
		return err
	}
	ask := store.WindowOptions{Policy: a.options.Policy, Base: in.Base, Model: in.Model, Head: in.Head}
	if string(in.Base) == "null" {
		ask.Base = nil
	}
	if in.Head < 0 {
		return fmt.Errorf("%w: head is %d", errBody, in.Head)
	}
	var err error
	if ask.Policy, err = in.Limits.Apply(ask.Policy); err != nil {
		return err
	}
	w, err := a.store.Window(c.request.Context(), c.key, ask)
	if err != nil {
		return err
	}
	h := c.response.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Pare-Head", strconv.FormatInt(w.Head, 10))
	h.Set("Pare-Changes", strconv.Itoa(len(w.Plan.Changes())))
	for _, f := range w.Plan.Faults() {
		h.Add("Pare-Faults", f.Part)
		// Log each rule once, not with every window.
		if _, named := a.loggedFaults.LoadOrStore(f.Part, true); !named {
			c.log.Error(f.Part+" failed, and is left out", "error", f.Err)
		}
	}
	_, err = c.response.Write(w.Body)
	return err
}

func (a *api) compact(c *call) error {
	var in struct {
		MinKeep int `json:"min_keep"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if in.MinKeep < 0 {
		return fmt.Errorf("%w: min_keep is %d", errBody, in.MinKeep)
	}
	compactor := &pare.Compactor{Memory: a.store.Memory()}
	if b := a.options.Compactor; b != nil {
		compactor = &pare.Compactor{
			Summarize: b.Summarize, MinKeep: b.MinKeep, Inside: b.Inside, Above: b.Above, MaxTokens: b.MaxTokens,
			Timeout: b.Timeout, Memory: compactor.Memory, Options: b.Options,
		}
	}
	if in.MinKeep > 0 {
		compactor.MinKeep = in.MinKeep
	}
	compaction, err := a.store.Compact(c.request.Context(), c.key, compactor)
	if err != nil {
		return err
	}
	return c.compaction(compaction)
}

func (c *call) compaction(compaction *store.Compaction) error {
	raw := []byte("null")
	if compaction != nil {
		var err error
		if raw, err = compaction.Encode(); err != nil {
			return err
		}
	}
	return c.writeRaw(http.StatusOK, slices.Concat([]byte(`{"compaction":`), raw, []byte{'}'}))
}

func (a *api) swap(c *call) error {
	var in struct {
		Upto     textID            `json:"upto"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	messages := make([][]byte, len(in.Messages))
	for i, m := range in.Messages {
		messages[i] = m
	}
	compaction, err := a.store.AcceptCompaction(c.request.Context(), c.key, string(in.Upto), messages...)
	if err != nil {
		return err
	}
	return c.compaction(compaction)
}

func (a *api) revert(c *call) error {
	var in struct {
		Head  headJSON `json:"head"`
		To    *textID  `json:"to"`
		Turns int      `json:"turns"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	head, err := in.Head.head()
	if err != nil {
		return err
	}
	var n int
	switch {
	case in.To != nil && in.Turns != 0, in.To == nil && in.Turns <= 0:
		return fmt.Errorf("%w: give either to, the id of an entry, or turns", errBody)
	case in.To != nil:
		n, err = a.store.Revert(c.request.Context(), c.key, head, string(*in.To))
	default:
		n, err = a.store.RevertTurns(c.request.Context(), c.key, head, in.Turns)
	}
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"messages": n})
}

func (a *api) undo(c *call) error {
	kind, err := a.store.Undo(c.request.Context(), c.key)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"undone": kind})
}

func (a *api) fork(c *call) error {
	var in struct {
		ID textID `json:"id"`
		At textID `json:"at"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if in.ID == "" {
		in.ID = textID(store.NewID())
	}
	session, err := a.store.Fork(c.request.Context(), c.key, string(in.At), store.Key{Scope: c.key.Scope, ID: string(in.ID)})
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, session)
}

func (a *api) merge(c *call) error {
	var in struct {
		From textID `json:"from"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if in.From == "" {
		return fmt.Errorf("%w: from is missing: it is the id of a session", errBody)
	}
	n, err := a.store.Merge(c.request.Context(), store.Key{Scope: c.key.Scope, ID: string(in.From)}, c.key)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"entries": n})
}

func (a *api) search(c *call) error {
	limit, err := c.intParameter("limit")
	if err != nil {
		return err
	}
	hits, err := a.store.Search(c.request.Context(), c.key, c.parameter("q"), min(limit, 1000))
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"hits": nonNil(hits)})
}

func (a *api) about(c *call) error {
	limit, err := c.intParameter("limit")
	if err != nil {
		return err
	}
	hits, err := a.store.SearchRanked(c.request.Context(), c.key.Scope, c.parameter("q"), min(limit, 100))
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"hits": nonNil(hits)})
}

func (a *api) recall(c *call) error {
	raw, err := a.store.Recall(c.request.Context(), c.key.Scope, c.request.PathValue("handle"))
	if err != nil {
		return err
	}
	c.response.Header().Set("Content-Type", "application/json")
	_, err = c.response.Write(raw)
	return err
}
