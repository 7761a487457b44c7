package histories

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
)

// Shrink takes elements of lists, and members of the body itself, out of a JSON body, the
// largest first, for as long as fails holds for what is left, and returns the smallest
// body that it found. Members of messages and blocks stay, so that they are what they were.
// A body that is not JSON, or for which fails does not hold, comes back as it is.
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
