package recall

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Source is where content is looked for: what was removed from one request.
type Source struct {
	// Requests are the states of the request that still hold everything.
	Requests []*wire.Request
	// Removed is what was taken out.
	Removed []archive.Item
}

// Find returns what a handle stands for, as text: the name of something that was removed,
// or the id of a call. It knows nothing but this request.
func (s *Source) Find(handle string) (text string, ok bool) {
	switch handle {
	case "":
		return "", false
	case listed:
		return s.list(), true
	}
	if !IsHandle(handle) {
		return s.call(handle)
	}
	for _, r := range s.Requests {
		t := r.Transcript()
		for b, blk := range t.Blocks() {
			if archive.ID(t.Bytes(blk.Span)) == handle {
				return said(r, transcript.BlockID(b)), true
			}
		}
	}
	all, err := archive.Recall(context.Background(), removed(s.Removed), handle)
	if err != nil && len(all) == 0 {
		return "", false
	}
	raw := make([][]byte, len(all))
	for i, item := range all {
		raw[i] = item.Raw
	}
	return string(bytes.Join(raw, []byte{'\n'})), true
}

// removed is an archive of what was removed.
type removed []archive.Item

func (r removed) Get(_ context.Context, id string) (archive.Item, error) {
	for _, item := range r {
		if item.ID == id {
			return item, nil
		}
	}
	return archive.Item{}, archive.ErrNotFound
}

// listed is the handle of the list of everything that was removed.
const listed = "list"

// list names everything that was removed, a line each: its handle, and what it is.
func (s *Source) list() string {
	if len(s.Removed) == 0 {
		return "Nothing but what the notes in this conversation name was removed."
	}
	what := make(map[string]string)
	for _, r := range s.Requests {
		t := r.Transcript()
		for _, m := range t.Messages() {
			var parts []string
			for b := m.First; b < m.End; b++ {
				parts = append(parts, brief(r, b))
				what[archive.ID(t.Bytes(t.Block(b).Span))] = parts[len(parts)-1]
			}
			what[archive.ID(t.Bytes(m.Span))] = m.Role.String() + ": " + strings.Join(parts, " | ")
		}
	}
	var b strings.Builder
	for _, item := range s.Removed {
		if item.Stands() {
			continue
		}
		fmt.Fprintf(&b, "%s (%d bytes) %s\n", item.ID, len(item.Raw), what[item.ID])
	}
	return b.String()
}

// briefly is how much of a block a list shows.
const briefly = 100

// brief says in a few words what a block is.
func brief(r *wire.Request, b transcript.BlockID) string {
	t := r.Transcript()
	blk := t.Block(b)
	words := strings.Join(strings.Fields(said(r, b)), " ")
	if len(words) > briefly {
		words = strings.ToValidUTF8(words[:briefly], "") + "…"
	}
	tool := blk.Tool
	if x := t.ExchangeOf(b); tool == "" && x != transcript.NoExchange {
		tool = t.Exchanges()[x].Tool
	}
	switch blk.Kind {
	case transcript.Call:
		return "call of " + tool + " " + words
	case transcript.Result:
		return "result of " + tool + " " + words
	}
	return words
}

// call returns what was removed of the newest exchange with that id; if nothing was, its
// result.
func (s *Source) call(id string) (string, bool) {
	removed := make(map[string]bool)
	for _, item := range s.Removed {
		removed[item.ID] = true
	}
	for _, r := range s.Requests {
		t := r.Transcript()
		all := t.Exchanges()
		for i := len(all) - 1; i >= 0; i-- {
			x := all[i]
			if x.CallID != id || len(x.Results) == 0 || x.Call == transcript.NoBlock {
				continue
			}
			if removed[archive.ID(t.Bytes(t.Block(x.Call).Span))] && !removed[archive.ID(t.Bytes(t.Block(x.Results[0]).Span))] {
				return said(r, x.Call), true
			}
			return said(r, x.Results[0]), true
		}
	}
	return "", false
}

// said is what a block says, as text where it is one.
func said(r *wire.Request, b transcript.BlockID) string {
	t := r.Transcript()
	blk := t.Block(b)
	if blk.Kind == transcript.Call {
		if a := wire.Arguments(t, b); a != nil {
			return string(a)
		}
	} else if text := r.Text(b); text != "" {
		return text
	}
	return string(t.Bytes(blk.Span))
}

var handles = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pare-[0-9a-f]{16}([0-9a-f]{16})?$`) })

// IsHandle reports whether a text is the name of something that was archived.
func IsHandle(s string) bool { return handles().MatchString(s) }

// named is how a placeholder names what stood in its place.
var named = []byte("archived as pare-")

// Names reports whether a body holds a placeholder that names what stood in its place.
func Names(body []byte) bool { return bytes.Contains(body, named) }

// Declared reports whether somebody else has declared a tool of this name.
func Declared(body []byte) bool { return bytes.Contains(body, []byte(`"`+Tool+`"`)) }
