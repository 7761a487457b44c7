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

// Markers of the provider's cache are no part of a history: clients put them behind the newest
// messages and take them off the older ones, request by request. So messages are kept without
// them, and the markers beside the session, as the last request had them: what was sent last
// comes back byte for byte.

// A mark is bytes that were taken out of a message.
type cacheMarker struct {
	ID   string `json:"id"` // of the entry
	At   int    `json:"at"` // in what is left
	Text string `json:"text"`
}

// unmarked takes the markers of the cache out of a message: members of the message and of its
// blocks, or blocks of their own.
func removeCacheMarkers(raw []byte) ([]byte, []cacheMarker) {
	if !bytes.Contains(raw, []byte("cache")) {
		return raw, nil
	}
	isMark := func(m jsonspan.Member) bool { return jsonspan.Says(raw, m.Key, "cache_control") }
	whole := jsonspan.Span{End: len(raw)}
	edits := jsonspan.RemoveMembers(jsonspan.Members(raw, whole), isMark)
	if content, ok := jsonspan.Find(raw, whole, "content"); ok && raw[content.Value.Start] == '[' {
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

// encodeMarks writes the markers of a request.
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

// remark puts the markers of the last request back into entries of a session, if it is one that
// a proxy has seen.
func (s *Store) restoreCacheMarkers(ctx context.Context, t *tx, session *Session, all []Entry) error {
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
	for i := range all {
		if own := edits[all[i].ID]; own != nil && all[i].Kind == KindMessage && !all[i].Gone && all[i].Damaged == "" {
			if all[i].Raw, err = jsonspan.Splice(all[i].Raw, own); err != nil {
				return &CorruptError{session.Key, all[i].Seq, "its markers do not fit: " + err.Error()}
			}
		}
	}
	return nil
}
