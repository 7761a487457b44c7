package agentlog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// atif reads trajectories in the Agent Trajectory Interchange Format, in which benchmarks exchange
// the runs of agents: one object with a list of steps. A step of the agent holds its text, its
// calls and their results. Results with observations of the environment itself name no call.
// Validators reject a file unless its steps are numbered from one without a gap.
type atif struct{}

var atifRow = formatSpec{
	format: ATIF, name: "atif", maker: "a benchmark (ATIF)", dialect: wire.Anthropic, form: atif{},
	lineEvidence: strongIf(isATIF), isDocument: isATIF,
	unitUsage: usageAt("metrics", []string{"prompt_tokens"}, []string{"completion_tokens"}),
}

func isATIF(o object) bool {
	list, ok := o.Get("steps")
	if !ok || o.Raw[list.Start] != '[' {
		return false
	}
	if strings.HasPrefix(o.Text("schema_version"), "ATIF-") {
		return true
	}
	for _, at := range jsonspan.Elements(o.Raw, list) {
		s := objectAt(o.Raw, at)
		return s.Has("step_id") && s.Has("source") && o.Has("agent")
	}
	return false
}

func (a atif) read(l *Log) {
	defaultModel := ""
	if at, ok := l.documentSpan(); ok {
		defaultModel = objectAt(l.raw, at).Object("agent").Text("model_name")
	}
	l.readListDocument("steps", func(b *bodyBuilder, u int, step object, pairs *pairCounts) (model string) {
		a.appendStep(l, b, u, step, pairs)
		if model = step.Text("model_name"); model == "" {
			model = defaultModel
		}
		return model
	})
}

// appendStep adds the messages of a step: first the text and the calls, then the results.
func (atif) appendStep(l *Log, body *bodyBuilder, unit int, step object, pairs *pairCounts) {
	role := map[string]string{"user": "user", "agent": "assistant"}[step.Text("source")]
	if role != "" {
		said := messageBuilder{counts: pairs}
		at, _ := step.Get("message")
		for _, text := range textBlocks(l.raw, at) {
			if objectOf(text).Text("text") != "" {
				said.add(text, at)
			}
		}
		for _, call := range step.Items("tool_calls") {
			said.addCall(call.Text("tool_call_id"), call.Text("function_name"), call.Value("arguments"), call.Span)
		}
		said.appendTo(body, unit, role)
	}
	// Providers require results right after their calls, so results without a call come last.
	for _, named := range []bool{true, false} {
		for _, r := range step.Object("observation").Items("results") {
			content, _ := r.Get("content")
			id, texts, seen := r.Text("source_call_id"), textBlocks(l.raw, content), messageBuilder{counts: pairs}
			if named != (id != "") {
				continue
			}
			if named {
				seen.addResult(id, texts, false, r.Span)
			} else {
				for _, text := range texts {
					seen.add(text, r.Span)
				}
			}
			seen.appendTo(body, unit, "user")
		}
	}
}

// repair answers open calls in their own step, moves results to the step of their call, and turns
// results without a call into observations of the environment.
func (a atif) repair(e *edits, t *Thread, o Options) error {
	tr := t.Request.Transcript()
	found := e.file.checkThread(t, o.Check)
	strays := make(map[string]*Finding)
	for i := range found {
		if finding := &found[i]; finding.Block != transcript.NoBlock && (finding.Rule == "orphan-result" || finding.Rule == "displaced-result") {
			strays[tr.Block(finding.Block).CallID] = finding
		}
	}
	for _, finding := range found {
		if finding.Block == transcript.NoBlock || e.heldUnits[finding.unit] || finding.Open && o.Repair.Open {
			continue
		}
		if o.AppendOnly {
			return ErrAppendOnly
		}
		ch := Change{Thread: t.Name, Line: finding.Line}
		id := tr.Block(finding.Block).CallID
		switch finding.Rule {
		case "orphan-call":
			if s := strays[id]; s != nil && s.unit != finding.unit {
				raw := a.takeResult(e, s.unit, id, nil)
				if raw == nil {
					continue
				}
				a.addResult(e, finding.unit, raw)
				delete(strays, id)
				e.addChange(ch.with(wire.Change{Action: wire.ActionMove, Rule: finding.Rule, IDs: finding.IDs}), "a result moved to the step of its call")
				continue
			}
			text := stubText(o.Repair, tr, finding.Block)
			a.addResult(e, finding.unit, write("source_call_id", id, "content", text))
			e.addChange(ch.with(wire.Change{Action: wire.ActionInsert, Rule: finding.Rule, IDs: finding.IDs, Bytes: len(text)}), "a stub: %s", text)
		case "orphan-result", "displaced-result", "duplicate-result":
			if finding.Rule != "duplicate-result" && strays[id] == nil {
				continue // already moved
			}
			text := t.Request.Text(finding.Block)
			if a.takeResult(e, finding.unit, id, write("content", quotation+text)) != nil {
				e.addChange(ch.with(wire.Change{Action: wire.ActionEdit, Rule: finding.Rule, IDs: finding.IDs}), "a result whose call is not in the step, kept as what the environment says")
			}
		}
	}
	return nil
}

func (atif) addResult(e *edits, u int, result []byte) {
	body := e.unitBytes(u)
	seen := objectAt(body, jsonspan.Span{End: len(body)}).Object("observation")
	var all [][]byte
	for _, at := range seen.List("results") {
		all = append(all, body[at.Start:at.End])
	}
	all = append(all, result)
	if len(seen.Members) == 0 {
		e.setMembers(u, "observation", write("results", array(all...)))
		return
	}
	e.setMembers(u, "observation", seen.With("results", array(all...)))
}

// takeResult removes the last result of a call from a step, or replaces it by instead, and returns
// the old result. It returns nil if the step has none.
func (atif) takeResult(e *edits, u int, id string, instead []byte) (taken []byte) {
	body := e.unitBytes(u)
	seen := objectAt(body, jsonspan.Span{End: len(body)}).Object("observation")
	var all [][]byte
	for _, at := range slices.Backward(seen.List("results")) {
		raw := body[at.Start:at.End]
		if taken == nil && objectAt(body, at).Text("source_call_id") == id {
			if taken = bytes.Clone(raw); instead == nil {
				continue
			}
			raw = instead
		}
		all = append(all, raw)
	}
	if slices.Reverse(all); taken != nil {
		e.setMembers(u, "observation", seen.With("results", array(all...)))
	}
	return taken
}

// shorten removes steps and calls with their results, shortens results, and renumbers the steps.
func (a atif) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	kept, err := keptPieces(e, t, plan, atifText)
	if err != nil {
		return err
	}
	for group := range e.unitGroups(t, kept) {
		a.shortenStep(e, t, group)
	}
	a.renumberSteps(e)
	return nil
}

// atifText returns a step with a text.
func atifText(role transcript.Role, text []byte) []byte {
	source := "user"
	if role == transcript.Assistant {
		source = "agent"
	}
	return write("step_id", []byte("0"), "source", source, "message", text)
}

// shortenStep removes the dropped messages from a step.
func (atif) shortenStep(e *edits, t *Thread, group unitGroup) {
	unit, first, end := group.unit, group.first, group.end
	step := e.file.object(unit)
	var results [][]byte
	var pairs []any
	seen := step.Object("observation").List("results")
	spoken := first < end && len(step.List("tool_calls")) > 0 || end-first > len(seen)
	at := first
	if spoken { // the message before the results
		p, ok := group.kept[first]
		at++
		if !ok || p.raw != nil {
			head := objectAt(p.raw, jsonspan.Span{End: len(p.raw)})
			text, calls := leftOf(head)
			var stay [][]byte
			for _, c := range step.List("tool_calls") {
				if _, ok := calls[objectAt(e.file.raw, c).Text("tool_call_id")]; ok {
					stay = append(stay, e.file.raw[c.Start:c.End])
				}
			}
			pairs = append(pairs, "message", text)
			if step.Has("tool_calls") {
				pairs = append(pairs, "tool_calls", array(stay...))
			}
		}
	}
	for i := at; i < end; i++ {
		p, ok := group.kept[i]
		place := t.sources[i].blockSpans[0]
		switch old := e.file.raw[place.Start:place.End]; {
		case !ok:
		case p.raw == nil:
			results = append(results, old)
		default:
			x := objectAt(p.raw, jsonspan.Span{End: len(p.raw)})
			for _, b := range x.List("content") {
				r := objectAt(x.Raw, b)
				said := r.Text("text")
				if r.Text("type") == "tool_result" {
					said = resultText(x.Raw, r)
				}
				results = append(results, setMembers(old, "content", said))
			}
		}
	}
	if len(seen) > 0 {
		pairs = append(pairs, "observation", step.Object("observation").With("results", array(results...)))
	}
	if used := step.Object("metrics"); used.Has("prompt_tokens") {
		pairs = append(pairs, "metrics", used.With("prompt_tokens", []byte("0")))
	}
	e.setMembers(unit, pairs...)
}

// renumberSteps numbers the remaining steps from one.
func (atif) renumberSteps(e *edits) {
	n := 0
	renumber := func(step []byte) []byte {
		n++
		return setMembers(step, "step_id", strconv.AppendInt(nil, int64(n), 10))
	}
	for u := range e.file.units {
		x := e.units[u]
		if x == nil {
			n++
			if string(e.file.object(u).Value("step_id")) != strconv.Itoa(n) {
				n--
				e.unit(u).body = renumber(e.unitBytes(u))
			}
			continue
		}
		for i := range x.before {
			x.before[i] = renumber(x.before[i])
		}
		if !x.drop {
			x.body = renumber(e.unitBytes(u))
		}
		for i := range x.after {
			x.after[i] = renumber(x.after[i])
		}
	}
}
