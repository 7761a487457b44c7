package paretest

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// Shrink takes elements of lists, and members of the body itself, out of a JSON body, the
// largest first, for as long as fails holds for what is left, and returns the smallest
// body that it found. Members of messages and blocks stay, so that they are what they were.
// A body that is not JSON, or for which fails does not hold, comes back as it is.
func Shrink(body []byte, fails func([]byte) bool) []byte {
	root, err := parseTree(body)
	if err != nil || !fails(body) {
		return body
	}
	for again := true; again; {
		again = false
		var all []*node
		root.walk(func(n *node) {
			if len(n.items) > 0 && (n.kind == jsonspan.Array || n == root) {
				all = append(all, n)
			}
		})
		for _, n := range all {
			for i := len(n.items) - 1; i >= 0; i-- {
				keys, items := slices.Clone(n.keys), slices.Clone(n.items)
				n.items = slices.Delete(n.items, i, i+1)
				if n.kind == jsonspan.Object {
					n.keys = slices.Delete(n.keys, i, i+1)
				}
				if fails(root.write(nil, Spelling{}, 0)) {
					again = true
					continue
				}
				n.keys, n.items = keys, items
			}
		}
	}
	return root.write(nil, Spelling{}, 0)
}
