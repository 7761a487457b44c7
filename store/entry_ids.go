package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// newRows returns the rows that are not in the session yet. It modifies the others: they get the
// fields that the store has set.
func (s *Store) newRows(ctx context.Context, t *tx, session *Session, rows []*row) (fresh []*row, err error) {
	ids := make([]string, len(rows))
	seen := make(map[string]bool, len(rows))
	for i := range rows {
		if ids[i] = rows[i].ID; seen[ids[i]] {
			return nil, &EntryError{i, ids[i], errors.New("the id stands twice in one append")}
		}
		seen[ids[i]] = true
	}
	there, err := s.findByIDs(ctx, t, session, ids)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := rows[i]
		old, ok := there[r.ID]
		switch {
		case !ok:
			fresh = append(fresh, r)
			continue
		case !bytes.Equal(old.sum, r.sum[:]):
			return nil, &DuplicateError{Key: session.Key, ID: r.ID, Seq: old.Seq}
		case !session.state.visible(old.Seq):
			return nil, &DuplicateError{Key: session.Key, ID: r.ID, Seq: old.Seq, Reverted: true}
		}
		r.Seq, r.At, r.Calls, r.Answers = old.Seq, old.At, old.Calls, old.Answers
	}
	return fresh, nil
}

// idsPerQuery is the number of ids in the larger query. Marks are joined as values: with a list in
// a condition, a database without statistics would scan the whole session.
const idsPerQuery = 64

var (
	lookUpOneID   = idsQuery(1)
	lookUpManyIDs = idsQuery(idsPerQuery)
)

func idsQuery(n int) string {
	marks := strings.Repeat(`, (CAST(? AS BIGINT), CAST(? AS BIGINT))`, n-1)
	return `WITH v (sid, mark) AS (VALUES (CAST(? AS BIGINT), CAST(? AS BIGINT))` + marks + `)
		SELECT v.sid, v.mark, (SELECT seq FROM marks WHERE marks.sid = v.sid AND marks.mark = v.mark ORDER BY seq LIMIT 1) FROM v`
}

// findByIDs finds entries by id, including reverted ones.
func (s *Store) findByIDs(ctx context.Context, t *tx, session *Session, ids []string) (map[string]entryInfo, error) {
	found := make(map[string]entryInfo)
	wanted := make(map[int64][]string, len(ids))
	for _, id := range ids {
		m := markID(id)
		wanted[m] = append(wanted[m], id)
	}
	// The tail needs no query.
	last, err := s.loadTail(ctx, t, session)
	if err != nil {
		return nil, err
	}
	seqs := make(map[int64][]int64)
	for _, m := range last {
		if m.seq <= session.Head && wanted[m.mark] != nil {
			seqs[session.sid] = append(seqs[session.sid], m.seq)
		}
	}
	var pairs []any
	if session.settled >= session.state.firstOwnSeq() {
		for _, id := range ids {
			pairs = append(pairs, session.sid, markID(id))
		}
	}
	for _, p := range session.state.Lineage {
		for _, id := range ids {
			pairs = append(pairs, p.SID, markID(id))
		}
	}
	hits, err := t.lookUpMarks(ctx, pairs, seqs)
	if err != nil {
		return nil, err
	}
	keep := func(sid int64, list []int64) error {
		all, err := s.readEntryInfos(ctx, t, session, sid, list)
		for _, e := range all {
			// Entries after the shared ones do not belong to the session.
			if session.owner(e.Seq) == sid && e.Seq <= session.Head && slices.Contains(wanted[markID(e.ID)], e.ID) {
				found[e.ID] = e
			}
		}
		return err
	}
	for sid, list := range seqs {
		if err := keep(sid, list); err != nil {
			return nil, err
		}
	}
	for _, hit := range hits {
		sid, mark := hit[0], hit[1]
		if !slices.ContainsFunc(wanted[mark], func(id string) bool { _, ok := found[id]; return !ok }) {
			continue
		}
		// Another id has the same mark.
		same, err := s.findMarkedIn(ctx, t, session, mark, entryRange{sid, 1, session.Head}, false, allEntries)
		if err != nil {
			return nil, err
		}
		if err := keep(sid, same); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// lookUpMarks looks up pairs of an owner and a mark. It adds the entries to seqs, by owner, and
// returns the pairs that exist.
func (t *tx) lookUpMarks(ctx context.Context, pairs []any, seqs map[int64][]int64) (hits [][2]int64, err error) {
	for len(pairs) > 0 {
		query, n := lookUpOneID, 1
		// Only two different statements are used. The last pair is repeated to fill the larger one.
		if len(pairs) > 2 {
			query, n = lookUpManyIDs, idsPerQuery
		}
		list := slices.Clone(pairs[:min(2*n, len(pairs))])
		pairs = pairs[len(list):]
		for len(list) < 2*n {
			list = append(list, list[len(list)-2], list[len(list)-1])
		}
		err = t.each(ctx, func(scan func(...any) error) error {
			var (
				sid, mark int64
				seq       sql.NullInt64
			)
			if err := scan(&sid, &mark, &seq); err != nil || !seq.Valid {
				return err
			}
			seqs[sid] = append(seqs[sid], seq.Int64)
			hits = append(hits, [2]int64{sid, mark})
			return nil
		}, query, list...)
		if err != nil {
			return nil, err
		}
	}
	return hits, nil
}

// findByID finds an entry by id, including reverted ones. The number is 0 if there is none.
func (s *Store) findByID(ctx context.Context, t *tx, session *Session, id string) (seq int64, sum []byte, err error) {
	found, err := s.findByIDs(ctx, t, session, []string{id})
	return found[id].Seq, found[id].sum, err
}
