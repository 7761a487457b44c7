package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Most appends come from the process that appended last. It knows the session as it was
// then: if the head is still the same, nothing else is different, and the entries can be
// written without reading anything. If not, nothing is written, and the append goes the
// long way.

// A sessionCache is what this process knows of sessions that it has appended to. Many
// goroutines may use it.
type sessionCache struct {
	mu sync.Mutex
	of map[Key]*cachedSession
}

// A cachedSession is a session as it was after an append. It is never changed.
type cachedSession struct {
	x    Session
	open openCalls // that were made by this process and are not answered
	// extended is set by the first one who appends behind it: the memory of its tail goes on
	// with that one.
	extended atomic.Bool
}

type openCall struct {
	id     string
	family uint8
}

type place struct {
	seq int64
	no  int
}

// openCalls are a few calls and where they were made, each once. A list is never changed:
// that of a session before an append is still used.
type openCalls []struct {
	openCall
	place
}

// without returns those that are left when a call is answered, and where it was made.
func (o openCalls) without(c openCall) (rest openCalls, at place, ok bool) {
	for i := range o {
		if o[i].openCall == c {
			return slices.Concat(o[:i], o[i+1:]), o[i].place, true
		}
	}
	return o, place{}, false
}

// with returns them with a call more. Those that are too many are forgotten: who made a call
// can be looked up.
func (o openCalls) with(c openCall, at place) openCalls {
	o, _, _ = o.without(c)
	if len(o) == maxOpen {
		o = nil
	}
	return append(o[:len(o):len(o)], openCalls{{c, at}}...)
}

const (
	maxKnown = 4096 // sessions
	maxOpen  = 64   // calls of one
	maxQuick = 64   // entries of one append
)

// recall returns what is known of a session; nil: nothing.
func (k *sessionCache) recall(key Key) *cachedSession {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of[key]
}

// follow takes over a session as it is after a quick append.
func (k *sessionCache) follow(a *cachedSession) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.of[a.x.Key]; old == nil || old.x.Head < a.x.Head {
		k.add(a)
	}
}

// add remembers a session. It is locked.
func (k *sessionCache) add(a *cachedSession) {
	if k.of == nil || len(k.of) >= maxKnown {
		k.of = make(map[Key]*cachedSession)
	}
	k.of[a.x.Key] = a
}

// learn takes over a session as it is after entries were appended to it.
func (k *sessionCache) learn(x *Session, entries []Entry) {
	if len(x.state.Lineage) > 0 || !x.traced && x.settled < x.Head {
		return // ids may be taken in a session that it shares entries of
	}
	var open openCalls
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.of[x.Key]; old != nil && old.x.sid == x.sid {
		if old.x.Head >= x.Head {
			return
		}
		if old.x.Head == x.Head-int64(len(entries)) { // nothing came in between
			open = old.open
		}
	}
	for _, e := range entries {
		for _, c := range e.Calls {
			if c.ID != "" {
				open = open.with(openCall{c.ID, c.family}, place{e.Seq, c.No})
			}
		}
		for _, c := range e.Answers {
			open, _, _ = open.without(openCall{c.ID, c.family})
		}
	}
	k.add(&cachedSession{x: *x, open: open})
}

// forget is for a session that is not what it was taken for.
func (k *sessionCache) forget(key Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, key)
}

// quickly is what a quick append writes.
type quickly struct {
	head, cum int64 // of the session afterwards
	at        int64
	rows      []row
	marks     []int64 // by row: that of its id, which must not be there
	settle    tail    // what the entries in front of these are found by, if it is time
	settled   bool    // that was written
}

// appendQuickly appends entries to a session that is known. The session is nil if that
// cannot be.
func (s *Store) appendQuickly(ctx context.Context, key Key, head Head, entries []Entry) (done Appended, x *Session, err error) {
	if len(entries) == 0 || len(entries) > maxQuick {
		return done, nil, nil
	}
	a := s.known.recall(key)
	if a == nil || head.mode != anywhere && head.seq != a.x.Head {
		return done, nil, nil
	}
	b := &cachedSession{x: a.x}
	y := &b.x
	q := &quickly{head: y.Head, cum: y.cum, at: s.now(), rows: make([]row, 0, len(entries)), marks: make([]int64, 0, len(entries))}
	open, last := a.open, y.tail
	if !a.extended.CompareAndSwap(false, true) {
		last = slices.Clip(last)
	}
	if y.Head+int64(len(entries)) > maxSeq {
		return done, nil, nil
	}
	for i, e := range entries {
		r, err := s.prepare(y, i, e)
		if err != nil || len(r.media) > 0 || y.Dialect != a.x.Dialect {
			return done, nil, nil // the long way has the error, or writes what was told
		}
		q.head++
		q.cum += r.weight
		r.Seq, r.cum, r.At = q.head, q.cum, time.UnixMicro(q.at).UTC()
		for _, c := range r.Calls {
			if c.ID == "" {
				return done, nil, nil
			}
			open = open.with(openCall{c.ID, c.family}, place{r.Seq, c.No})
		}
		for j := range r.Answers {
			c := &r.Answers[j]
			rest, at, ok := open.without(openCall{c.ID, c.family})
			if !ok {
				return done, nil, nil // who made the call has to be looked up
			}
			open, c.Seq, c.No = rest, at.seq, at.no
		}
		first := len(last)
		last = last.add(&r.Entry, r.flags)
		q.rows, q.marks = append(q.rows, r), append(q.marks, last[first].mark)
	}
	if repeats(last, q.marks) {
		return done, nil, nil // it was written before, or stands twice in these
	}
	if y.tail.entries() >= s.tail {
		q.settle, last = y.tail.sorted(), slices.Clone(last[len(y.tail):])
	}
	ok, err := s.eng.quick(ctx, y, q)
	if err != nil || !ok {
		s.known.forget(key)
		return done, nil, nil // the long way has the error, if it is one
	}
	if q.settle != nil {
		y.settled = y.Head
	}
	y.Head, y.cum, y.tail = q.head, q.cum, last
	done = Appended{Head: q.head, Entries: make([]Entry, len(q.rows))}
	for i := range q.rows {
		done.Entries[i] = q.rows[i].Entry
	}
	if q.settle != nil && !q.settled {
		s.known.forget(key) // somebody else has done so, or will
		return done, y, nil
	}
	b.open = open
	s.known.follow(b)
	return done, y, nil
}

// repeats reports whether a mark of an id stands twice in a tail.
func repeats(l tail, marks []int64) bool {
	for _, mark := range marks {
		n := 0
		for _, m := range l {
			if m.mark == mark {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}
