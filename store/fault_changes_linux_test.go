package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

// Changes of sessions under faults: they are compacted, reverted, deleted, collected. A call that
// was not acknowledged may have been done or not, but not by half.

// forgets reports whether the originals of a session are collected.
func forgets(key store.Key) bool { return strings.HasPrefix(key.Scope, "forgetful") }

// ready creates the sessions of a run in a store without faults.
func (r *faultRun) ready(st *store.Store, n int) {
	for _, name := range []string{"a", "b", "c"} {
		r.keys = append(r.keys, store.Key{Scope: fmt.Sprint("run", n), ID: name})
	}
	r.keys = append(r.keys, store.Key{Scope: fmt.Sprint("forgetful", n), ID: "d"})
	for w := range 4 {
		r.own = append(r.own, log{key: store.Key{Scope: fmt.Sprint("run", n), ID: fmt.Sprint("own", w)}, possible: []logState{{}}})
	}
	for _, key := range slices.Concat(r.keys, keysOf(r.own)) {
		if _, err := st.Create(ctx, key, anthropic); err != nil {
			r.t.Fatal(err)
		}
	}
}

func keysOf(logs []log) (all []store.Key) {
	for _, l := range logs {
		all = append(all, l.key)
	}
	return all
}

// A log is the expected content of a session with one writer: every list of ids that may be in
// force.
type log struct {
	key      store.Key
	possible []logState
}

// A logState is a possible list of ids in force, with the lists that an undo would restore.
type logState struct {
	ids    []string
	before [][]string // nil: appended after the revert
}

func (l *log) apply(acked bool, f func(logState) logState) {
	next := []logState{}
	for _, s := range l.possible {
		next = append(next, f(s))
		if !acked {
			next = append(next, s)
		}
	}
	l.possible = next
}

// change is one step of a writer that changes a session without appending to it.
func (r *faultRun) change(own *log, chance *rand.Rand, id string) {
	key := r.keys[chance.IntN(len(r.keys))]
	switch chance.IntN(6) {
	case 0:
		r.compact(key)
	case 1:
		r.collect()
	case 2:
		r.deleteFork(key, store.ID("doomed-"+id))
	case 3:
		r.searchAll(key)
	default:
		r.steps(own, chance, id)
	}
	r.mu.Lock()
	r.ops++
	r.mu.Unlock()
}

// compact compacts a session and checks that its messages can be recalled.
func (r *faultRun) compact(key store.Key) {
	c, err := r.st.Compact(ctx, key, &pare.Compactor{MinKeep: 2, Summarize: says("what went before")})
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) {
		r.t.Errorf("compact %s: %v", key, err)
	}
	if err == nil && c != nil && !forgets(key) {
		r.mu.Lock()
		r.compacted = append(r.compacted, acknowledged{key, c})
		r.mu.Unlock()
	}
}

// An acknowledged compaction.
type acknowledged struct {
	key store.Key
	*store.Compaction
}

// collect collects originals in one scope and receipts in the other.
func (r *faultRun) collect() {
	r.st.Collect(ctx, r.keys[len(r.keys)-1].Scope, store.Retention{Originals: 1})
	r.st.Collect(ctx, r.keys[0].Scope, store.Retention{Receipts: 1})
}

// searchAll searches sessions and checks that all hits exist.
func (r *faultRun) searchAll(key store.Key) {
	hits, err := r.st.SearchRanked(ctx, key.Scope, "out", 3)
	for _, h := range hits {
		if err == nil && h.Key.Scope != key.Scope {
			r.t.Errorf("a question in scope %q was answered from %s", key.Scope, h.Key)
		}
	}
}

// deleteFork creates a fork and deletes it.
func (r *faultRun) deleteFork(of, key store.Key) {
	key.Scope = of.Scope
	r.fork(of, key)
	err := r.st.Delete(ctx, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.forks[key]
	f.doomed, f.deleted = true, err == nil
	r.forks[key] = f
}

// steps appends to a session with a single writer, reverts and undoes.
func (r *faultRun) steps(own *log, chance *rand.Rand, id string) {
	for i := range 4 {
		switch list := own.possible[0].ids; {
		case chance.IntN(2) == 0 || len(list) == 0:
			id := fmt.Sprintf("%s-%d", id, i)
			_, err := r.st.Append(ctx, own.key, store.Anywhere, store.Message(id, user(id)))
			own.apply(err == nil, func(s logState) logState {
				return logState{append(slices.Clone(s.ids), id), append(slices.Clone(s.before[:0]), make([][]string, len(s.before))...)}
			})
		case chance.IntN(2) == 0:
			to := list[chance.IntN(len(list))]
			_, err := r.st.Revert(ctx, own.key, store.Anywhere, to)
			own.apply(err == nil, func(s logState) logState {
				at := slices.Index(s.ids, to)
				if at < 0 {
					return s
				}
				return logState{slices.Clone(s.ids[:at+1]), append(slices.Clone(s.before), s.ids)}
			})
		default:
			_, err := r.st.Undo(ctx, own.key)
			own.apply(err == nil, func(s logState) logState {
				last := len(s.before) - 1
				if last < 0 || s.before[last] == nil {
					return s
				}
				return logState{s.before[last], s.before[:last:last]}
			})
		}
	}
}

// verifyChanges verifies all changes in a store without faults.
func (r *faultRun) verifyChanges(st *store.Store) {
	t := r.t
	t.Helper()
	for i := range r.own {
		l := &r.own[i]
		ids, err := exported(st, l.key)
		if err != nil {
			t.Errorf("%s: %v", l.key, err)
		}
		if !slices.ContainsFunc(l.possible, func(s logState) bool { return slices.Equal(s.ids, ids) }) {
			t.Errorf("in force in %s are %v, which may be %v", l.key, ids, l.possible)
		}
	}
	for _, c := range r.compacted {
		raw, err := st.Recall(ctx, c.key.Scope, c.Archive)
		var list []json.RawMessage
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil || len(list) < c.Messages { // a summary before it is one more
			t.Errorf("the handle of a compaction of %s, which stands for %d messages, brings %d back: %v", c.key, c.Messages, len(list), err)
		}
	}
}

// verifyForgetful verifies a session that may lose its beginning after a compaction, and nothing
// else.
func (r *faultRun) verifyForgetful(st *store.Store, key store.Key) {
	ids, err := exported(st, key)
	if err != nil {
		r.t.Errorf("%s: %v", key, err)
	}
	for _, l := range r.lists {
		if l.key != key {
			continue
		}
		has := 0
		for _, id := range l.ids {
			if slices.Contains(ids, id) {
				has++
			}
		}
		// Missing messages precede all others, and a summary replaces them.
		if has < len(l.ids) && l.acked && (has > 0 || len(ids) == 0 || !strings.HasPrefix(ids[0], "pare-")) && !r.beginsWithSummary(st, key) {
			r.t.Errorf("of %v in %s, which were acknowledged, %d are there, and no summary", l.ids, key, has)
		}
	}
}

// beginsWithSummary reports whether the window of a session begins with a summary.
func (r *faultRun) beginsWithSummary(st *store.Store, key store.Key) bool {
	w, err := st.Window(ctx, key, store.WindowOptions{})
	return err == nil && strings.Contains(string(w.Body), "what went before")
}

// controlSeqs lists the numbers of the control entries.
func controlSeqs(t *testing.T, st *store.Store, key store.Key) (all []int64) {
	t.Helper()
	for after := ""; ; {
		page, err := st.Page(ctx, key, store.Page{After: after})
		if err != nil {
			t.Errorf("%s: %v", key, err)
			return all
		}
		for _, e := range page.Entries {
			if e.Kind == store.KindCompaction || e.Kind == store.KindRevert || e.Kind == store.KindUndo {
				all = append(all, e.Seq)
			}
		}
		if after = page.Next; after == "" {
			return all
		}
	}
}

// exported lists the ids in force.
func exported(st *store.Store, key store.Key) (all []string, err error) {
	err = st.Export(ctx, key, store.Export{All: true}, func(e store.Entry) error {
		all = append(all, e.ID)
		return nil
	})
	return all, err
}
