package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/fault"
	"github.com/pare-llm/pare/store"
)

// A faultRun lets writers use a store with a failing disk or connection, and records their results.
type faultRun struct {
	t    *testing.T
	s    *fault.Source
	st   *store.Store
	keys []store.Key

	mu        sync.Mutex
	lists     []faultList
	forks     map[store.Key]fork
	compacted []acknowledged
	own       []log // by writer
	ops       int
	cancels   []context.CancelFunc // of the calls that are going on, by writer; nil: it is not given up on
}

// A fork is an attempted fork of a session.
type fork struct {
	of              store.Key
	acked           bool
	doomed, deleted bool // it was to be deleted, and was
}

// A faultList is the list of entries of one append.
type faultList struct {
	key   store.Key
	ids   []string
	raws  []string
	acked bool
}

// entries makes entries of buffers that are overwritten as soon as the call is over.
func (l *faultList) entries() (list []store.Entry, reuse func()) {
	var buffers [][]byte
	for i, id := range l.ids {
		raw := []byte(l.raws[i])
		buffers = append(buffers, raw)
		list = append(list, store.Message(id, raw))
	}
	return list, func() {
		for _, b := range buffers {
			for i := range b {
				b[i] = '#'
			}
		}
	}
}

// append appends a list. The call may be given up on at any point.
func (r *faultRun) append(ctx context.Context, l *faultList) error {
	list, reuse := l.entries()
	_, err := r.st.Append(ctx, l.key, store.Anywhere, list...)
	reuse()
	if err == nil {
		l.acked = true
	}
	var twice *store.DuplicateError
	var corrupt *store.CorruptError
	if errors.As(err, &twice) || errors.As(err, &corrupt) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDeleted) {
		r.t.Errorf("append %v: %v", l.ids, err)
	}
	return err
}

// write is one writer: it appends, repeats failed appends, and reads.
func (r *faultRun) write(w, n int) {
	chance := r.s.Rand(fmt.Sprint("writer ", w))
	for i := range n {
		l := faultList{key: r.keys[chance.IntN(len(r.keys))]}
		id := fmt.Sprintf("%s-%d-%d", l.key.ID, w, i)
		add := func(name string, raw []byte) {
			l.ids, l.raws = append(l.ids, id+name), append(l.raws, string(raw))
		}
		add("u", user(id+noise(chance, []int{20, 150, 1500}[chance.IntN(3)])))
		if chance.IntN(2) == 0 {
			add("c", call(id))
			add("r", result(id, strings.Repeat("out ", chance.IntN(1000))))
		}
		ctx, cancel := context.WithCancel(context.Background())
		if chance.IntN(2) == 0 {
			r.mayGiveUp(w, cancel)
		}
		for try := range 3 {
			if try > 0 {
				ctx = context.Background()
			}
			if err := r.append(ctx, &l); err == nil || chance.IntN(3) == 0 {
				break
			}
		}
		r.mayGiveUp(w, nil)
		cancel()
		switch chance.IntN(8) {
		case 0, 1:
			r.read(l.key)
		case 2:
			r.fork(l.key, store.Key{Scope: l.key.Scope, ID: "fork-" + id})
		case 3, 4, 5:
			r.change(&r.own[w], chance, id)
		}
		r.mu.Lock()
		r.lists = append(r.lists, l)
		r.ops++
		r.mu.Unlock()
	}
}

// read makes a window, which must be valid or an error.
func (r *faultRun) read(key store.Key) {
	w, err := r.st.Window(context.Background(), key, store.WindowOptions{})
	var corrupt *store.CorruptError
	switch {
	case errors.As(err, &corrupt):
		r.t.Errorf("window of %s: %v", key, err)
	case err == nil:
		clean(r.t, w.Body)
	}
	r.mu.Lock()
	r.ops++
	r.mu.Unlock()
}

// A fork is an attempted fork of a session.
func (r *faultRun) fork(from, to store.Key) {
	_, err := r.st.Fork(context.Background(), from, "", to)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forks == nil {
		r.forks = make(map[store.Key]fork)
	}
	r.forks[to] = fork{of: from, acked: err == nil}
	r.ops++
}

// verifyForks verifies that each fork is a prefix of its parent or missing.
func (r *faultRun) verifyForks(st *store.Store) {
	for key, f := range r.forks {
		whole, err := exported(st, f.of)
		if err != nil {
			r.t.Error(err)
		}
		part, err := exported(st, key)
		gone := errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDeleted)
		switch {
		case gone && (f.doomed || !f.acked):
		case f.deleted:
			r.t.Errorf("a fork of %s was deleted and has %v: %v", f.of, part, err)
		case err != nil:
			r.t.Errorf("fork of %s, which was acknowledged: %v: %v", f.of, f.acked, err)
		case forgets(f.of): // either of them may have lost its beginning
		case len(part) > len(whole) || !slices.Equal(part, whole[:len(part)]):
			r.t.Errorf("the fork of %v is %v", whole, part)
		}
	}
}

// faultClock is a clock that is sometimes wrong.
func faultClock(s *fault.Source) time.Time {
	now := time.Now()
	if s.Fails("clock") {
		return now.Add(time.Duration(s.Rand("clock").IntN(48)-24) * time.Hour)
	}
	return now
}

// arm lets calls be given up on at points that are passed. It comes before anybody uses the source.
func (r *faultRun) arm() {
	chance := r.s.Rand("cancel")
	at, every := chance.IntN(100), 1+chance.IntN(40)
	r.cancels = make([]context.CancelFunc, 4)
	r.s.OnCall(func(passed int) {
		if passed >= at && (passed-at)%every == 0 {
			r.giveUp(passed)
		}
	})
}

// run lets the writers work.
func (r *faultRun) run() {
	var wait sync.WaitGroup
	for w := range r.cancels {
		wait.Go(func() { r.write(w, 2) })
	}
	wait.Wait()
}

// mayGiveUp sets the function that cancels the next call of a writer; nil means that it cannot be
// canceled.
func (r *faultRun) mayGiveUp(w int, cancel context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancels[w] = cancel
}

// giveUp cancels the call of the next writer.
func (r *faultRun) giveUp(from int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.cancels {
		w := (from + i) % len(r.cancels)
		if cancel := r.cancels[w]; cancel != nil {
			r.cancels[w] = nil
			cancel()
			r.s.CountFailure("cancelled")
			return
		}
	}
}

// noise is a text that cannot be packed.
func noise(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."[r.IntN(64)]
	}
	return string(b)
}

// verify compares operations with the model.
func (r *faultRun) verify(st *store.Store) {
	t := r.t
	t.Helper()
	r.compare(st)
	r.st = st
	for i := range r.lists {
		if l := &r.lists[i]; !l.acked {
			if err := r.append(context.Background(), l); err != nil {
				t.Errorf("the store does not go on: %v", err)
				return
			}
		} else if i%4 == 0 { // again, which changes nothing
			if err := r.append(context.Background(), l); err != nil {
				t.Errorf("append again: %v", err)
			}
		}
	}
	r.verifyForks(st)
	r.verifyChanges(st)
	if n := r.compare(st); n != 0 {
		t.Errorf("%d entries are missing", n)
	}
	for _, key := range r.keys {
		if st.Engine() == "postgres" { // of SQLite all is looked at, where there is nothing else
			problems, err := st.FsckSession(ctx, key, false)
			if err != nil || len(problems) > 0 {
				t.Errorf("fsck: %v %v", problems, err)
			}
		}
		if !slices.ContainsFunc(r.lists, func(l faultList) bool { return l.key == key }) {
			continue // of nothing there is no window
		}
		w, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Errorf("window of %s: %v", key, err)
			continue
		}
		clean(t, w.Body)
	}
}

// compare compares the store with the results of the writers, and counts unacknowledged entries
// that are missing.
func (r *faultRun) compare(st *store.Store) (absent int) {
	t := r.t
	t.Helper()
	there, order := make(map[string]string), make(map[string]int)
	for _, key := range r.keys {
		if forgets(key) {
			r.verifyForgetful(st, key)
			continue
		}
		n, before := 0, 0
		controls := controlSeqs(t, st, key)
		err := st.Export(ctx, key, store.Export{All: true}, func(e store.Entry) error {
			if _, twice := there[e.ID]; twice {
				t.Errorf("entry %s is there twice", e.ID)
			}
			n++
			there[e.ID], order[e.ID] = string(e.Raw), n
			for len(controls) > 0 && controls[0] < e.Seq {
				controls, before = controls[1:], before+1
			}
			if e.Seq != int64(n+before) {
				t.Errorf("%s: entry %d has the number %d, behind %d commands", key, n, e.Seq, before)
			}
			return nil
		})
		if err != nil {
			t.Errorf("export: %v", err)
		}
	}
	for _, l := range r.lists {
		if forgets(l.key) {
			continue
		}
		has := 0
		for i, id := range l.ids {
			raw, ok := there[id]
			delete(there, id)
			if ok {
				has++
			}
			if ok && raw != l.raws[i] {
				t.Errorf("entry %s is torn: %.200s", id, raw)
			}
			if ok && i > 0 && order[id] != order[l.ids[i-1]]+1 {
				t.Errorf("entry %s does not follow %s", id, l.ids[i-1])
			}
		}
		if l.acked && has < len(l.ids) {
			t.Errorf("%v was acknowledged and is lost", l.ids)
		}
		if has != 0 && has != len(l.ids) {
			t.Errorf("of %v only %d entries are there", l.ids, has)
		}
		absent += len(l.ids) - has
	}
	for id := range there {
		t.Errorf("nobody has written entry %s", id)
	}
	return absent
}
