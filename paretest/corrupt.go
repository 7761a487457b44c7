package paretest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// Corrupt damages a request body as adapters, logs and networks do and returns
// what it did: values of another type, members lost or doubled, messages merged,
// split or swapped; one time in eight it damages the bytes, so that the result may
// not be JSON. A body that is not JSON has only its bytes damaged.
func Corrupt(r *rand.Rand, body []byte) (damaged []byte, did string) {
	root, err := parseTree(body)
	if err != nil || r.IntN(8) == 0 {
		return corruptBytes(r, body)
	}
	root = root.clone()
	for range 8 { // not every damage fits every body
		d := damages[r.IntN(len(damages))]
		if d.do(r, root) {
			return root.write(nil, Spelling{}, 0), d.name
		}
	}
	return corruptBytes(r, body)
}

func corruptBytes(r *rand.Rand, body []byte) ([]byte, string) {
	if len(body) == 0 {
		return []byte{'{'}, "wrote a lone bracket"
	}
	i := r.IntN(len(body))
	switch r.IntN(3) {
	case 0:
		return slices.Clone(body[:i]), fmt.Sprintf("cut at byte %d", i)
	case 1:
		out := slices.Clone(body)
		out[i] = "\"\\{}[],:0 \xff\x00"[r.IntN(12)]
		return out, fmt.Sprintf("overwrote byte %d", i)
	}
	return slices.Delete(slices.Clone(body), i, i+1), fmt.Sprintf("lost byte %d", i)
}

// A damage changes a tree and reports whether it found a place for it.
type damage struct {
	name string
	do   func(r *rand.Rand, root *node) bool
}

var damages = []damage{
	{"a message of another type", func(r *rand.Rand, root *node) bool { return confuse(r, messagesOf(root)) }},
	{"a message lost", func(r *rand.Rand, root *node) bool { return lose(r, messagesOf(root)) }},
	{"two messages swapped", swapMessages},
	{"a message twice", func(r *rand.Rand, root *node) bool { return double(r, messagesOf(root)) }},
	{"two messages merged", mergeMessages},
	{"a message split", splitMessage},
	{"a block of another type", func(r *rand.Rand, root *node) bool { return confuse(r, blocksOf(r, root)) }},
	{"a block lost", func(r *rand.Rand, root *node) bool { return lose(r, blocksOf(r, root)) }},
	{"a block twice", func(r *rand.Rand, root *node) bool { return double(r, blocksOf(r, root)) }},
	{"an id of another type", confuseID},
	{"a member of another type", func(r *rand.Rand, root *node) bool { return confuse(r, anyObject(r, root)) }},
	{"a member lost", func(r *rand.Rand, root *node) bool { return lose(r, anyObject(r, root)) }},
	{"a key twice", func(r *rand.Rand, root *node) bool { return double(r, anyObject(r, root)) }},
	{"a key twice, the later one of another type", doubleConfused},
	{"members in another order", shuffleKeys},
	{"half of a surrogate pair", loneSurrogate},
}

// messagesOf returns the list of messages, or nil.
func messagesOf(root *node) *node {
	if root.kind == jsonspan.Array {
		return root
	}
	for _, name := range []string{"messages", "input", "contents"} {
		if n := root.get(name); n != nil && n.kind == jsonspan.Array {
			return n
		}
	}
	return nil
}

// blocksOf returns the list of blocks of one of the messages, or nil.
func blocksOf(r *rand.Rand, root *node) *node {
	ms := messagesOf(root)
	if ms == nil || len(ms.items) == 0 {
		return nil
	}
	m := ms.items[r.IntN(len(ms.items))]
	for _, name := range []string{"tool_calls", "content", "parts"} {
		if n := m.get(name); n != nil && n.kind == jsonspan.Array {
			return n
		}
	}
	return nil
}

// anyObject returns one of the objects in the messages, or nil.
func anyObject(r *rand.Rand, root *node) *node {
	ms := messagesOf(root)
	if ms == nil {
		return nil
	}
	var all []*node
	ms.walk(func(n *node) {
		if n.kind == jsonspan.Object && len(n.items) > 0 {
			all = append(all, n)
		}
	})
	if all == nil {
		return nil
	}
	return all[r.IntN(len(all))]
}

// foreign returns a value of a type that is rarely expected.
func foreign(r *rand.Rand) *node {
	switch r.IntN(7) {
	case 0:
		return literal("null")
	case 1:
		return literal("42")
	case 2:
		return literal("true")
	case 3:
		return text("")
	case 4:
		return text("text")
	case 5:
		return list()
	}
	return object()
}

func confuse(r *rand.Rand, n *node) bool {
	if n == nil || len(n.items) == 0 {
		return false
	}
	n.items[r.IntN(len(n.items))] = foreign(r)
	return true
}

func lose(r *rand.Rand, n *node) bool {
	if n == nil || len(n.items) == 0 {
		return false
	}
	i := r.IntN(len(n.items))
	n.items = slices.Delete(n.items, i, i+1)
	if n.kind == jsonspan.Object {
		n.keys = slices.Delete(n.keys, i, i+1)
	}
	return true
}

// double writes an element or member again, somewhere behind.
func double(r *rand.Rand, n *node) bool {
	if n == nil || len(n.items) == 0 {
		return false
	}
	i := r.IntN(len(n.items))
	to := i + 1 + r.IntN(len(n.items)-i)
	n.items = slices.Insert(n.items, to, n.items[i].clone())
	if n.kind == jsonspan.Object {
		n.keys = slices.Insert(n.keys, to, n.keys[i])
	}
	return true
}

func doubleConfused(r *rand.Rand, root *node) bool {
	n := anyObject(r, root)
	if n == nil {
		return false
	}
	n.add(n.keys[r.IntN(len(n.keys))], foreign(r))
	return true
}

// idMembers are the members by which calls and results find each other.
var idMembers = []string{"id", "tool_use_id", "tool_call_id", "call_id", "toolUseId"}

func confuseID(r *rand.Rand, root *node) bool {
	type member struct {
		of *node
		i  int
	}
	var all []member
	root.walk(func(n *node) {
		for i, k := range n.keys {
			if slices.Contains(idMembers, k) {
				all = append(all, member{n, i})
			}
		}
	})
	if all == nil {
		return false
	}
	m := all[r.IntN(len(all))]
	m.of.items[m.i] = foreign(r)
	return true
}

func swapMessages(r *rand.Rand, root *node) bool {
	ms := messagesOf(root)
	if ms == nil || len(ms.items) < 2 {
		return false
	}
	i := r.IntN(len(ms.items) - 1)
	ms.items[i], ms.items[i+1] = ms.items[i+1], ms.items[i]
	return true
}

func shuffleKeys(r *rand.Rand, root *node) bool {
	n := anyObject(r, root)
	if n == nil || len(n.keys) < 2 {
		return false
	}
	r.Shuffle(len(n.keys), func(i, j int) {
		n.keys[i], n.keys[j] = n.keys[j], n.keys[i]
		n.items[i], n.items[j] = n.items[j], n.items[i]
	})
	return true
}

// content returns the member of a message that lists its blocks, or nil.
func content(m *node) *node {
	for _, name := range []string{"content", "parts"} {
		if n := m.get(name); n != nil && n.kind == jsonspan.Array {
			return n
		}
	}
	return nil
}

// mergeMessages moves the blocks of a message into the one before it, whatever
// their roles.
func mergeMessages(r *rand.Rand, root *node) bool {
	ms := messagesOf(root)
	if ms == nil || len(ms.items) < 2 {
		return false
	}
	i := 1 + r.IntN(len(ms.items)-1)
	a, b := content(ms.items[i-1]), content(ms.items[i])
	if a == nil || b == nil {
		return false
	}
	a.items = append(a.items, b.items...)
	ms.items = slices.Delete(ms.items, i, i+1)
	return true
}

// splitMessage deals the blocks of a message out to two of its role.
func splitMessage(r *rand.Rand, root *node) bool {
	ms := messagesOf(root)
	if ms == nil || len(ms.items) == 0 {
		return false
	}
	i := r.IntN(len(ms.items))
	first := content(ms.items[i])
	if first == nil || len(first.items) < 2 {
		return false
	}
	at := 1 + r.IntN(len(first.items)-1)
	second := ms.items[i].clone()
	rest := content(second)
	first.items, rest.items = first.items[:at], rest.items[at:]
	ms.items = slices.Insert(ms.items, i+1, second)
	return true
}

func loneSurrogate(r *rand.Rand, root *node) bool {
	var all []*node
	root.walk(func(n *node) {
		if n.kind == jsonspan.String {
			all = append(all, n)
		}
	})
	if all == nil {
		return false
	}
	n := all[r.IntN(len(all))]
	n.raw = append(n.raw[:len(n.raw)-1:len(n.raw)-1], `\ud83d"`...)
	return true
}
