package histories

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
)

// Corrupt damages a request body as adapters, logs and networks do and describes the damage:
// values of another type, members lost or doubled, messages merged, split or swapped. One time
// in eight it damages the bytes, so the result may not be JSON. For a body that is not JSON it
// always damages the bytes.
func Corrupt(r *rand.Rand, body []byte) (damaged []byte, did string) {
	root, err := jsontree.Parse(body)
	if err != nil || r.IntN(8) == 0 {
		return corruptBytes(r, body)
	}
	root = root.Clone()
	for range 8 { // not every damage fits every body
		d := damages[r.IntN(len(damages))]
		if d.apply(r, root) {
			return root.Write(nil, jsontree.Spelling{}, 0), d.name
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
	name  string
	apply func(r *rand.Rand, root *jsontree.Node) bool
}

var damages = []damage{
	{"a message of another type", func(r *rand.Rand, root *jsontree.Node) bool { return changeType(r, messagesOf(root)) }},
	{"a message lost", func(r *rand.Rand, root *jsontree.Node) bool { return removeElement(r, messagesOf(root)) }},
	{"two messages swapped", swapMessages},
	{"a message twice", func(r *rand.Rand, root *jsontree.Node) bool { return duplicateElement(r, messagesOf(root)) }},
	{"two messages merged", mergeMessages},
	{"a message split", splitMessage},
	{"a block of another type", func(r *rand.Rand, root *jsontree.Node) bool { return changeType(r, blocksOf(r, root)) }},
	{"a block lost", func(r *rand.Rand, root *jsontree.Node) bool { return removeElement(r, blocksOf(r, root)) }},
	{"a block twice", func(r *rand.Rand, root *jsontree.Node) bool { return duplicateElement(r, blocksOf(r, root)) }},
	{"an id of another type", changeIDType},
	{"a member of another type", func(r *rand.Rand, root *jsontree.Node) bool { return changeType(r, anyObject(r, root)) }},
	{"a member lost", func(r *rand.Rand, root *jsontree.Node) bool { return removeElement(r, anyObject(r, root)) }},
	{"a key twice", func(r *rand.Rand, root *jsontree.Node) bool { return duplicateElement(r, anyObject(r, root)) }},
	{"a key twice, the later one of another type", repeatKeyWithOtherType},
	{"members in another order", shuffleKeys},
	{"half of a surrogate pair", loneSurrogate},
}

// messagesOf returns the list of messages, or nil.
func messagesOf(root *jsontree.Node) *jsontree.Node {
	if root.Kind == jsonspan.Array {
		return root
	}
	for _, name := range []string{"messages", "input", "contents"} {
		if n := root.Get(name); n != nil && n.Kind == jsonspan.Array {
			return n
		}
	}
	return nil
}

// blocksOf returns the list of blocks of one of the messages, or nil.
func blocksOf(r *rand.Rand, root *jsontree.Node) *jsontree.Node {
	ms := messagesOf(root)
	if ms == nil || len(ms.Items) == 0 {
		return nil
	}
	m := ms.Items[r.IntN(len(ms.Items))]
	for _, name := range []string{"tool_calls", "content", "parts"} {
		if n := m.Get(name); n != nil && n.Kind == jsonspan.Array {
			return n
		}
	}
	return nil
}

// anyObject returns one of the objects in the messages, or nil.
func anyObject(r *rand.Rand, root *jsontree.Node) *jsontree.Node {
	ms := messagesOf(root)
	if ms == nil {
		return nil
	}
	var all []*jsontree.Node
	ms.Walk(func(n *jsontree.Node) {
		if n.Kind == jsonspan.Object && len(n.Items) > 0 {
			all = append(all, n)
		}
	})
	if all == nil {
		return nil
	}
	return all[r.IntN(len(all))]
}

// unexpectedValue returns a value of a type that is rarely expected.
func unexpectedValue(r *rand.Rand) *jsontree.Node {
	switch r.IntN(7) {
	case 0:
		return jsontree.Literal("null")
	case 1:
		return jsontree.Literal("42")
	case 2:
		return jsontree.Literal("true")
	case 3:
		return jsontree.Text("")
	case 4:
		return jsontree.Text("text")
	case 5:
		return jsontree.List()
	}
	return jsontree.Object()
}

func changeType(r *rand.Rand, n *jsontree.Node) bool {
	if n == nil || len(n.Items) == 0 {
		return false
	}
	n.Items[r.IntN(len(n.Items))] = unexpectedValue(r)
	return true
}

func removeElement(r *rand.Rand, n *jsontree.Node) bool {
	if n == nil || len(n.Items) == 0 {
		return false
	}
	i := r.IntN(len(n.Items))
	n.Items = slices.Delete(n.Items, i, i+1)
	if n.Kind == jsonspan.Object {
		n.Keys = slices.Delete(n.Keys, i, i+1)
	}
	return true
}

// duplicateElement inserts a copy of an element or member at a later place.
func duplicateElement(r *rand.Rand, n *jsontree.Node) bool {
	if n == nil || len(n.Items) == 0 {
		return false
	}
	i := r.IntN(len(n.Items))
	to := i + 1 + r.IntN(len(n.Items)-i)
	n.Items = slices.Insert(n.Items, to, n.Items[i].Clone())
	if n.Kind == jsonspan.Object {
		n.Keys = slices.Insert(n.Keys, to, n.Keys[i])
	}
	return true
}

func repeatKeyWithOtherType(r *rand.Rand, root *jsontree.Node) bool {
	n := anyObject(r, root)
	if n == nil {
		return false
	}
	n.Add(n.Keys[r.IntN(len(n.Keys))], unexpectedValue(r))
	return true
}

// idMembers are the members by which calls and results find each other.
var idMembers = []string{"id", "tool_use_id", "tool_call_id", "call_id", "toolUseId"}

func changeIDType(r *rand.Rand, root *jsontree.Node) bool {
	type member struct {
		of *jsontree.Node
		i  int
	}
	var all []member
	root.Walk(func(n *jsontree.Node) {
		for i, k := range n.Keys {
			if slices.Contains(idMembers, k) {
				all = append(all, member{n, i})
			}
		}
	})
	if all == nil {
		return false
	}
	m := all[r.IntN(len(all))]
	m.of.Items[m.i] = unexpectedValue(r)
	return true
}

func swapMessages(r *rand.Rand, root *jsontree.Node) bool {
	ms := messagesOf(root)
	if ms == nil || len(ms.Items) < 2 {
		return false
	}
	i := r.IntN(len(ms.Items) - 1)
	ms.Items[i], ms.Items[i+1] = ms.Items[i+1], ms.Items[i]
	return true
}

func shuffleKeys(r *rand.Rand, root *jsontree.Node) bool {
	n := anyObject(r, root)
	if n == nil || len(n.Keys) < 2 {
		return false
	}
	r.Shuffle(len(n.Keys), func(i, j int) {
		n.Keys[i], n.Keys[j] = n.Keys[j], n.Keys[i]
		n.Items[i], n.Items[j] = n.Items[j], n.Items[i]
	})
	return true
}

// blockList returns the member of a message that lists its blocks, or nil.
func blockList(m *jsontree.Node) *jsontree.Node {
	for _, name := range []string{"content", "parts"} {
		if n := m.Get(name); n != nil && n.Kind == jsonspan.Array {
			return n
		}
	}
	return nil
}

// mergeMessages moves the blocks of a message into the message before it, regardless of their
// roles.
func mergeMessages(r *rand.Rand, root *jsontree.Node) bool {
	ms := messagesOf(root)
	if ms == nil || len(ms.Items) < 2 {
		return false
	}
	i := 1 + r.IntN(len(ms.Items)-1)
	a, b := blockList(ms.Items[i-1]), blockList(ms.Items[i])
	if a == nil || b == nil {
		return false
	}
	a.Items = append(a.Items, b.Items...)
	ms.Items = slices.Delete(ms.Items, i, i+1)
	return true
}

// splitMessage deals the blocks of a message out to two of its role.
func splitMessage(r *rand.Rand, root *jsontree.Node) bool {
	ms := messagesOf(root)
	if ms == nil || len(ms.Items) == 0 {
		return false
	}
	i := r.IntN(len(ms.Items))
	first := blockList(ms.Items[i])
	if first == nil || len(first.Items) < 2 {
		return false
	}
	at := 1 + r.IntN(len(first.Items)-1)
	second := ms.Items[i].Clone()
	rest := blockList(second)
	first.Items, rest.Items = first.Items[:at], rest.Items[at:]
	ms.Items = slices.Insert(ms.Items, i+1, second)
	return true
}

func loneSurrogate(r *rand.Rand, root *jsontree.Node) bool {
	var all []*jsontree.Node
	root.Walk(func(n *jsontree.Node) {
		if n.Kind == jsonspan.String {
			all = append(all, n)
		}
	})
	if all == nil {
		return false
	}
	n := all[r.IntN(len(all))]
	n.Raw = append(n.Raw[:len(n.Raw)-1:len(n.Raw)-1], `\ud83d"`...)
	return true
}
