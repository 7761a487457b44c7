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

// forgets reports whether a session is one of a scope in which originals are let go of.
func forgets(key store.Key) bool { return strings.HasPrefix(key.Scope, "forgetful") }

// ready makes the sessions of a run, on a store without faults.
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

// A log is a session that one writer has for itself: every list of ids that may be in force,
// after all that it was told.
type log struct {
	key      store.Key
	possible []logState
}

// A logState is what may be in force, and what an undo would bring back.
type logState struct {
	ids    []string
	before [][]string // nil: something was appended behind that revert
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

// change is one step of a writer that changes a session instead of appending to it.
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
		r.about(key)
	default:
		r.steps(own, chance, id)
	}
	r.mu.Lock()
	r.ops++
	r.mu.Unlock()
}

// compact puts a summary in the place of a beginning; what it stands for can be recalled.
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

// collect lets go of originals in one scope, and of receipts in the other.
func (r *faultRun) collect() {
	r.st.Collect(ctx, r.keys[len(r.keys)-1].Scope, store.Retention{Originals: 1})
	r.st.Collect(ctx, r.keys[0].Scope, store.Retention{Receipts: 1})
}

// about asks what sessions say: an answer is about sessions that are there.
func (r *faultRun) about(key store.Key) {
	hits, err := r.st.SearchRanked(ctx, key.Scope, "out", 3)
	for _, h := range hits {
		if err == nil && h.Key.Scope != key.Scope {
			r.t.Errorf("a question in scope %q was answered from %s", key.Scope, h.Key)
		}
	}
}

// deleteFork makes a session of another one and deletes it.
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

// steps appends to a session that is one writer's alone, reverts and undoes.
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

// judgeChanges looks at what was changed, in a store that works.
func (r *faultRun) judgeChanges(st *store.Store) {
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

// judgeForgetful looks at the session that may lose its beginning, and nothing else, once it was
// compacted.
func (r *faultRun) judgeForgetful(st *store.Store, key store.Key) {
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
		// A message that is not there is in front of all that are, and a summary stands for it.
		if has < len(l.ids) && l.acked && (has > 0 || len(ids) == 0 || !strings.HasPrefix(ids[0], "pare-")) && !r.stands(st, key) {
			r.t.Errorf("of %v in %s, which were acknowledged, %d are there, and no summary", l.ids, key, has)
		}
	}
}

// stands reports whether a session's window begins with the summary.
func (r *faultRun) stands(st *store.Store, key store.Key) bool {
	w, err := st.Window(ctx, key, store.WindowOptions{})
	return err == nil && strings.Contains(string(w.Body), "what went before")
}

// commands lists the numbers of the store's own entries.
func commands(t *testing.T, st *store.Store, key store.Key) (all []int64) {
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
