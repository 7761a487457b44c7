package dialect

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// unsigned returns the request without the signatures of thought in its first messages, for
// a provider that refuses them: nobody else can tell a good one from a bad one. Where one
// is wanted, the documented value that skips the test stands in its place, so that what
// comes of a history does not depend on which turn is the current one. Items of Responses
// have no signature, but an id, by which the provider knows the reasoning they came from and
// wants it back. Dialects that sign no thought in this way come back as they are. Rule names
// the changes.
func (r *Request) unsigned(rule string, messages int) (*Request, []Change, error) {
	var edits []jsonspan.Edit
	var changes []Change
	ms := r.t.Messages()
	for i, m := range ms[:min(messages, len(ms))] {
		call := false
		for b := m.First; b < m.End; b++ {
			first := r.t.Block(b).Kind == transcript.Call && !call
			call = call || first
			found := pens[r.Dialect].unsign(r, b, first)
			for _, e := range found {
				changes = append(changes, Change{
					Action: ActionEdit, Rule: rule, Path: r.Path(b), IDs: []string{}, Bytes: len(e.New) - (e.Span.End - e.Span.Start),
					Reason: fmt.Sprintf("the provider refused the thought behind message %d; what names it is taken off", i),
				})
			}
			edits = append(edits, found...)
		}
	}
	if edits == nil {
		return r, nil, nil
	}
	raw, err := jsonspan.Splice(r.raw, edits)
	if err != nil {
		return nil, nil, fmt.Errorf("unsign: %w", err)
	}
	o := r.o
	o.Model = r.head.model
	next, err := Parse(raw, o)
	return next, changes, err
}

// unsign finds nothing to take off.
func (commonPen) unsign(*Request, transcript.BlockID, bool) []jsonspan.Edit { return nil }

// unsign takes the signature off a part. The first call of a step must have one.
func (geminiPen) unsign(r *Request, b transcript.BlockID, first bool) (edits []jsonspan.Edit) {
	members := jsonspan.Members(r.raw, jsonspan.Span(r.t.Block(b).Span))
	signs := func(m jsonspan.Member) bool {
		name := r.name(m.Key)
		return name == "thoughtSignature" || name == "thought_signature"
	}
	if !first {
		return jsonspan.RemoveMembers(members, signs)
	}
	for _, m := range members {
		if signs(m) {
			edits = append(edits, skipped(r.raw, m)...)
		}
	}
	return edits
}

// unsign puts the value that skips the test on a thought: a call wants a signed one in front
// of it.
func (interactionsPen) unsign(r *Request, b transcript.BlockID, _ bool) []jsonspan.Edit {
	if r.t.Block(b).Kind != transcript.Thinking {
		return nil
	}
	m, ok := jsonspan.Find(r.raw, jsonspan.Span(r.t.Block(b).Span), "signature")
	if !ok {
		return nil
	}
	return skipped(r.raw, m)
}

// skipped replaces a signature, unless that has been done.
func skipped(raw []byte, m jsonspan.Member) []jsonspan.Edit {
	q := quote(skippedSignature)
	if string(raw[m.Value.Start:m.Value.End]) == string(q) {
		return nil
	}
	return []jsonspan.Edit{{Span: m.Value, New: q}}
}

// unsign takes off the id that the server gave an item. It is a call's or a message's own
// affair: calls are paired by their call_id, and items of other kinds need their id.
func (responsesPen) unsign(r *Request, b transcript.BlockID, _ bool) []jsonspan.Edit {
	m := r.t.Messages()[r.t.Block(b).Message]
	if b != m.First {
		return nil
	}
	if !r.idIsOptional(m.Span) {
		return nil
	}
	return jsonspan.RemoveMember(r.raw, jsonspan.Span(m.Span), "id")
}

// idIsOptional reports whether an item of the Responses API does without the id that the
// server gave it.
func (r *Request) idIsOptional(item transcript.Span) bool {
	is := func(kind string) bool { return r.memberIs(item, "type", kind) }
	return slices.ContainsFunc([]string{"function_call", "custom_tool_call", "message"}, is)
}
