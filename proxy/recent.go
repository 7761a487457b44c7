package proxy

import "container/list"

// A recent holds values by key, only so many: those that were used last. One goroutine at a
// time may use it.
type recent[V any] struct {
	most int
	all  map[string]*list.Element
	used list.List // of *entry[V], the last used first
}

type entry[V any] struct {
	key   string
	value V
}

func newRecent[V any](most int) recent[V] {
	return recent[V]{most: most, all: make(map[string]*list.Element)}
}

// get returns what a key has, which is used by that; nil if there is nothing.
func (r *recent[V]) get(key string) *V {
	e := r.all[key]
	if e == nil {
		return nil
	}
	r.used.MoveToFront(e)
	return &e.Value.(*entry[V]).value
}

// add gives a key that has none a value, and forgets what was not used for longest.
func (r *recent[V]) add(key string, v V) *V {
	if r.all == nil {
		*r = newRecent[V](mostKnown)
	}
	for len(r.all) >= r.most {
		r.remove(r.used.Back().Value.(*entry[V]).key)
	}
	n := &entry[V]{key, v}
	r.all[key] = r.used.PushFront(n)
	return &n.value
}

func (r *recent[V]) remove(key string) {
	if e := r.all[key]; e != nil {
		r.used.Remove(e)
		delete(r.all, key)
	}
}
