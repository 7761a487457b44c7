package names

import "math"

// An Index holds the names of a list of texts, and for each of them the next text of the list that
// has the same name. It answers for any beginning of the list, so each text is read only once.
type Index struct {
	spans []span // by text
	all   []indexed
}

// A span is the part of a list that belongs to one text.
type span struct{ from, to int }

type indexed struct {
	hash uint64
	next int // the next text with this name; never if there is none
}

const never = math.MaxInt

// NewIndex reads n texts. It calls text once for each, from the last to the first.
func NewIndex(n int, text func(i int) string) Index {
	x := Index{spans: make([]span, n)}
	newest := make(map[uint64]int) // by hash: the first text read so far that has it
	for i := n - 1; i >= 0; i-- {
		from := len(x.all)
		Each(text(i), func(name string) {
			hash := Hash(name)
			next, found := newest[hash]
			switch {
			case !found:
				next = never
			case next == i:
				return // again in the same text
			}
			newest[hash] = i
			x.all = append(x.all, indexed{hash, next})
		})
		x.spans[i] = span{from, len(x.all)}
	}
	return x
}

// CountLast returns how many names of text i are in no later one of the first n texts.
func (x *Index) CountLast(i, n int) (count int) {
	for _, name := range x.all[x.spans[i].from:x.spans[i].to] {
		if name.next >= n {
			count++
		}
	}
	return count
}

// Last lists the names of text i, which the caller passes again, that are in no later one of the
// first n texts: the most frequent first.
func (x *Index) Last(i, n int, text string) []string {
	last := make(map[uint64]bool)
	for _, name := range x.all[x.spans[i].from:x.spans[i].to] {
		if name.next >= n {
			last[name.hash] = true
		}
	}
	count := make(map[string]int, len(last))
	Each(text, func(name string) {
		if last[Hash(name)] {
			count[name]++
		}
	})
	return Frequent(count)
}
