package histories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// spellings are ways to write the same value: those of real clients, and one that only the
// grammar allows.
var spellings = []jsontree.Spelling{
	{Indent: "  "},
	{Indent: "\t", Keys: jsontree.KeysSorted, Escapes: jsontree.EscapeNonASCII},
	{Keys: jsontree.KeysReversed},
	{Escapes: jsontree.EscapeAll},
}

// CheckSpelling checks that white space, the order of keys and escapes change neither the
// findings nor the pairs.
func CheckSpelling(tb testing.TB, body []byte, o wire.Options) {
	tb.Helper()
	want, ok := newReading(body, o)
	if !ok {
		return
	}
	for _, s := range spellings {
		again, err := jsontree.Respell(body, s)
		if err != nil {
			return
		}
		got, ok := newReading(again, o)
		if diff := want.describeDiff(got); !ok || diff != "" {
			tb.Errorf("spelled %+v, the reading changes: %s\n%s", s, diff, excerpt(again))
		}
	}
}

// CheckModes checks that a structural reading of valid JSON without flaws gives the same index
// as a strict one.
func CheckModes(tb testing.TB, body []byte, o wire.Options) {
	tb.Helper()
	if jsonspan.Valid(body) != nil {
		return
	}
	o.Structural = false
	strict, ok := newReading(body, o)
	o.Structural = true
	structural, also := newReading(body, o)
	if diff := strict.describeDiff(structural); ok != also || diff != "" {
		tb.Errorf("strict and structural differ: %s\n%s", diff, excerpt(body))
	}
}

// CheckRepeatedKeys checks that the last of several equal keys in an object wins, as in the
// providers' parsers. Without the earlier ones the reading is the same, except for the finding
// about them.
func CheckRepeatedKeys(tb testing.TB, body []byte, o wire.Options) {
	tb.Helper()
	root, err := jsontree.Parse(body)
	if err != nil {
		return
	}
	repeats := false
	root.Walk(func(n *jsontree.Node) {
		if n.Kind == jsonspan.Object && n.RepeatsKey() {
			repeats = true
			n.DropRepeated()
		}
	})
	if !repeats {
		return
	}
	// Half a surrogate pair is in the bytes, whether its member wins or not.
	unlessRead := func(f string) bool {
		return strings.HasPrefix(f, "duplicate-key ") || strings.HasPrefix(f, "lone-surrogate ")
	}
	want, ok := newReading(root.Write(nil, jsontree.Spelling{}, 0), o)
	got, also := newReading(body, o)
	want.findings = slices.DeleteFunc(want.findings, unlessRead)
	got.findings = slices.DeleteFunc(got.findings, unlessRead)
	if diff := want.describeDiff(got); ok != also || diff != "" {
		tb.Errorf("without the repeated key differs: %s\n%s", diff, excerpt(body))
	}
}

// pairRules lists the findings that depend on the messages only.
var pairRules = []string{
	"orphan-call", "orphan-result", "displaced-result", "duplicate-result", "duplicate-call-id", "split-results", "result-after-text",
	"call-wrong-role", "result-wrong-role", "id-missing", "name-missing",
}

// CheckBare checks that the list of messages has the same pairs alone as inside its body, if
// both get the body's model. It skips bodies that continue a history stored by the provider,
// because their results may answer calls that are not in the body.
func CheckBare(tb testing.TB, body []byte, o wire.Options) {
	tb.Helper()
	r, err := wire.Parse(body, o)
	root, err2 := jsontree.Parse(body)
	if err != nil || err2 != nil || root.Kind != jsonspan.Object {
		return
	}
	ms := root.Get(strings.TrimSuffix(r.MessagePath(0), ".0"))
	if ms == nil || ms.Kind != jsonspan.Array || root.Get("previous_response_id") != nil || root.Get("previous_interaction_id") != nil || root.Get("conversation") != nil {
		return
	}
	o.Dialect, o.Model = r.Dialect, r.Model()
	full, _ := newReading(body, o)
	bare, _ := newReading(body[ms.Span.Start:ms.Span.End], o)
	other := func(f string) bool {
		rule, _, _ := strings.Cut(f, " ")
		return !slices.Contains(pairRules, rule)
	}
	full.findings, bare.findings = slices.DeleteFunc(full.findings, other), slices.DeleteFunc(bare.findings, other)
	if diff := full.describeDiff(bare); diff != "" {
		tb.Errorf("%s: the bare list differs: %s\n%s", r.Dialect, diff, excerpt(body))
	}
}

// A reading holds the properties of a request that must not depend on its spelling.
type reading struct {
	findings  []string // rule and path, sorted
	exchanges []string // state and paths
	messages  []string // role, turn and where a history may begin
	blocks    []string // path and kind, sorted
}

func newReading(body []byte, o wire.Options) (reading, bool) {
	r, err := wire.Parse(body, o)
	if err != nil {
		return reading{}, false
	}
	var got reading
	for _, f := range r.Check(wire.CheckOptions{Strict: true, Advice: true}) {
		got.findings = append(got.findings, f.Rule+" "+f.Path)
	}
	slices.Sort(got.findings)
	for _, x := range r.Transcript().Exchanges() {
		line := fmt.Sprintf("%s %s guessed=%t repeats=%t", x.State, x.Tool, x.Guessed, x.Repeats)
		if x.Call != transcript.NoBlock {
			line += " " + r.Path(x.Call)
		}
		for _, b := range x.Results {
			line += " -> " + r.Path(b)
		}
		got.exchanges = append(got.exchanges, line)
	}
	for i, m := range r.Transcript().Messages() {
		got.messages = append(got.messages, fmt.Sprintf("%s turn=%d begins=%t", m.Role, m.Turn, m.Begins))
		for b := m.First; b < m.End; b++ {
			blk := r.Transcript().Block(b)
			got.blocks = append(got.blocks, fmt.Sprintf("%d %s %s %s failed=%t", i, r.Path(b), blk.Kind, blk.Tool, blk.Failed))
		}
	}
	slices.Sort(got.blocks)
	return got, true
}

// describeDiff describes the difference of two readings, or returns "".
func (a reading) describeDiff(b reading) string {
	switch {
	case !slices.Equal(a.findings, b.findings):
		return fmt.Sprintf("findings %q become %q", a.findings, b.findings)
	case !slices.Equal(a.exchanges, b.exchanges):
		return fmt.Sprintf("exchanges %q become %q", a.exchanges, b.exchanges)
	case !slices.Equal(a.messages, b.messages):
		return fmt.Sprintf("messages %q become %q", a.messages, b.messages)
	case !slices.Equal(a.blocks, b.blocks):
		return fmt.Sprintf("blocks %q become %q", a.blocks, b.blocks)
	}
	return ""
}
