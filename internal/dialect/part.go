package dialect

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// Before returns the body of the request that ends in front of a cut of its
// transcript: its head as it is, and the messages in front of the cut, byte for byte.
// All pairs in it are whole. To be sent it may need one more turn of the user, which a
// repair adds. It panics if the cut was made by another transcript.
func (r *Request) Before(cut transcript.Cut) []byte {
	r.mustHave(cut)
	return r.without(cut.Before(), len(r.t.Messages()))
}

// After returns the body of the request that begins at a cut of its transcript: its
// head as it is, the system's messages that the history begins with, the provider's
// compaction of what stands in front, and the messages behind the cut, byte for byte. All
// pairs in it are whole. Behind a cut inside a run of tool use the model speaks first, which
// a repair puts right. It panics if the cut was made by another transcript.
func (r *Request) After(cut transcript.Cut) []byte {
	r.mustHave(cut)
	system := 0
	for system < cut.Before() && r.t.Messages()[system].Role == transcript.System {
		system++
	}
	if r.t.IsCompacted() && r.t.StartMessage() < cut.Before() {
		ms := r.t.Messages()
		return slices.Concat(r.raw[:ms[0].Span.Start], r.compactionMessage(), []byte(","), r.raw[ms[cut.Before()].Span.Start:])
	}
	return r.without(system, cut.Before())
}

// mustHave keeps pairs whole: where another transcript has a cut, this one may have half of
// a pair.
func (r *Request) mustHave(cut transcript.Cut) {
	if cut != (transcript.Cut{}) && !r.t.HasCut(cut) {
		panic(fmt.Sprintf("wire: message %d is no cut of this request", cut.Before()))
	}
}

// compactionMessage returns the provider's last compaction as a message of its own, as it
// is sent in the place of everything up to it; nil if there is none.
func (r *Request) compactionMessage() []byte {
	if !r.t.IsCompacted() {
		return nil
	}
	b := r.t.Start()
	m := r.t.Messages()[r.t.Block(b).Message]
	if r.where[b].in == inMessage || m.End-m.First == 1 {
		return r.t.Bytes(m.Span)
	}
	return object("role", r.g.assistant, r.g.blocks.member(), array(r.t.Bytes(r.t.Block(b).Span)))
}

// without returns the body without messages from up to to. Nothing to leave out
// returns the body itself.
func (r *Request) without(from, to int) []byte {
	ms := r.t.Messages()
	switch {
	case from >= to:
		return r.raw
	case from == 0 && to == len(ms): // a list, whatever it was
		return slices.Concat(r.raw[:r.list.Start], []byte("[]"), r.raw[r.list.End:])
	case to == len(ms):
		return slices.Concat(r.raw[:ms[from-1].Span.End], r.raw[ms[to-1].Span.End:])
	}
	return slices.Concat(r.raw[:ms[from].Span.Start], r.raw[ms[to].Span.Start:])
}
