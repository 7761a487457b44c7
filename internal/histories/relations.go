package histories

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// CheckReading checks the relations that hold for any bytes: reading returns an error of a
// documented type, or a sound index, and a second reading gives the same. It returns the
// request, or nil.
func CheckReading(tb testing.TB, body []byte, o wire.Options) *wire.Request {
	tb.Helper()
	r, err := wire.Parse(body, o)
	if err != nil {
		var syntax *wire.SyntaxError
		if !errors.As(err, &syntax) && !errors.Is(err, wire.ErrNotRequest) {
			tb.Errorf("parse: an error of another kind: %v\n%s", err, excerpt(body))
		}
		return nil
	}
	CheckSpans(tb, r)
	CheckExchanges(tb, r.Transcript())
	CheckAtoms(tb, r.Transcript())
	CheckCuts(tb, r.Transcript())
	found := r.Check(wire.CheckOptions{Strict: true, Advice: true})
	for _, f := range found {
		if f.Rule == "" || f.Source == "" || f.IDs == nil {
			tb.Errorf("an unfinished finding: %+v\n%s", f, excerpt(body))
		}
	}
	if again := r.Check(wire.CheckOptions{Strict: true, Advice: true}); !reflect.DeepEqual(found, again) {
		tb.Errorf("checked twice:\n%v\n%v\n%s", found, again, excerpt(body))
	}
	return r
}

// CheckSpans checks that messages are the elements of the list, that every block is at its
// path, inside its message and without overlap, and that the span of an edit is inside its
// block.
func CheckSpans(tb testing.TB, r *wire.Request) {
	tb.Helper()
	root, err := jsontree.Parse(r.Raw())
	if err != nil {
		return // structural reading of bytes that are not quite JSON: there is no tree to compare
	}
	t := r.Transcript()
	fail := func(format string, args ...any) {
		tb.Helper()
		tb.Errorf("%s: %s\n%s", r.Dialect, fmt.Sprintf(format, args...), excerpt(r.Raw()))
	}
	if root.Kind == jsonspan.Array {
		root = jsontree.Object(strings.TrimSuffix(r.MessagePath(0), ".0"), root)
	}
	next := transcript.BlockID(0)
	for i, m := range t.Messages() {
		at := root.At(r.MessagePath(i))
		if at == nil && i == 0 { // Responses take a string for the list
			at = root.At(strings.TrimSuffix(r.MessagePath(0), ".0"))
		}
		if at == nil || transcript.Span(at.Span) != m.Span {
			fail("message %d is at %v, not where its path says", i, m.Span)
			return
		}
		if m.First != next || m.End < m.First {
			fail("message %d has blocks %d up to %d, but the one before ended at %d", i, m.First, m.End, next)
			return
		}
		next = m.End
		checkBlocks(fail, r, root, i)
	}
	if int(next) != len(t.Blocks()) {
		fail("%d blocks, but messages hold %d", len(t.Blocks()), next)
	}
}

func checkBlocks(fail func(string, ...any), r *wire.Request, root *jsontree.Node, i int) {
	m := r.Transcript().Messages()[i]
	var taken []transcript.Span
	for b := m.First; b < m.End; b++ {
		blk := r.Transcript().Block(b)
		path := r.Path(b)
		switch at := root.At(path); {
		case blk.Message != i:
			fail("block %s says message %d, not %d", path, blk.Message, i)
		case !spanContains(blk.Span, m.Span):
			fail("block %s at %v is outside of its message at %v", path, blk.Span, m.Span)
		case !spanContains(blk.Body, blk.Span):
			fail("the body of block %s at %v is outside of the block at %v", path, blk.Body, blk.Span)
		case at == nil && strings.HasPrefix(path, "input.0"): // a string for the list
		case at == nil:
			fail("block %s: nothing is there", path)
		case transcript.Span(at.Span) != blk.Span:
			fail("block %s is at %v, its path at %v", path, blk.Span, at.Span)
		}
		taken = append(taken, blk.Span)
	}
	slices.SortFunc(taken, func(a, b transcript.Span) int { return a.Start - b.Start })
	for j := 1; j < len(taken); j++ {
		if taken[j].Start < taken[j-1].End {
			fail("two blocks of message %d overlap: %v and %v", i, taken[j-1], taken[j])
		}
	}
}

func spanContains(inner, outer transcript.Span) bool {
	return outer.Start <= inner.Start && inner.Start <= inner.End && inner.End <= outer.End
}

// CheckExchanges checks that every call and result belongs to one exchange, that calls precede
// their results, and that each state matches the blocks.
func CheckExchanges(tb testing.TB, t *transcript.Transcript) {
	tb.Helper()
	fail := func(x transcript.Exchange, format string, args ...any) {
		tb.Helper()
		tb.Errorf("exchange %+v: %s\n%s", x, fmt.Sprintf(format, args...), excerpt(t.Raw()))
	}
	owner := make([]transcript.ExchangeID, len(t.Blocks()))
	for i := range owner {
		owner[i] = transcript.NoExchange
	}
	last := transcript.NoBlock
	for i, x := range t.Exchanges() {
		halves := slices.Clone(x.Results)
		if x.Call != transcript.NoBlock {
			halves = append([]transcript.BlockID{x.Call}, halves...)
		}
		if len(halves) == 0 || !slices.IsSorted(halves) {
			fail(x, "its blocks are not in order")
			return
		}
		if halves[0] <= last {
			fail(x, "it begins before the exchange before it")
		}
		last = halves[0]
		for _, b := range halves {
			if owner[b] != transcript.NoExchange {
				fail(x, "block %d is in two exchanges", b)
			}
			owner[b] = transcript.ExchangeID(i)
		}
		if first := t.Block(halves[0]); first.CallID != x.CallID || first.Tool != x.Tool {
			fail(x, "its first block is of %q %q", first.CallID, first.Tool)
		}
		if why := stateError(t, x); why != "" {
			fail(x, "%s", why)
		}
	}
	for b, blk := range t.Blocks() {
		half := blk.Kind == transcript.Call || blk.Kind == transcript.Result || blk.Kind == transcript.ServerCall || blk.Kind == transcript.ServerResult
		if id := t.ExchangeOf(transcript.BlockID(b)); id != owner[b] || half != (id != transcript.NoExchange) {
			tb.Errorf("block %d, a %s, says exchange %d and is in %d\n%s", b, blk.Kind, id, owner[b], excerpt(t.Raw()))
		}
	}
}

// stateError returns the reason why the state of x is wrong, or "".
func stateError(t *transcript.Transcript, x transcript.Exchange) string {
	turn := func(b transcript.BlockID) int { return t.Messages()[t.Block(b).Message].Turn }
	call, result := transcript.Call, transcript.Result
	if x.Server {
		call, result = transcript.ServerCall, transcript.ServerResult
	}
	if x.Call != transcript.NoBlock && t.Block(x.Call).Kind != call {
		return "its call is a " + t.Block(x.Call).Kind.String()
	}
	for _, r := range x.Results {
		switch blk := t.Block(r); {
		case blk.Kind != result:
			return "its result is a " + blk.Kind.String()
		case x.Call == transcript.NoBlock:
		case !x.Guessed && !x.Server && blk.CallID != x.CallID:
			return "its result has the id " + blk.CallID
		case x.CallID != "" && blk.CallID != "" && blk.CallID != x.CallID:
			return "two ids are guessed to be one"
		case blk.Family != t.Block(x.Call).Family && blk.CallID != "":
			return "its result is of another family"
		}
	}
	n := len(x.Results)
	switch x.State {
	case transcript.Whole, transcript.Displaced:
		if x.Call == transcript.NoBlock || n != 1 {
			return "not one call and one result"
		}
		if x.State == transcript.Displaced && turn(x.Results[0]) == turn(x.Call)+1 {
			return "displaced, but in the turn after the call"
		}
	case transcript.Open:
		if n != 0 || turn(x.Call) != t.Turns()-1 {
			return "open, but answered or not in the last turn"
		}
	case transcript.OrphanCall:
		if n != 0 || turn(x.Call) == t.Turns()-1 {
			return "an orphan, but answered or in the last turn"
		}
	case transcript.OrphanResult:
		if x.Call != transcript.NoBlock || n != 1 {
			return "an orphan, but not one result alone"
		}
	case transcript.Duplicate:
		if x.Call == transcript.NoBlock || n < 2 && !x.Repeats {
			return "a duplicate, but of nothing"
		}
	}
	if x.Repeats && x.State != transcript.Duplicate {
		return "it repeats an id, but is no duplicate"
	}
	return ""
}

// CheckAtoms checks that the atoms are exactly the sets of blocks that mutual ties
// connect, numbered in order, and that needs are exactly the one-way ties between
// them.
func CheckAtoms(tb testing.TB, t *transcript.Transcript) {
	tb.Helper()
	fail := func(format string, args ...any) {
		tb.Helper()
		tb.Errorf("%s\n%s", fmt.Sprintf(format, args...), excerpt(t.Raw()))
	}
	// Colour the blocks from scratch, by walking along the ties.
	near := make([][]transcript.BlockID, len(t.Blocks()))
	for _, tie := range t.Ties() {
		if tie.Mutual {
			near[tie.From], near[tie.To] = append(near[tie.From], tie.To), append(near[tie.To], tie.From)
		}
	}
	colour := make([]int, len(t.Blocks())) // atom, counted from one
	atoms := 0
	for b := range near {
		if colour[b] != 0 {
			continue
		}
		atoms++
		queue := []transcript.BlockID{transcript.BlockID(b)}
		for colour[b] = atoms; len(queue) > 0; queue = queue[1:] {
			for _, n := range near[queue[0]] {
				if colour[n] == 0 {
					colour[n] = atoms
					queue = append(queue, n)
				}
			}
		}
	}
	if atoms != len(t.Atoms()) {
		fail("%d atoms, want %d", len(t.Atoms()), atoms)
		return
	}
	seen := 0
	for id, a := range t.Atoms() {
		seen += len(a.Blocks)
		if len(a.Blocks) == 0 || !slices.IsSorted(a.Blocks) {
			fail("atom %d has blocks %v", id, a.Blocks)
			return
		}
		for _, b := range a.Blocks {
			if t.AtomOf(b) != transcript.AtomID(id) || colour[b] != id+1 {
				fail("block %d is in atom %d, says %d, and should be in %d", b, id, t.AtomOf(b), colour[b]-1)
			}
		}
		first, last := t.Block(a.Blocks[0]).Message, t.Block(a.Blocks[len(a.Blocks)-1]).Message
		if a.First != first || a.Last != last {
			fail("atom %d reaches from message %d to %d, but says %d to %d", id, first, last, a.First, a.Last)
		}
	}
	if seen != len(t.Blocks()) {
		fail("%d blocks in atoms, %d in all", seen, len(t.Blocks()))
	}
	want := make([]map[transcript.AtomID]bool, atoms)
	for _, tie := range t.Ties() {
		from, to := t.AtomOf(tie.From), t.AtomOf(tie.To)
		if !tie.Mutual && from != to {
			if want[from] == nil {
				want[from] = map[transcript.AtomID]bool{}
			}
			want[from][to] = true
		}
	}
	for id, a := range t.Atoms() {
		for _, n := range a.Needs {
			if !want[id][n] {
				fail("atom %d needs %d without a tie, or twice", id, n)
			}
			delete(want[id], n)
		}
		if len(want[id]) > 0 {
			fail("atom %d does not need %v", id, want[id])
		}
	}
}

// CheckCuts checks that the cuts are in order and are exactly the boundaries of
// turns across which no atom reaches and no need points.
func CheckCuts(tb testing.TB, t *transcript.Transcript) {
	tb.Helper()
	ms := t.Messages()
	legal := make([]bool, len(ms))
	for i := range ms {
		legal[i] = i == 0 || ms[i].Turn != ms[i-1].Turn || ms[i].Begins && !ms[i-1].Begins
	}
	forbid := func(first, last int) {
		for i := first + 1; i <= last; i++ {
			legal[i] = false
		}
	}
	for _, a := range t.Atoms() {
		forbid(a.First, a.Last)
		for _, n := range a.Needs {
			forbid(t.Atoms()[n].First, a.Last)
		}
	}
	var want []int
	for i, ok := range legal {
		if ok {
			want = append(want, i)
		}
	}
	var got []int
	for c := range t.Cuts() {
		got = append(got, c.Before())
		if inside := c.Before() > 0 && !ms[c.Before()].Begins; c.Inside() != inside {
			tb.Errorf("the cut before message %d says inside %t\n%s", c.Before(), c.Inside(), excerpt(t.Raw()))
		}
	}
	if !slices.Equal(got, want) {
		tb.Errorf("cuts before %v, want %v\n%s", got, want, excerpt(t.Raw()))
	}
}

// CheckClean checks that a valid script breaks no rule in any dialect, as a request and as a
// bare list, and that its dialect is detected.
func CheckClean(tb testing.TB, s Script) {
	tb.Helper()
	if err := s.Valid(); err != nil {
		tb.Errorf("not a valid script: %v\n%s", err, s)
		return
	}
	telling := slices.ContainsFunc(s, func(step Step) bool { return step.Op == Call || step.Op == Think || step.Op == Image })
	for _, d := range wire.Dialects() {
		for _, o := range []RenderOptions{{}, {Bare: true}, {NoIDs: true}} {
			if o.NoIDs && !dialectRenderers[d].idsOptional {
				continue
			}
			body := s.Render(d, o)
			if got, err := wire.Detect(body); got.Dialect != d && (telling || !o.Bare || got.Sure) {
				tb.Errorf("%s with %+v is detected as %+v, %v\n%s", d, o, got, err, s)
			}
			r, err := wire.Parse(body, wire.Options{Dialect: d})
			if err != nil {
				tb.Errorf("%s: %v\n%s", d, err, s)
				continue
			}
			for _, f := range r.Check(wire.CheckOptions{}) {
				tb.Errorf("%s with %+v: %s at %s\n%s", d, o, f.Rule, f.Path, s)
			}
			for _, x := range r.Transcript().Exchanges() {
				if x.State != transcript.Whole || x.Guessed != o.NoIDs {
					tb.Errorf("%s with %+v: exchange %+v\n%s", d, o, x, s)
				}
			}
		}
	}
}

// CheckDialects checks that a valid script has the same exchanges in every
// dialect.
func CheckDialects(tb testing.TB, s Script) {
	tb.Helper()
	var want []string
	for i, d := range wire.Dialects() {
		got := s.exchanges(tb, d)
		if i == 0 {
			want = got
		} else if !slices.Equal(got, want) {
			tb.Errorf("%s: exchanges %q, want %q\n%s", d, got, want, s)
		}
	}
}

// exchanges describes the exchanges of a rendering in the words of the script.
func (s Script) exchanges(tb testing.TB, d wire.Dialect) []string {
	tb.Helper()
	rendered := s.render(d, RenderOptions{Bare: true})
	r, err := wire.Parse(rendered.bytes(), wire.Options{Dialect: d})
	if err != nil {
		tb.Errorf("%s: %v\n%s", d, err, s)
		return nil
	}
	step := map[string]int{} // by path
	for i, path := range rendered.paths {
		step[path] = i
	}
	var all []string
	for _, x := range r.Transcript().Exchanges() {
		line := x.State.String()
		if x.Call != transcript.NoBlock {
			i := step[r.Path(x.Call)]
			line += fmt.Sprintf(" %s %s at step %d", s[i].ID, x.Tool, i)
		}
		for _, b := range x.Results {
			i := step[r.Path(b)]
			line += fmt.Sprintf(" answered by %s at step %d", s[i].ID, i)
		}
		all = append(all, line)
	}
	return all
}

// CheckRenaming checks that other ids change nothing but the ids. The script may
// be broken.
func CheckRenaming(tb testing.TB, s Script, d wire.Dialect) {
	tb.Helper()
	names := map[string]string{}
	renamed := s.Rename(func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("n%d", len(names))
		}
		return names[id]
	})
	want, ok := newReading(s.Render(d, RenderOptions{}), wire.Options{Dialect: d})
	got, also := newReading(renamed.Render(d, RenderOptions{}), wire.Options{Dialect: d})
	if diff := want.describeDiff(got); ok != also || diff != "" {
		tb.Errorf("%s: with other ids: %s\n%s", d, diff, s)
	}
}

// CheckAppending checks that going on with a valid script leaves the exchanges
// that it has as they are.
func CheckAppending(tb testing.TB, s Script, d wire.Dialect) {
	tb.Helper()
	longer := slices.Concat(s, MustParse(`say "done" | user "and now?" | call c0 Read z.go | result c0 zzz`))
	want, _ := newReading(s.Render(d, RenderOptions{}), wire.Options{Dialect: d})
	got, _ := newReading(longer.Render(d, RenderOptions{}), wire.Options{Dialect: d})
	n := len(want.exchanges)
	if len(got.exchanges) != n+1 || !slices.Equal(got.exchanges[:n], want.exchanges) {
		tb.Errorf("%s: longer by a turn, exchanges %q become %q\n%s", d, want.exchanges, got.exchanges, s)
	}
}

// excerpt keeps reports readable.
func excerpt(body []byte) string {
	if len(body) > 3000 {
		return fmt.Sprintf("%s … (%d bytes)", body[:3000], len(body))
	}
	return string(body)
}
