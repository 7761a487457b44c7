package proxy

import "container/list"

// A recent holds values by key, only so many: those that were used last. One goroutine at a
// time may use it.
type lruCache[V any] struct {
	capacity int
	entries  map[string]*list.Element
	order    list.List // of *entry[V], the last used first
}

type lruEntry[V any] struct {
	key   string
	value V
}

func newLRUCache[V any](most int) lruCache[V] {
	return lruCache[V]{capacity: most, entries: make(map[string]*list.Element)}
}

// get returns what a key has, which is used by that; nil if there is nothing.
func (r *lruCache[V]) get(key string) *V {
	e := r.entries[key]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return &e.Value.(*lruEntry[V]).value
}

// add gives a key that has none a value, and forgets what was not used for longest.
func (r *lruCache[V]) add(key string, v V) *V {
	if r.entries == nil {
		*r = newLRUCache[V](maxConversations)
	}
	for len(r.entries) >= r.capacity {
		r.remove(r.order.Back().Value.(*lruEntry[V]).key)
	}
	n := &lruEntry[V]{key, v}
	r.entries[key] = r.order.PushFront(n)
	return &n.value
}

func (r *lruCache[V]) remove(key string) {
	if e := r.entries[key]; e != nil {
		r.order.Remove(e)
		delete(r.entries, key)
	}
}
