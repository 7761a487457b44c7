package config

import (
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Repair says how broken histories are repaired. Many goroutines may read it.
type Repair struct {
	// A call without a result: "stub" answers that the outcome is unknown, "drop" removes the call. Default: stub.
	OrphanCall string `json:"orphan_call,omitempty" enum:"stub,drop"`
	// A result without a call: "text" keeps it as quoted text, "drop" removes it. Default: text.
	OrphanResult string `json:"orphan_result,omitempty" enum:"text,drop"`
	// Leave calls at the end open, because they may still be running: right for a store, wrong for a request. Default: false.
	KeepOpen bool `json:"keep_open,omitempty"`
	// What a stub says; {tool} and {id} stand for those of the call. Default: that the outcome is unknown.
	Stub string `json:"stub,omitempty"`
}

// remedies turns what the file says into what the engine does, and reports what is
// wrong.
func (r Repair) remedies(s *source) wire.Repair {
	p := wire.Repair{Open: r.KeepOpen}
	s.choose("repair.orphan_call", r.OrphanCall, "stub", "drop")
	if r.OrphanCall == "drop" {
		p.OrphanCall = wire.RemedyDrop
	}
	s.choose("repair.orphan_result", r.OrphanResult, "text", "drop")
	if r.OrphanResult == "drop" {
		p.OrphanResult = wire.RemedyDrop
	}
	r.checkStub(s)
	if r.Stub != "" {
		p.Stub = func(x transcript.Exchange) string {
			return strings.NewReplacer("{tool}", x.Tool, "{id}", x.CallID).Replace(r.Stub)
		}
	}
	return p
}

// checkStub reports placeholders that stand for nothing.
func (r Repair) checkStub(s *source) {
	rest := r.Stub
	for {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return
		}
		word, behind, closed := strings.Cut(after, "}")
		if !closed {
			return
		}
		if isWord(word) && word != "tool" && word != "id" {
			s.fail("repair.stub", "write {tool} or {id}", "{%s} stands for nothing", word)
			return
		}
		rest = behind
	}
}

func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) < 0
}
