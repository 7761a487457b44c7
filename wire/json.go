package wire

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
)

func quote(s string) []byte { return jsonspan.AppendQuote(nil, s) }

// object writes a JSON object of alternating keys and raw values.
func object(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonspan.AppendQuote(b, pairs[i].(string)), ':')
		switch v := pairs[i+1].(type) {
		case string:
			b = jsonspan.AppendQuote(b, v)
		case []byte:
			b = append(b, v...)
		}
	}
	return append(b, '}')
}

func array(items ...[]byte) []byte {
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it...)
	}
	return append(b, ']')
}

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
