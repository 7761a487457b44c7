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

// spellings are ways to write the same value that real clients use, and one that
// only the grammar knows.
var spellings = []jsontree.Spelling{
	{Indent: "  "},
	{Indent: "\t", Keys: jsontree.KeysSorted, Escapes: jsontree.EscapeNonASCII},
	{Keys: jsontree.KeysReversed},
	{Escapes: jsontree.EscapeAll},
}

// CheckSpelling checks that white space, the order of keys and escapes change
// neither what is found nor how calls are paired.
func CheckSpelling(tb testing.TB, body []byte, o wire.Options) {
	tb.Helper()
	want, ok := read(body, o)
	if !ok {
		return
	}
	for _, s := range spellings {
		again, err := jsontree.Respell(body, s)
		if err != nil {
			return
		}
		got, ok := read(again, o)
		if diff := want.diff(got); !ok || diff != "" {
			tb.Errorf("spelled %+v, the reading changes: %s\n%s", s, diff, excerpt(again))
		}
	}
}

// CheckModes checks that a structural reading of valid JSON without flaws finds
// what a strict one finds.
func CheckModes(tb testing.TB, body []byte, o wire.Options) {
	tb.Helper()
	if jsonspan.Valid(body) != nil {
		return
	}
	o.Structural = false
	strict, ok := read(body, o)
	o.Structural = true
	structural, also := read(body, o)
	if diff := strict.diff(structural); ok != also || diff != "" {
		tb.Errorf("strict and structural differ: %s\n%s", diff, excerpt(body))
	}
}

// CheckRepeatedKeys checks that where a key stands twice in one object the last
// one wins, as in the providers' parsers: without the earlier ones the reading is
// the same, but for the finding about it.
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
	want, ok := read(root.Write(nil, jsontree.Spelling{}, 0), o)
	got, also := read(body, o)
	want.findings = slices.DeleteFunc(want.findings, unlessRead)
	got.findings = slices.DeleteFunc(got.findings, unlessRead)
	if diff := want.diff(got); ok != also || diff != "" {
		tb.Errorf("without the repeated key differs: %s\n%s", diff, excerpt(body))
	}
}

// pairing are the findings that do not depend on what stands beside the messages.
var pairing = []string{
	"orphan-call", "orphan-result", "displaced-result", "duplicate-result", "duplicate-call-id", "split-results", "result-after-text",
	"call-wrong-role", "result-wrong-role", "id-missing", "name-missing",
}

// CheckBare checks that the list of messages alone is paired as it is inside its
// body, whose model is told to both. A body that goes on from what the provider
// has stored is passed over: its results may answer calls that are not in it.
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
	full, _ := read(body, o)
	bare, _ := read(body[ms.Span.Start:ms.Span.End], o)
	other := func(f string) bool {
		rule, _, _ := strings.Cut(f, " ")
		return !slices.Contains(pairing, rule)
	}
	full.findings, bare.findings = slices.DeleteFunc(full.findings, other), slices.DeleteFunc(bare.findings, other)
	if diff := full.diff(bare); diff != "" {
		tb.Errorf("%s: the bare list differs: %s\n%s", r.Dialect, diff, excerpt(body))
	}
}

// A reading is what must not depend on how a request is spelled.
type reading struct {
	findings  []string // rule and path, sorted
	exchanges []string // state and paths
	messages  []string // role, turn and where a history may begin
	blocks    []string // path and kind, sorted
}

func read(body []byte, o wire.Options) (reading, bool) {
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

// diff says in what two readings differ, or "".
func (a reading) diff(b reading) string {
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
