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
		ID      name            `json:"id"`
		Path    name            `json:"path"`
		Dialect string          `json:"dialect"`
		Model   string          `json:"model"`
		Title   string          `json:"title"`
		Base    json.RawMessage `json:"base"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if in.ID == "" {
		in.ID = name(store.NewID())
	}
	session, err := a.st.Create(c.q.Context(), store.Key{Scope: c.key.Scope, ID: string(in.ID), Path: string(in.Path)},
		store.Create{Dialect: in.Dialect, Model: in.Model, Title: in.Title, Base: in.Base})
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, session)
}

func (a *api) list(c *call) error {
	limit, err := c.number("limit")
	if err != nil {
		return err
	}
	var before *store.Session
	if id := c.get("before"); id != "" {
		if before, err = a.st.Session(c.q.Context(), store.Key{Scope: c.key.Scope, ID: id}); err != nil {
			return err
		}
	}
	all, err := a.st.Sessions(c.q.Context(), c.key.Scope, min(limit, 1000), before)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"sessions": some(all)})
}

// some returns an empty list for nil.
func some[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func (a *api) get(c *call) error {
	session, err := a.st.Session(c.q.Context(), c.key)
	if err != nil {
		return err
	}
	full, err := a.st.Fullness(c.q.Context(), c.key, a.o.CompactAbove)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, struct {
		*store.Session
		Fullness *fullness.Outlook `json:"fullness,omitempty"`
	}{session, full})
}

func (a *api) paths(c *call) error {
	all, err := a.st.Paths(c.q.Context(), c.key)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"sessions": some(all)})
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
	if err := a.st.Update(c.q.Context(), c.key, store.Update{Model: in.Model, Title: in.Title, Base: in.Base, Settings: in.Settings}); err != nil {
		return err
	}
	return a.get(c)
}

func (a *api) remove(c *call) error {
	if err := a.st.Delete(c.q.Context(), c.key); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
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
	done, err := a.st.Append(c.q.Context(), c.key, head, list...)
	if err != nil {
		return err
	}
	return c.writeRaw(http.StatusOK, withEntries(encode(struct {
		Head     int64 `json:"head"`
		Replayed int   `json:"replayed"`
	}{done.Head, done.Replayed}), "entries", done.Entries))
}

func (a *api) page(c *call) error {
	limit, err := c.number("limit")
	if err != nil {
		return err
	}
	last, err := c.on("last")
	if err != nil {
		return err
	}
	if c.get("after") != "" && c.get("before") != "" {
		return fmt.Errorf("%w: after and before exclude each other", errBody)
	}
	page, err := a.st.Page(c.q.Context(), c.key, store.Page{After: c.get("after"), Before: c.get("before"), Last: last, Limit: min(limit, 10_000)})
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
	ask := store.WindowOptions{Policy: a.o.Policy, Base: in.Base, Model: in.Model, Head: in.Head}
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
	w, err := a.st.Window(c.q.Context(), c.key, ask)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Pare-Head", strconv.FormatInt(w.Head, 10))
	h.Set("Pare-Changes", strconv.Itoa(len(w.Plan.Changes())))
	for _, f := range w.Plan.Faults() {
		h.Add("Pare-Faults", f.Part)
		// Log each rule once, not with every window.
		if _, named := a.faults.LoadOrStore(f.Part, true); !named {
			c.log.Error(f.Part+" failed, and is left out", "error", f.Err)
		}
	}
	_, err = c.w.Write(w.Body)
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
	by := &pare.Compactor{Memory: a.st.Memory()}
	if b := a.o.Compactor; b != nil {
		by = &pare.Compactor{
			Summarize: b.Summarize, MinKeep: b.MinKeep, Inside: b.Inside, Above: b.Above, MaxTokens: b.MaxTokens,
			Timeout: b.Timeout, Memory: by.Memory, Options: b.Options,
		}
	}
	if in.MinKeep > 0 {
		by.MinKeep = in.MinKeep
	}
	made, err := a.st.Compact(c.q.Context(), c.key, by)
	if err != nil {
		return err
	}
	return c.compaction(made)
}

func (c *call) compaction(made *store.Compaction) error {
	raw := []byte("null")
	if made != nil {
		var err error
		if raw, err = made.Encode(); err != nil {
			return err
		}
	}
	return c.writeRaw(http.StatusOK, slices.Concat([]byte(`{"compaction":`), raw, []byte{'}'}))
}

func (a *api) swap(c *call) error {
	var in struct {
		Upto     name              `json:"upto"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	messages := make([][]byte, len(in.Messages))
	for i, m := range in.Messages {
		messages[i] = m
	}
	made, err := a.st.AcceptCompaction(c.q.Context(), c.key, string(in.Upto), messages...)
	if err != nil {
		return err
	}
	return c.compaction(made)
}

func (a *api) revert(c *call) error {
	var in struct {
		Head  headJSON `json:"head"`
		To    *name    `json:"to"`
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
		n, err = a.st.Revert(c.q.Context(), c.key, head, string(*in.To))
	default:
		n, err = a.st.RevertTurns(c.q.Context(), c.key, head, in.Turns)
	}
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"messages": n})
}

func (a *api) undo(c *call) error {
	kind, err := a.st.Undo(c.q.Context(), c.key)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"undone": kind})
}

func (a *api) fork(c *call) error {
	var in struct {
		ID name `json:"id"`
		At name `json:"at"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if in.ID == "" {
		in.ID = name(store.NewID())
	}
	session, err := a.st.Fork(c.q.Context(), c.key, string(in.At), store.Key{Scope: c.key.Scope, ID: string(in.ID)})
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, session)
}

func (a *api) merge(c *call) error {
	var in struct {
		From name `json:"from"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if in.From == "" {
		return fmt.Errorf("%w: from is missing: it is the id of a session", errBody)
	}
	n, err := a.st.Merge(c.q.Context(), store.Key{Scope: c.key.Scope, ID: string(in.From)}, c.key)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"entries": n})
}

func (a *api) search(c *call) error {
	limit, err := c.number("limit")
	if err != nil {
		return err
	}
	hits, err := a.st.Search(c.q.Context(), c.key, c.get("q"), min(limit, 1000))
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"hits": some(hits)})
}

func (a *api) about(c *call) error {
	limit, err := c.number("limit")
	if err != nil {
		return err
	}
	hits, err := a.st.SearchRanked(c.q.Context(), c.key.Scope, c.get("q"), min(limit, 100))
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"hits": some(hits)})
}

func (a *api) recall(c *call) error {
	raw, err := a.st.Recall(c.q.Context(), c.key.Scope, c.q.PathValue("handle"))
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	_, err = c.w.Write(raw)
	return err
}
