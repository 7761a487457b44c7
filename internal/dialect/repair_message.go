package dialect

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// noMessage says why element i of the list is no message of the dialect, nor another item:
// nobody could send it, and no repair makes one of it. Empty: it is one, whatever else may be
// wrong with it.
func (r *Request) noMessage(i int) string {
	m := r.t.Messages()[i]
	named := r.extra[i]&badRole == 0
	if named && m.First < m.End && r.t.Block(m.First).Kind != transcript.Other {
		return ""
	}
	raw := r.t.Bytes(m.Span)
	if raw[0] != '{' {
		p := new(parser)
		p.reset(raw, Auto, jsonspan.Structural)
		return "it is " + p.Peek().String()
	}
	has := func(name string) bool {
		v, ok := jsonspan.Find(raw, jsonspan.Span{End: len(raw)}, name)
		return ok && !slices.Contains([]string{"null", `""`, "[]"}, string(raw[v.Value.Start:v.Value.End]))
	}
	says, elsewhere := inContent.member(), inParts.member()
	if r.g.blocks == inParts {
		says, elsewhere = elsewhere, says
	}
	switch {
	case !has("role") && !has(says) && !(r.g.flat && has("type")):
		return fmt.Sprintf("it has no role and no %s", says)
	case m.First == m.End && has(elsewhere) && !has(says):
		return fmt.Sprintf("what it says is under %q, where the dialect does not look", elsewhere)
	case !named && !r.guessable(raw):
		return "its role is missing, or none that the dialect has"
	}
	return ""
}

// guessable reports whether a repair can tell who speaks in a message.
func (r *Request) guessable(message []byte) bool {
	alone, err := Parse(slices.Concat([]byte{'['}, message, []byte{']'}), Options{Dialect: r.Dialect, Model: r.Model()})
	if err != nil {
		return false
	}
	repaired, err := alone.repair(Repair{}, CheckOptions{})
	return err == nil && !slices.ContainsFunc(repaired.Request.extra, func(f facts) bool { return f&badRole != 0 })
}
