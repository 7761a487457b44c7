package proxy

import "testing"

// TestRecent: what was used last stays, and nothing that was removed.
func TestRecent(t *testing.T) {
	r := newLRUCache[int](2)
	r.add("a", 1)
	*r.add("b", 2)++
	if v := r.get("a"); v == nil || *v != 1 {
		t.Fatal("a is forgotten")
	}
	r.add("c", 4)
	if r.get("b") != nil {
		t.Error("b was not used for longest, and is there")
	}
	r.remove("a")
	r.remove("a")
	r.add("d", 5)
	for key, want := range map[string]int{"c": 4, "d": 5} {
		if v := r.get(key); v == nil || *v != want {
			t.Errorf("%s: %v, want %d", key, v, want)
		}
	}
	if len(r.entries) != 2 || r.order.Len() != 2 {
		t.Errorf("%d keys, %d entries", len(r.entries), r.order.Len())
	}
}
