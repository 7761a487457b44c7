package proxy

import "container/list"

// An lruCache keeps the most recently used values. It must not be used concurrently.
type lruCache[V any] struct {
	capacity int
	entries  map[string]*list.Element
	order    list.List // *lruEntry[V], most recently used first
}

type lruEntry[V any] struct {
	key   string
	value V
}

func newLRUCache[V any](most int) lruCache[V] {
	return lruCache[V]{capacity: most, entries: make(map[string]*list.Element)}
}

// get returns the value of a key, which becomes the most recently used one, or nil.
func (r *lruCache[V]) get(key string) *V {
	e := r.entries[key]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return &e.Value.(*lruEntry[V]).value
}

// add stores a new value and removes the least recently used ones.
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
