package storehttp

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

// keepAlive is the number of empty lists from [store.Store.Follow] after which the stream sends a
// comment, so that no proxy closes it as idle: about fifteen seconds.
const keepAlive = 50

// events streams the entries of a session as server-sent events. The id of an event is the number of
// its entry; a client that reconnects continues from Last-Event-ID.
func (a *api) events(c *call) error {
	session, err := a.store.Session(c.request.Context(), c.key)
	if err != nil {
		return err
	}
	after := session.Head
	for _, from := range []string{c.parameter("from"), c.request.Header.Get("Last-Event-ID")} {
		if from == "" {
			continue
		}
		if after, err = strconv.ParseInt(from, 10, 64); err != nil || after < 0 || after > session.Head {
			return fmt.Errorf("%w: from is %q: the number of an entry is expected", errBody, from)
		}
	}
	c.response.Header().Set("Content-Type", "text/event-stream")
	c.response.Header().Set("Cache-Control", "no-store")
	c.response.WriteHeader(http.StatusOK)
	response := http.NewResponseController(c.response)
	response.Flush()
	idle := 0
	for entries, err := range a.store.Follow(c.request.Context(), c.key, after) {
		if err != nil {
			if errors.Is(err, store.ErrDeleted) {
				data := encode(pare.Event{Type: "session_deleted", Metadata: store.EventData{Session: c.key}})
				fmt.Fprintf(c.response, "event: session_deleted\ndata: %s\n\n", data)
			}
			return nil // the status was sent
		}
		for _, e := range entries {
			data := fmt.Sprintf(`{"type":%q,"metadata":%s}`, eventType(e.Kind), encodeEntry(e))
			fmt.Fprintf(c.response, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, eventType(e.Kind), newlines.Replace(data))
		}
		idle++
		if len(entries) > 0 {
			idle = 0
		}
		if idle == keepAlive {
			fmt.Fprint(c.response, ": still here\n\n")
			idle = 0
		}
		if err := response.Flush(); err != nil {
			return nil
		}
	}
	return nil
}

// newlines removes line breaks from JSON, because they would end the data of an event. JSON has none
// inside of strings.
var newlines = strings.NewReplacer("\n", " ", "\r", " ")

// eventType returns the type of the event for an entry of a kind.
func eventType(k store.Kind) string {
	switch k {
	case store.KindRevert:
		return "session_reverted"
	case store.KindUndo:
		return "session_undone"
	case store.KindCompaction:
		return "compaction_completed"
	}
	return "entries_appended"
}
