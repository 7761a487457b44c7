package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare"

	"github.com/pare-llm/pare/internal/fullness"
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
		in.ID = name(NewID())
	}
	x, err := a.s.Create(c.q.Context(), Key{c.key.Scope, string(in.ID), string(in.Path)}, Create{in.Dialect, in.Model, in.Title, in.Base})
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, x)
}

func (a *api) list(c *call) error {
	limit, err := c.number("limit")
	if err != nil {
		return err
	}
	var before *Session
	if id := c.get("before"); id != "" {
		if before, err = a.s.Session(c.q.Context(), Key{c.key.Scope, id, ""}); err != nil {
			return err
		}
	}
	all, err := a.s.Sessions(c.q.Context(), c.key.Scope, min(limit, 1000), before)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"sessions": some(all)})
}

// some is an empty list in the place of none.
func some[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func (a *api) get(c *call) error {
	x, err := a.s.Session(c.q.Context(), c.key)
	if err != nil {
		return err
	}
	full, err := a.s.fullness(c.q.Context(), c.key, a.o.CompactAbove)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, struct {
		*Session
		Fullness *fullness.Outlook `json:"fullness,omitempty"`
	}{x, full})
}

func (a *api) paths(c *call) error {
	all, err := a.s.Paths(c.q.Context(), c.key)
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
	if err := a.s.Update(c.q.Context(), c.key, Update{in.Model, in.Title, in.Base, in.Settings}); err != nil {
		return err
	}
	return a.get(c)
}

func (a *api) remove(c *call) error {
	if err := a.s.Delete(c.q.Context(), c.key); err != nil {
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
	list := make([]Entry, len(in.Entries))
	for i, e := range in.Entries {
		if len(e.Raw) == 0 {
			return &EntryError{i, string(e.ID), errors.New("raw is missing: it is the message, as JSON")}
		}
		list[i] = Entry{ID: string(e.ID), Kind: e.Kind, Raw: e.Raw}
	}
	done, err := a.s.Append(c.q.Context(), c.key, head, list...)
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
	page, err := a.s.Page(c.q.Context(), c.key, Page{After: c.get("after"), Before: c.get("before"), Last: last, Limit: min(limit, 10_000)})
	if err != nil {
		return err
	}
	return c.writeRaw(http.StatusOK, withEntries(encode(struct {
		Head int64  `json:"head"`
		Next string `json:"next,omitempty"`
		Prev string `json:"prev,omitempty"`
	}{page.Head, page.Next, page.Prev}), "entries", page.Entries))
}

// window answers with a body that is ready to send, and headers that tell what was done.
func (a *api) window(c *call) error {
	var in struct {
		Base  json.RawMessage `json:"base"`
		Model string          `json:"model"`
		Head  int64           `json:"head"`
		limits
	}
	if err := c.read(&in); err != nil {
		return err
	}
	ask := WindowOptions{Policy: a.o.Policy, Base: in.Base, Model: in.Model, Head: in.Head}
	if string(in.Base) == "null" {
		ask.Base = nil
	}
	if in.Head < 0 {
		return fmt.Errorf("%w: head is %d", errBody, in.Head)
	}
	var err error
	if ask.Policy, err = in.limits.of(ask.Policy); err != nil {
		return err
	}
	w, err := a.s.Window(c.q.Context(), c.key, ask)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Pare-Head", strconv.FormatInt(w.Head, 10))
	h.Set("Pare-Changes", strconv.Itoa(len(w.Plan.Changes())))
	for _, f := range w.Plan.Faults() {
		h.Add("Pare-Faults", f.Part)
		if _, named := a.faults.LoadOrStore(f.Part, true); !named { // not at every window
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
	by := &pare.Compactor{Memory: a.s.memory()}
	if b := a.o.Compactor; b != nil {
		by = &pare.Compactor{
			Summarize: b.Summarize, MinKeep: b.MinKeep, Inside: b.Inside, Above: b.Above, MaxTokens: b.MaxTokens,
			Timeout: b.Timeout, Memory: by.Memory, Options: b.Options,
		}
	}
	if in.MinKeep > 0 {
		by.MinKeep = in.MinKeep
	}
	made, err := a.s.Compact(c.q.Context(), c.key, by)
	if err != nil {
		return err
	}
	return c.compaction(made)
}

func (c *call) compaction(made *Compaction) error {
	raw := []byte("null")
	if made != nil {
		var err error
		if raw, err = made.encode(); err != nil {
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
	made, err := a.s.AcceptCompaction(c.q.Context(), c.key, string(in.Upto), messages...)
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
		n, err = a.s.Revert(c.q.Context(), c.key, head, string(*in.To))
	default:
		n, err = a.s.RevertTurns(c.q.Context(), c.key, head, in.Turns)
	}
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"messages": n})
}

func (a *api) undo(c *call) error {
	kind, err := a.s.Undo(c.q.Context(), c.key)
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
		in.ID = name(NewID())
	}
	x, err := a.s.Fork(c.q.Context(), c.key, string(in.At), Key{c.key.Scope, string(in.ID), ""})
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, x)
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
	n, err := a.s.Merge(c.q.Context(), Key{c.key.Scope, string(in.From), ""}, c.key)
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
	hits, err := a.s.Search(c.q.Context(), c.key, c.get("q"), min(limit, 1000))
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
	hits, err := a.s.About(c.q.Context(), c.key.Scope, c.get("q"), min(limit, 100))
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, map[string]any{"hits": some(hits)})
}

func (a *api) recall(c *call) error {
	raw, err := a.s.Recall(c.q.Context(), c.key.Scope, c.q.PathValue("handle"))
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	_, err = c.w.Write(raw)
	return err
}

// look is how often the database is asked for what other processes appended.
const look = 300 * time.Millisecond

// events streams what is appended, reverted and compacted, from an entry on: a line
// "id" with the number of the entry, by which a client that comes back goes on.
func (a *api) events(c *call) error {
	x, err := a.s.Session(c.q.Context(), c.key)
	if err != nil {
		return err
	}
	at := x.Head
	for _, from := range []string{c.get("from"), c.q.Header.Get("Last-Event-ID")} {
		if from == "" {
			continue
		}
		if at, err = strconv.ParseInt(from, 10, 64); err != nil || at < 0 || at > x.Head {
			return fmt.Errorf("%w: from is %q: the number of an entry is expected", errBody, from)
		}
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(c.w)
	flush.Flush()
	changed, done := a.s.watch.add(x.sid)
	defer done()
	beat := time.NewTicker(look)
	defer beat.Stop()
	for quiet := 0; ; quiet++ {
		all, err := a.s.since(c.q.Context(), c.key, at)
		if err != nil {
			if errors.Is(err, ErrDeleted) {
				data := encode(pare.Event{Type: eventDeleted, Metadata: EventData{Session: c.key}})
				fmt.Fprintf(c.w, "event: %s\ndata: %s\n\n", eventDeleted, data)
			}
			return nil // the stream has begun: it ends
		}
		for _, e := range all {
			data := fmt.Sprintf(`{"type":%q,"metadata":%s}`, eventOf(e.Kind), encodeEntry(e))
			fmt.Fprintf(c.w, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, eventOf(e.Kind), newlines.Replace(data))
			at, quiet = e.Seq, 0
		}
		if quiet >= 50 { // a sign of life, so that nothing between takes the stream for dead
			fmt.Fprint(c.w, ": still here\n\n")
			quiet = 0
		}
		if err := flush.Flush(); err != nil {
			return nil
		}
		select {
		case <-c.q.Context().Done():
			return nil
		case <-changed:
		case <-beat.C:
		}
	}
}

// newlines would end a line of data; outside of JSON's strings they mean nothing, and
// inside there are none.
var newlines = strings.NewReplacer("\n", " ", "\r", " ")

// eventOf is the event that an entry tells of.
func eventOf(k Kind) string {
	switch k {
	case KindRevert:
		return eventReverted
	case KindUndo:
		return eventUndone
	case KindCompaction:
		return "compaction_completed"
	}
	return eventAppended
}
