package rules

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// SupersededWrites clears or drops writes and edits of a file that a later message
// replaces as a whole, successfully. A later edit supersedes nothing: what it
// changes is not all there is. Neither does a write that failed, or one that was
// made in the same turn, because nobody knows which of the two came first. It is a value
// that many goroutines may use.
type SupersededWrites struct {
	// What to do with a write that is superseded: "clear" its arguments and its result, or "drop" the exchange. Default: clear.
	Mode string `json:"mode,omitempty" enum:"clear,drop"`
	// Arguments and results that are shorter are left alone. Default: 512.
	MinBytes int `json:"min_bytes,omitempty"`
	// Leave edits alone and touch whole writes only. Default: false.
	KeepEdits bool `json:"keep_edits,omitempty"`
	Scope
}

// Rule returns the rule, or what is wrong with its options.
func (o SupersededWrites) Rule() (pare.Rule, error) {
	guard := o.guard()
	rule := pare.Rule{
		Name:   "superseded-writes",
		Doc:    "clear writes and edits of a file that a later successful write replaced as a whole",
		Before: protectors(),
		Recent: true,
	}
	writes := func(k *known) bool { return k.Kind == kindWrite || k.Kind == kindEdit }
	rule.Prepare = func(r *wire.Request) (pare.Process, error) {
		s := guard.sightOf(r)
		return s.votes(rule.Name, o.MinBytes, func() []victim { return s.overwritten(inOrder(s.superseded(s.among(writes))), o) }), nil
	}
	var wrong faults
	wrong.mode(o.Mode, modeClear, modeDrop)
	wrong.atLeast("min_bytes", o.MinBytes, 0)
	wrong.scope(o.Scope)
	return rule, wrong.of(rule)
}

// superseded walks back from the end, so that the first whole write it meets of a
// file is the one that holds.
func (s *sight) superseded(among []int) (all []finding) {
	holds := make(map[string]int) // file → the latest exchange that wrote it whole
	xs := s.t.Exchanges()
	for _, i := range slices.Backward(among) {
		u := s.written(&xs[i])
		if u.file == "" {
			continue
		}
		by, ok := holds[u.file]
		switch {
		case !ok && u.kind == kindWrite && s.outcome(&xs[i]) == transcript.OutcomeSucceeded:
			holds[u.file] = i
		case ok && s.turn(i) < s.turn(by):
			all = append(all, finding{exchange: i, by: by, about: about{u.kind, u.file}})
		}
	}
	return all
}

// written is what a call writes or edits; its file is "" if it does neither.
func (s *sight) written(x *transcript.Exchange) use {
	u := s.used(s.tool(x.Tool), x)
	if u.kind != kindWrite && u.kind != kindEdit {
		u.file = ""
	}
	return u
}

// overwritten says what is to be done about what was superseded.
func (s *sight) overwritten(found []finding, o SupersededWrites) []victim {
	all := make([]victim, 0, len(found))
	for _, f := range found {
		if s.guards(f.about.file) || f.about.kind == kindEdit && o.KeepEdits {
			continue
		}
		all = append(all, victim{exchange: f.exchange, about: f.about, why: s.later("the file was written as a whole by ", f.by, ""), drop: o.Mode == modeDrop})
	}
	return all
}

// turn returns the turn of an exchange's call.
func (s *sight) turn(i int) int { return s.t.Messages()[s.message(i)].Turn }
