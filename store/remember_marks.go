package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A cacheMarker is a marker of the provider's prompt cache, removed from a message. Clients move
// these markers to the newest messages with every request, so messages are stored without them. The
// markers of the last request are stored with the session, which restores the last request byte for
// byte.
type cacheMarker struct {
	ID   string `json:"id"` // of the entry
	At   int    `json:"at"` // offset in the rest
	Text string `json:"text"`
}

// removeCacheMarkers removes cache markers from a message: members of the message or its blocks, or
// blocks of their own.
func removeCacheMarkers(raw []byte) ([]byte, []cacheMarker) {
	if !bytes.Contains(raw, []byte("cache")) {
		return raw, nil
	}
	isMark := func(m jsonspan.Member) bool { return jsonspan.Says(raw, m.Key, "cache_control") }
	message := jsonspan.Span{End: len(raw)}
	edits := jsonspan.RemoveMembers(jsonspan.Members(raw, message), isMark)
	if content, ok := jsonspan.Find(raw, message, "content"); ok && raw[content.Value.Start] == '[' {
		blocks := jsonspan.Elements(raw, content.Value)
		for i, b := range blocks {
			if raw[b.Start] != '{' {
				continue
			}
			all := jsonspan.Members(raw, b)
			switch {
			case len(all) == 1 && jsonspan.Says(raw, all[0].Key, "cachePoint") && i > 0:
				edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: blocks[i-1].End, End: b.End}})
			case len(all) > 1:
				edits = append(edits, jsonspan.RemoveMembers(all, isMark)...)
			}
		}
	}
	slices.SortFunc(edits, func(a, b jsonspan.Edit) int { return cmp.Compare(a.Start, b.Start) })
	if len(edits) == 0 {
		return raw, nil
	}
	var marks []cacheMarker
	gone := 0
	for _, e := range edits {
		marks = append(marks, cacheMarker{At: e.Start - gone, Text: string(raw[e.Start:e.End])})
		gone += e.Len()
	}
	out, err := jsonspan.Splice(raw, edits)
	if err != nil {
		return raw, nil
	}
	return out, marks
}

// encodeCacheMarkers returns the markers of a request.
func encodeCacheMarkers(links []chainedMessage) string {
	var all []cacheMarker
	for i := range links {
		for _, m := range links[i].marks {
			m.ID = links[i].id()
			all = append(all, m)
		}
	}
	if all == nil {
		return ""
	}
	return string(encode(all))
}

// restoreCacheMarkers inserts the markers of the last request into entries. It modifies the
// entries.
func (s *Store) restoreCacheMarkers(ctx context.Context, t *tx, session *Session, entries []Entry) error {
	var text string
	err := t.row(ctx, `SELECT marks FROM remembered WHERE sid = ?`, session.sid).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) || err == nil && text == "" {
		return nil
	}
	var marks []cacheMarker
	if err == nil {
		err = json.Unmarshal([]byte(text), &marks)
	}
	if err != nil {
		return err
	}
	edits := make(map[string][]jsonspan.Edit)
	for _, m := range marks {
		edits[m.ID] = append(edits[m.ID], jsonspan.Edit{Span: jsonspan.Span{Start: m.At, End: m.At}, New: []byte(m.Text)})
	}
	for i := range entries {
		if own := edits[entries[i].ID]; own != nil && entries[i].Kind == KindMessage && !entries[i].Gone && entries[i].Damaged == "" {
			if entries[i].Raw, err = jsonspan.Splice(entries[i].Raw, own); err != nil {
				return &CorruptError{session.Key, entries[i].Seq, "its markers do not fit: " + err.Error()}
			}
		}
	}
	return nil
}
