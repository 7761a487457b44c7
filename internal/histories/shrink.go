package histories

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
)

// Shrink removes elements of lists, and members of the body itself, from a JSON body while
// fails returns true, and returns the smallest body that it found. It starts with the largest
// and keeps members of messages and blocks. It returns the body unchanged if it is not JSON or
// fails returns false.
func Shrink(body []byte, fails func([]byte) bool) []byte {
	root, err := jsontree.Parse(body)
	if err != nil || !fails(body) {
		return body
	}
	for again := true; again; {
		again = false
		var all []*jsontree.Node
		root.Walk(func(n *jsontree.Node) {
			if len(n.Items) > 0 && (n.Kind == jsonspan.Array || n == root) {
				all = append(all, n)
			}
		})
		for _, n := range all {
			for i := len(n.Items) - 1; i >= 0; i-- {
				keys, items := slices.Clone(n.Keys), slices.Clone(n.Items)
				n.Items = slices.Delete(n.Items, i, i+1)
				if n.Kind == jsonspan.Object {
					n.Keys = slices.Delete(n.Keys, i, i+1)
				}
				if fails(root.Write(nil, jsontree.Spelling{}, 0)) {
					again = true
					continue
				}
				n.Keys, n.Items = keys, items
			}
		}
	}
	return root.Write(nil, jsontree.Spelling{}, 0)
}
