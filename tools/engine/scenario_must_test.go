package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// voices are the roles of utterances.
var voices = []string{"system", "user", "assistant", "think", "call", "result", "other"}

// must checks one thing that a scenario demands.
func (o *outcome) must(t *testing.T, demand string) {
	t.Helper()
	if who, text, ok := strings.Cut(demand, ": "); ok {
		who, not := strings.CutPrefix(who, "no ")
		if slices.Contains(voices, who) {
			switch {
			case not:
				mustNotSay(t, o.us, who, text)
			case o.plan != nil && len(o.plan.Remaining()) > 0: // named; nothing may be lost all the same
				if !bytes.Contains(o.out, []byte(text)) {
					t.Errorf("%q is lost: %s", text, o.out)
				}
			default:
				mustSay(t, o.us, who, text)
			}
			return
		}
	}
	holds, known := o.holds(t, demand)
	if !known {
		t.Fatalf("nobody knows what it means: must %s", demand)
	}
	if !holds {
		t.Errorf("must %s\nin  %.3000s\nout %.3000s\n%+v\n%v", demand, o.body, o.out, o.us, o.notes)
	}
}

// holds reports whether a demand is met, and whether it is known.
func (o *outcome) holds(t *testing.T, demand string) (met, known bool) {
	t.Helper()
	switch demand {
	case "change nothing":
		return o.small == nil && o.plan.Empty(), true
	case "be the same buffer":
		return len(o.out) == len(o.body) && &o.out[0] == &o.body[0] && len(o.found) == 0, true
	case "be paired":
		return planner.IsPaired(o.in), true
	case "not be paired":
		return !planner.IsPaired(o.in), true
	case "say something":
		return len(o.us) > 0, true
	case "not think in vain":
		noLoneThinking(t, o.us)
		return true, true
	case "keep the thinking or name it":
		named := slices.ContainsFunc(o.plan.Changes(), func(c wire.Change) bool { return c.Rule == "thinking-altered" || c.Rule == "unknown-field" })
		return named || len(heard(o.us, "think")) == 1, true
	case "have JSON arguments":
		return !slices.ContainsFunc(heard(o.us, "call"), func(s string) bool { return !json.Valid([]byte(s)) }), true
	case "be stable": // a second pass has nothing against what the first one kept
		again, err := planner.Prune(context.Background(), compile(t, saying("no such text")), o.plan.Result(), pare.Options{})
		return err == nil && again.Empty(), true
	}
	word, rest, _ := strings.Cut(demand, " ")
	switch word {
	case "answer":
		q := quoted(t, rest)
		return slices.Equal(answerTo(o.us, q[0]), q[1:]), true
	case "answers":
		q := quoted(t, strings.TrimPrefix(rest, "hold "))
		return slices.Contains(answerTo(o.us, q[0]), q[1]), true
	case "pair":
		q := quoted(t, rest)
		return o.pairs(q[0], q[1]), true
	case "raw", "no":
		return o.raw(t, demand), true
	case "all":
		who, texts, _ := strings.Cut(rest, " ")
		return slices.Equal(heard(o.us, who), quoted(t, texts)), true
	case "count", "most":
		who, n, _ := strings.Cut(rest, " ")
		if who == "messages" {
			return len(o.plan.Result().Transcript().Messages()) == o.number(t, n, "messages"), true
		}
		got, want := len(heard(o.us, who)), o.number(t, n, "messages")
		return got == want || word == "most" && got < want, true
	case "event":
		return len(o.plan.Events()) == 1 && string(o.plan.Events()[0].Type) == rest, true
	case "receipt":
		return slices.ContainsFunc(o.plan.Changes(), func(c wire.Change) bool { return c.Rule+" "+c.Path == rest }), true
	case "ids", "find", "orphans":
		return o.finds(t, word, rest), true
	case "fail":
		return o.failed != nil && o.failed.Error() == quoted(t, rest)[0], true
	case "keep":
		return o.keeps(t, strings.Fields(strings.TrimPrefix(rest, "calls "))), true
	}
	n := 0
	if _, err := fmt.Sscanf(demand, "change at most %d", &n); err == nil {
		return len(o.plan.Changes()) <= n, true
	}
	if _, err := fmt.Sscanf(demand, "shrink to %d", &n); err == nil {
		return len(o.out) <= n, true
	}
	if least, ok := strings.CutPrefix(demand, "be too small: "); ok {
		amount, unit, _ := strings.Cut(least, " ")
		return o.small != nil && fmt.Sprint(o.small.Unit) == unit && o.small.Minimum == o.number(t, amount, o.small.Unit), true
	}
	return false, false
}

// raw looks for texts in the bytes that came out, without white space.
func (o *outcome) raw(t *testing.T, demand string) bool {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, o.out); err != nil {
		t.Fatal(err)
	}
	if text, ok := strings.CutPrefix(demand, "no raw "); ok {
		return !strings.Contains(b.String(), quoted(t, text)[0])
	}
	if text, ok := strings.CutPrefix(demand, "raw once "); ok {
		return strings.Count(b.String(), quoted(t, text)[0]) == 1
	}
	return strings.Contains(b.String(), quoted(t, strings.TrimPrefix(demand, "raw "))[0])
}

// pairs reports whether the call of an id has exactly one result, with a text.
func (o *outcome) pairs(id, text string) bool {
	for _, x := range o.in.Transcript().Exchanges() {
		if x.CallID == id {
			return len(x.Results) == 1 && strings.Contains(o.in.Text(x.Results[0]), text)
		}
	}
	return false
}

// keeps reports whether exactly these calls of a chain remain.
func (o *outcome) keeps(t *testing.T, want []string) bool {
	t.Helper()
	var got []string
	for _, i := range keptCalls(t, o.d, o.plan, 9) {
		got = append(got, strconv.Itoa(i))
	}
	return slices.Equal(got, want)
}

// finds compares the orphans with ids, kinds or paths.
func (o *outcome) finds(t *testing.T, by, rest string) bool {
	t.Helper()
	var got, want []string
	for _, f := range o.found {
		got = append(got, map[string]string{
			"ids": f.CallID, "find": fmt.Sprintf("%s at %d", f.Kind, f.Index), "orphans": string(f.Kind) + " " + f.Path,
		}[by])
	}
	if by != "ids" {
		return slices.Equal(got, quoted(t, rest))
	}
	for id := range strings.FieldsSeq(rest) {
		want = append(want, histories.WireID(id, o.d, histories.RenderOptions{}))
	}
	return slices.Equal(got, want)
}

// orphans runs Orphans and IsPaired.
func (o *outcome) orphans() {
	o.found = pare.Orphans(o.in, false)
	for _, f := range o.found {
		o.notes = append(o.notes, fmt.Sprintf("%s at %d", f.Kind, f.Index))
	}
	if open := pare.Orphans(o.in, true); len(open) != len(o.found) {
		o.notes = append(o.notes, fmt.Sprintf("%d of them open", len(o.found)-len(open)))
	}
	if planner.IsPaired(o.in) {
		o.notes = append(o.notes, "paired")
	}
}

// prune drops the orphans and checks the event, and that the result is paired.
func (o *outcome) prune(t *testing.T) {
	t.Helper()
	r := o.in
	out, removed, event, err := pare.DropOrphans(r)
	if err != nil {
		t.Fatal(err)
	}
	o.out, o.found, o.us = out, removed, utterances(t, o.d, out)
	wholePairs(t, "pruned", o.d, o.us)
	after := reading(t, o.d, out)
	if !planner.IsPaired(after) {
		t.Errorf("not paired afterwards: %+v\n%s", pare.Orphans(after, false), out)
	}
	want := map[string]any{"total_messages": len(r.Transcript().Messages()), "orphan_count": len(removed), "retained_count": len(after.Transcript().Messages())}
	typ := "tool_pair_validated"
	if len(removed) > 0 {
		var indices []int
		for _, f := range removed {
			if !strings.HasPrefix(f.Path, r.MessagePath(f.Index)) || f.CallID == "" {
				t.Errorf("orphan %+v", f)
			}
			indices = append(indices, f.Index)
			o.notes = append(o.notes, fmt.Sprintf("%s at %d", f.Kind, f.Index))
		}
		typ, want["removed_indices"], want["orphans"] = "tool_pair_pruned", slices.Compact(slices.Sorted(slices.Values(indices))), removed
	}
	o.notes = append(o.notes, string(event.Type))
	if string(event.Type) != typ || compact(event.Metadata) != compact(want) {
		t.Errorf("event %s %s, want %s %s", event.Type, compact(event.Metadata), typ, compact(want))
	}
	if raw, err := json.Marshal(event); err != nil || !bytes.HasPrefix(raw, []byte(`{"type":"`+typ+`","metadata":{`)) {
		t.Errorf("the event as JSON: %s, %v", raw, err)
	}
	for id, blk := range r.Transcript().Blocks() {
		orphan := slices.ContainsFunc(removed, func(f pare.Orphan) bool { return f.Path == r.Path(transcript.BlockID(id)) })
		if raw := r.Transcript().Bytes(blk.Body); !orphan && !bytes.Contains(out, raw) {
			t.Errorf("%s is lost: %s", r.Path(transcript.BlockID(id)), raw)
		}
	}
	if again, gone, _, err := pare.DropOrphans(after); err != nil || len(gone) > 0 || &again[0] != &out[0] {
		t.Errorf("a second prune removes %v, %v", gone, err)
	}
}
