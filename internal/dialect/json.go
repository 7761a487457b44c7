package dialect

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/internal/jsonedit"
)

// JSON is written in one way; what is written most often has a short name here.
var (
	quote  = jsonedit.Quote
	object = jsonedit.New
	array  = jsonedit.List
)

// saysNothing reports whether a value holds nothing: null, or an empty list or object.
func saysNothing(value []byte) bool {
	return string(value) == "null" || len(value) == 2 && (value[0] == '[' || value[0] == '{')
}

// escapedAt reports whether the backslash at i is itself escaped.
func escapedAt(raw []byte, i int) bool {
	n := 0
	for i > n && raw[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
