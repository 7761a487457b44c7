package store

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
)

// A Hit is an entry that contains the words of a search.
type Hit struct {
	Key     Key    `json:"key"`
	Seq     int64  `json:"seq"`
	ID      string `json:"id"`
	Snippet string `json:"snippet"`
	// Also are up to 20 other sessions of the scope that share the entry.
	Also []Key `json:"also,omitempty"`
	// Score is set by [Store.SearchRanked].
	Score float64 `json:"score,omitempty"`
}

// Search finds entries in force that contain all words, in one session, or in all sessions of a
// scope if the id of the key is empty. Words in quotes form a phrase. The newest entry of a session
// comes first, and the most recently changed session. A shared entry is found once, in the most
// recently changed session. Entries are indexed by the first search after they were appended.
func (s *Store) Search(ctx context.Context, key Key, text string, limit int) ([]Hit, error) {
	words := foldPhrases(splitQuery(text))
	if limit <= 0 {
		limit = 50
	}
	where, args := `scope = ? AND deleted_at IS NULL`, []any{key.Scope}
	if key.ID != "" {
		where, args = where+` AND id = ? AND path = ?`, append(args, key.ID, key.Path)
	}
	sessions, err := s.sessions(ctx, where+` ORDER BY updated_at DESC, sid DESC`, args...)
	if err != nil {
		return nil, err
	}
	if key.ID != "" && len(sessions) == 0 {
		_, err := s.Session(ctx, key)
		return nil, err
	}
	if len(words) == 0 {
		return nil, nil
	}
	if err := s.updateIndex(ctx, sessions); err != nil {
		return nil, err
	}
	return s.findHits(ctx, sessions, words, limit)
}

// splitQuery splits a query into words and quoted phrases.
func splitQuery(text string) (all []string) {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", " "), " ")
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}

// updateIndex indexes the entries since the last search, in small transactions.
func (s *Store) updateIndex(ctx context.Context, sessions []*Session) error {
	owners := make(map[int64]bool)
	for _, session := range sessions {
		for _, p := range session.state.Lineage {
			owners[p.SID] = true
		}
		owners[session.sid] = true
	}
	for sid := range owners {
		for more := true; more; {
			err := s.write(ctx, func(t *tx) (err error) {
				more, err = s.indexNext(ctx, t, sid)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) indexNext(ctx context.Context, t *tx, sid int64) (more bool, err error) {
	if err := s.engine.lock(ctx, t, `sid = ?`, sid); err != nil {
		return false, err
	}
	session, err := scanSession(t.row(ctx, `SELECT `+sessionColumns+` FROM sessions_now WHERE sid = ?`, sid).Scan)
	if err != nil || session.indexed >= session.Head {
		return false, err
	}
	var found []storedEntry
	to := min(session.indexed+200, session.Head)
	err = t.each(ctx, func(scan func(...any) error) error {
		e, err := session.scan(sid, scan)
		found = append(found, e)
		return err
	}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? AND kind IN ('message', 'reply') AND codec <> ? ORDER BY pos`, pos(sid, session.indexed+1), pos(sid, to), codecGone)
	if err != nil {
		return false, err
	}
	for i := range found {
		e := &found[i]
		if err := session.markDamaged(e, s.openWithoutMedia(ctx, t, session, e)); err != nil {
			return false, err
		}
		if err := s.engine.indexWords(ctx, t, sid, e.Seq, fold(textOf(session, e.Raw))); err != nil {
			return false, err
		}
	}
	_, err = t.exec(ctx, `UPDATE sessions SET indexed = ? WHERE sid = ?`, to, sid)
	return to < session.Head, err
}

// textOf returns the readable text of a message.
func textOf(session *Session, raw []byte) string {
	r, err := parseMessage(session, raw)
	if err != nil {
		return ""
	}
	var out strings.Builder
	for b, blk := range r.Transcript().Blocks() {
		if blk.Kind == transcript.Media || blk.Kind == transcript.Thinking {
			continue
		}
		out.WriteString(blk.Tool + " " + r.Text(transcript.BlockID(b)) + "\n")
	}
	return out.String()
}

func (s *Store) findHits(ctx context.Context, sessions []*Session, words []phrase, limit int) (hits []Hit, err error) {
	where, args := s.engine.searchCondition(words)
	all := groupByOwner(sessions)
	err = s.read(ctx, func(t *tx) error {
		type place struct{ sid, seq int64 }
		seen := make(map[place]bool)
		for _, session := range sessions {
			if len(hits) >= limit {
				return nil
			}
			for _, st := range slices.Backward(session.ranges(1, session.Head)) {
				var found []place
				err := t.each(ctx, func(scan func(...any) error) error {
					p := place{sid: st.owner}
					if err := scan(&p.seq); err != nil {
						return err
					}
					found = append(found, p)
					return nil
				}, `SELECT words.seq FROM words WHERE `+where+` AND words.sid = ? AND words.seq BETWEEN ? AND ? ORDER BY words.seq DESC LIMIT ?`,
					append(append([]any(nil), args...), st.owner, st.from, st.to, limit-len(hits)+len(seen))...)
				if err != nil {
					return err
				}
				for _, p := range found {
					if seen[p] {
						continue
					}
					if len(hits) >= limit {
						break
					}
					seen[p] = true
					e, err := s.entry(ctx, t, session, p.sid, p.seq)
					if err == nil {
						err = session.markDamaged(&e, s.openWithoutMedia(ctx, t, session, &e))
					}
					if err != nil {
						return err
					}
					if e.Kind == KindReply {
						if last, err := s.lastMessage(ctx, t, session); err != nil || e.Seq < last {
							if err != nil {
								return err
							}
							continue
						}
					}
					hits = append(hits, Hit{Key: session.Key, Seq: e.Seq, ID: e.ID, Snippet: snippet(textOf(session, e.Raw), words[0]), Also: all.others(session, p.sid, p.seq)})
				}
			}
		}
		return nil
	})
	return hits, err
}

// A sessionsByOwner lists the sessions that use entries of an owner.
type sessionsByOwner map[int64][]*Session

func groupByOwner(sessions []*Session) sessionsByOwner {
	all := make(sessionsByOwner)
	for _, session := range sessions {
		all[session.sid] = append(all[session.sid], session)
		for _, p := range session.state.Lineage {
			all[p.SID] = append(all[p.SID], session)
		}
	}
	return all
}

// holding returns the sessions in which an entry is in force.
func (h sessionsByOwner) holding(sid, seq int64) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, session := range h[sid] {
			if session.owner(seq) == sid && seq <= session.Head && session.state.visible(seq) && !yield(session) {
				return
			}
		}
	}
}

// others returns the keys of up to 20 sessions that share an entry, except one.
func (h sessionsByOwner) others(session *Session, sid, seq int64) (keys []Key) {
	for other := range h.holding(sid, seq) {
		if other != session && len(keys) < 20 {
			keys = append(keys, other.Key)
		}
	}
	return keys
}

// snippet returns the text around a phrase, on one line.
func snippet(text string, p phrase) string {
	word := p.text
	at := strings.Index(strings.ToLower(text), strings.ToLower(word))
	if at < 0 { // spelled differently
		at, word = 0, ""
		first, _, _ := strings.Cut(p.folded, " ")
		for w := range strings.FieldsSeq(text) {
			if slices.Contains(strings.Fields(fold(w)), first) {
				at, word = strings.Index(text, w), w
				break
			}
		}
	}
	from, to := max(at-60, 0), min(at+len(word)+60, len(text))
	if at > len(text) { // lower case may be longer
		from, to = 0, min(120, len(text))
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
}
