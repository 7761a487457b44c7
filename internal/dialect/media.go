package dialect

import (
	"iter"

	"github.com/pare-llm/pare/transcript"
)

// media yields the spans of all pictures, documents and recordings of the messages, as
// they lie between their quotes: base64, or the URL or id that stands for it.
func (r *Request) media() iter.Seq[transcript.Span] {
	return func(yield func(transcript.Span) bool) {
		f := &finder{raw: r.raw}
		for b := range r.t.Blocks() {
			r.blockTokens(f, transcript.BlockID(b))
			for _, s := range f.found {
				if !yield(s) {
					return
				}
			}
			f.found = f.found[:0]
		}
	}
}

// A finder is a counter that counts nothing and notes where media lie.
type finder struct {
	raw   []byte
	found []transcript.Span
}

func (f *finder) Count([]byte) int      { return 0 }
func (f *finder) CountJSON([]byte) int  { return 0 }
func (f *finder) Overhead(int, int) int { return 0 }

// Media is given a part of raw, so its capacity tells where it begins.
func (f *finder) Media(_ string, data []byte, _ bool) int {
	from := cap(f.raw) - cap(data)
	if len(data) > 0 && from >= 0 && from+len(data) <= len(f.raw) && &f.raw[from] == &data[0] {
		f.found = append(f.found, transcript.Span{Start: from, End: from + len(data)})
	}
	return 0
}
