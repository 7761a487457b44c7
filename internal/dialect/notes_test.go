package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// The zoo's repair notes say what a good repair keeps and drops. They fall into
// kinds, and each kind is one test that runs over all cases of its kind. Every test
// also checks that what the note does not touch leaves byte for byte.

// A noted is a case of the zoo before and after the repair.
type noted struct {
	t    *testing.T
	z    zooCase
	in   *Request
	out  *Request
	m    *RepairedRequest
	note string
}

// caseSpec names a case and the messages that its repair may touch, beside those
// that its violations name; -1 stands for what is beside the messages.
type caseSpec struct {
	id      string
	touched []int
}

func on(id string, touched ...int) caseSpec { return caseSpec{id, touched} }

// kinds are the kinds of notes and their cases. TestNotesCovered sees to it that
// every case is of a kind.
var kinds = map[string][]caseSpec{
	"OrphanResult": {
		on("001"), on("004"), on("012"), on("018"), on("020"), on("059"), on("062"), on("068"), on("073"), on("074"), on("110"), on("111"),
		on("169"), on("196"), on("197"), on("212"), on("213"), on("243"),
	},
	"Stub": {
		on("009", 2), on("011", 2), on("016", 2), on("058", 2), on("170", 2), on("171", 2), on("173", 2), on("232", 4),
		on("065"), on("066"), on("075"), on("078"), on("081"), on("083"), on("200"), on("204"), on("089"),
		on("105", 1), on("106"), on("112"), on("141", 2), on("142", 2), on("149", 2), on("150", 3),
	},
	"Move": {
		on("023"), on("077"), on("079"), on("101"), on("102"), on("147", 2), on("167", 2), on("211"), on("214"), on("215"), on("242"),
	},
	"IdenticalTwins": {
		on("026"), on("029"), on("031"), on("087"), on("129"), on("175"), on("176"), on("206"), on("224"),
	},
	"DifferentTwins":  {on("028"), on("090"), on("130")},
	"Relink":          {on("084")},
	"Mint":            {on("033")},
	"BlankBlock":      {on("042"), on("044"), on("185"), on("186")},
	"EmptyTurn":       {on("046"), on("161", 0, 2), on("162", 0, 2), on("205", 0, 2), on("223", 0, 2)},
	"AppendUser":      {on("007"), on("165"), on("203")},
	"OpenWithUser":    {on("151"), on("152"), on("182")},
	"TrailingSpace":   {on("051")},
	"HalfSurrogate":   {on("060")},
	"RenameIDs":       {on("191"), on("201"), on("202")},
	"RenameTools":     {on("240"), on("250")},
	"DropReasoning":   {on("118"), on("119"), on("121"), on("123", 2), on("124", 2), on("126"), on("132", 2), on("135", 3)},
	"StripItemID":     {on("134"), on("136")},
	"RetagPart":       {on("137"), on("254")},
	"WrapInObject":    {on("056"), on("140"), on("190")},
	"NameFromCall":    {on("163")},
	"DeclareTools":    {on("178", -1), on("179", -1)},
	"MergeNeighbours": {on("183", 0), on("221", 2), on("222", 0, 1), on("244", 1)},
	"CacheMarks":      {on("236", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)},
	"Thinking":        {on("034", -1), on("035"), on("036"), on("037"), on("155"), on("096", -1), on("098"), on("218", -1)},
	"ErrorResult":     {on("047"), on("048"), on("093"), on("092")},
	"Media":           {on("103"), on("146"), on("225")},
	"ServerTools":     {on("006"), on("057")},
	"MixedTurn":       {on("180")},
	"ReasoningFields": {on("248"), on("249")},
	"NothingToRepair": {on("166")},
	"Undecidable":     {on("015"), on("038"), on("115"), on("116"), on("120"), on("125"), on("139"), on("157"), on("207"), on("237"), on("238")},
	"Legacy":          {on("050"), on("193"), on("195"), on("252"), on("253")},
	"Control":         {on("227"), on("228"), on("229"), on("231")},
}

func repairNotes(t testing.TB) map[string]string {
	t.Helper()
	notes := make(map[string]string)
	for _, z := range corpus.Zoo(t) {
		notes[z.ID] = z.Expect.Notes
	}
	return notes
}

// TestNotesCovered: every case of the zoo is of exactly one kind.
func TestNotesCovered(t *testing.T) {
	seen := make(map[string]string)
	for kind, specs := range kinds {
		for _, s := range specs {
			if seen[s.id] != "" {
				t.Errorf("case %s is %s and %s", s.id, seen[s.id], kind)
			}
			seen[s.id] = kind
		}
	}
	for _, z := range zoo(t) {
		if n := strings.Split(z.ID, "-")[1]; seen[n] == "" {
			t.Errorf("no kind for %s: %s", z.ID, repairNotes(t)[z.ID])
		} else {
			delete(seen, n)
		}
	}
	for n, kind := range seen {
		t.Errorf("%s names case %s, which the zoo does not have", kind, n)
	}
}

// eachNote repairs every case of a kind and checks that nothing else has changed.
func eachNote(t *testing.T, kind string, p Repair, f func(c noted)) {
	t.Helper()
	cases, notes := zoo(t), repairNotes(t)
	for _, s := range kinds[kind] {
		i := slices.IndexFunc(cases, func(z zooCase) bool { return strings.HasPrefix(z.ID, "zoo-"+s.id+"-") })
		if i < 0 {
			t.Errorf("no case %s", s.id)
			continue
		}
		t.Run(cases[i].ID, func(t *testing.T) {
			z := cases[i]
			in, err := Parse(z.body(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			m := repaired(t, z.body(), Options{}, p)
			for _, l := range slices.DeleteFunc(slices.Clone(m.Left), mayStay) {
				t.Errorf("left: %s at %s", l.Rule, l.Path)
			}
			c := noted{t, z, in, m.Request, m, notes[z.ID]}
			c.untouched(s.touched)
			c.nothingInvented()
			f(c)
			if t.Failed() {
				t.Logf("note: %s\nin  %s\nout %s\nchanges %+v", c.note, squeeze(in.raw), squeeze(m.Request.raw), m.Changes)
			}
		})
	}
}

// squeeze leaves out white space, for reports.
func squeeze(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// untouched checks that the messages that neither a violation nor the spec names
// are there as the same bytes, in the same order, and so is what stands beside the
// messages.
func (c noted) untouched(also []int) {
	c.t.Helper()
	touched := make(map[int]bool)
	for _, i := range also {
		touched[i] = true
	}
	for _, f := range c.in.Check(CheckOptions{}) {
		touched[f.Index] = true
	}
	at := 0
	after := c.out.t.Messages()
	for i, m := range c.in.t.Messages() {
		if touched[i] {
			continue
		}
		raw := c.in.t.Bytes(m.Span)
		for at < len(after) && !bytes.Equal(raw, c.out.t.Bytes(after[at].Span)) && !c.joined(m, after[at]) {
			at++
		}
		if at == len(after) {
			c.t.Errorf("message %d, which nobody had anything against, is lost, changed or out of order: %s", i, raw)
			return
		}
		if bytes.Equal(raw, c.out.t.Bytes(after[at].Span)) {
			at++ // others may be joined to the same one
		}
	}
	if touched[-1] {
		return
	}
	if a, b := c.in.raw[:c.in.list.Start], c.out.raw[:c.out.list.Start]; !bytes.Equal(a, b) {
		c.t.Errorf("what stands in front of the messages has changed:\n%s\n%s", a, b)
	}
	if a, b := c.in.raw[c.in.list.End:], c.out.raw[c.out.list.End:]; !bytes.Equal(a, b) {
		c.t.Errorf("what stands behind the messages has changed:\n%s\n%s", a, b)
	}
}

// joined reports whether a message stands in one that it was joined to: every one of its
// blocks, as it was, in order.
func (c noted) joined(m, into transcript.Message) bool {
	if !slices.ContainsFunc(c.m.Changes, func(ch Change) bool { return ch.Action == "merge" }) || m.Role != into.Role {
		return false
	}
	b := into.First
	for own := m.First; own < m.End; own++ {
		for b < into.End && !bytes.Equal(c.in.t.Bytes(c.in.t.Block(own).Span), c.out.t.Bytes(c.out.t.Block(b).Span)) {
			b++
		}
		if b == into.End {
			return false
		}
	}
	return true
}

// nothingInvented checks that no call and no thinking is there that was not there
// before, and that what tools really returned is.
func (c noted) nothingInvented() {
	c.t.Helper()
	for _, b := range c.out.t.Blocks() {
		for _, s := range leaves(c.out.t.Bytes(b.Span)) {
			if b.Kind == transcript.Thinking && !strings.Contains(unescaped(c.in.raw), s) {
				c.t.Errorf("thinking that nobody thought: %q", s)
			}
		}
	}
	if a, b := count(c.in, transcript.Call), count(c.out, transcript.Call); b > a {
		c.t.Errorf("%d calls become %d", a, b)
	}
	said := everything(c.out)
	for b, blk := range c.in.t.Blocks() {
		text := strings.TrimSpace(c.in.Text(transcript.BlockID(b)))
		if blk.Kind != transcript.Result || IsSynthetic(text) || strings.Contains(said, text) || c.dropped(transcript.BlockID(b)) {
			continue
		}
		for _, s := range leaves(c.in.t.Bytes(blk.Body)) {
			if !strings.Contains(unescaped(c.out.raw), s) {
				c.t.Errorf("the result's %q is lost", s)
			}
		}
	}
}

// leaves returns the strings and numbers in a JSON value.
func leaves(raw []byte) []string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	var all []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case float64:
			all = append(all, fmt.Sprint(v))
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return all
}

// unescaped returns all strings and numbers of a body.
func unescaped(raw []byte) string { return strings.Join(leaves(raw), "\n") }

// dropped reports whether the receipt names a block as dropped.
func (c noted) dropped(b transcript.BlockID) bool {
	return slices.ContainsFunc(c.m.Changes, func(ch Change) bool { return ch.Action == "drop" && ch.Path == c.in.Path(b) })
}

func count(r *Request, k transcript.Kind) int {
	n := 0
	for _, b := range r.t.Blocks() {
		if b.Kind == k {
			n++
		}
	}
	return n
}

// everything returns all that a request says.
func everything(r *Request) string {
	var all strings.Builder
	for b := range r.t.Blocks() {
		all.WriteString(r.Text(transcript.BlockID(b)))
		all.WriteByte('\n')
	}
	return all.String()
}

// kinds of blocks in order, one letter each, messages parted by |.
func (c noted) shape() string {
	var out strings.Builder
	for i, m := range c.out.t.Messages() {
		if i > 0 {
			out.WriteByte('|')
		}
		for b := m.First; b < m.End; b++ {
			out.WriteByte("otkcrCRm"[c.out.t.Block(b).Kind])
		}
	}
	return out.String()
}

// blocksKept checks that every block of a kind is there, byte for byte.
func (c noted) blocksKept(kinds ...transcript.Kind) {
	c.t.Helper()
	have := make(map[string]int)
	for _, b := range c.out.t.Blocks() {
		have[string(c.out.t.Bytes(b.Body))]++
	}
	for id, b := range c.in.t.Blocks() {
		if !slices.Contains(kinds, b.Kind) {
			continue
		}
		raw := string(c.in.t.Bytes(b.Body))
		if have[raw]--; have[raw] < 0 {
			c.t.Errorf("%s is lost or changed: %s", c.in.Path(transcript.BlockID(id)), raw)
		}
	}
}

// violated returns the blocks at the paths of a violation.
func (c noted) violated(rule string) []transcript.BlockID {
	var all []transcript.BlockID
	for _, v := range c.z.Expect.Violations {
		for b := range c.in.t.Blocks() {
			if p := c.in.Path(transcript.BlockID(b)); v.Rule == rule && (p == v.Path || strings.HasPrefix(v.Path, p+".")) {
				all = append(all, transcript.BlockID(b))
			}
		}
	}
	return all
}

// noStub checks that nothing was made up.
func (c noted) noStub() {
	c.t.Helper()
	if bytes.Contains(c.out.raw, []byte(wording.Stub)) {
		c.t.Error("a stub, though every call has its result")
	}
}

// paired checks that every exchange is whole and that no result has changed hands:
// each answers the call that it answered before, if it did.
func (c noted) paired() {
	c.t.Helper()
	for _, x := range c.out.t.Exchanges() {
		if x.State != transcript.Whole {
			c.t.Errorf("exchange %s is %s", x.CallID, x.State)
		}
	}
	arguments := func(r *Request, b transcript.BlockID) string { return string(Arguments(r.t, b)) }
	before := make(map[string][]string) // what a result says → the calls it answers
	for _, x := range c.in.t.Exchanges() {
		for _, b := range x.Results[:min(1, len(x.Results))] { // a surplus one may belong elsewhere
			if x.Call != transcript.NoBlock {
				before[c.in.Text(b)] = append(before[c.in.Text(b)], arguments(c.in, x.Call))
			}
		}
	}
	for _, x := range c.out.t.Exchanges() {
		for _, b := range x.Results {
			if want, ok := before[c.out.Text(b)]; ok && x.Call != transcript.NoBlock && !slices.Contains(want, arguments(c.out, x.Call)) && c.z.Expect.Violations[0].Rule[:4] != "args" {
				c.t.Errorf("the result %q answered %s and now %s", c.out.Text(b), want, arguments(c.out, x.Call))
			}
		}
	}
}

// TestNoteOrphanResult: the orphan goes, the user's text of the same message and
// everything else stays, and no call is invented for it. By default what it says is
// kept as a quotation.
func TestNoteOrphanResult(t *testing.T) {
	eachNote(t, "OrphanResult", Repair{OrphanResult: RemedyDrop}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Call, transcript.Thinking, transcript.Media)
		for _, b := range c.violated("orphan-result") {
			if n := c.in.Text(b); n != "" && strings.Contains(everything(c.out), n) && len(n) > 8 {
				c.t.Errorf("the orphan's %q is still there", n)
			}
			if !c.dropped(b) {
				c.t.Errorf("no receipt for dropping %s", c.in.Path(b))
			}
		}
		if want := count(c.in, transcript.Result) - len(c.violated("orphan-result")); count(c.out, transcript.Result) != want {
			c.t.Errorf("%d results, want %d", count(c.out, transcript.Result), want)
		}
	})
	t.Run("quoted", func(t *testing.T) {
		eachNote(t, "OrphanResult", Repair{}, func(c noted) {
			c.paired()
			c.blocksKept(transcript.Text, transcript.Call)
			for _, b := range c.violated("orphan-result") {
				text := strings.TrimSpace(c.in.Text(b))
				if quoted := slices.ContainsFunc(userTexts(c.out), func(s string) bool {
					return strings.Contains(s, text) && strings.Contains(s, "not written by the user")
				}); text != "" && !IsSynthetic(text) && !quoted {
					c.t.Errorf("%q is not quoted", text)
				}
			}
		})
	})
}

// TestNoteStub: an unanswered call gets one stub, right behind it and in front of
// what the user says next; it claims neither success nor that anybody cancelled.
// Where calls are to be dropped, they go, and nothing else does.
func TestNoteStub(t *testing.T) {
	eachNote(t, "Stub", Repair{}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Thinking)
		stubs := 0
		for _, x := range c.out.t.Exchanges() {
			if x.Call == transcript.NoBlock || len(x.Results) == 0 || !strings.Contains(c.out.Text(x.Results[0]), wording.Stub) {
				continue
			}
			stubs++
			call, result := c.out.t.Block(x.Call), c.out.t.Block(x.Results[0])
			turn := func(b transcript.Block) int { return c.out.t.Messages()[b.Message].Turn }
			if c.out.Dialect != OpenAIResponses && turn(result) != turn(call)+1 {
				c.t.Errorf("the stub stands in turn %d, its call in turn %d", turn(result), turn(call))
			}
			for b := c.out.t.Messages()[result.Message].First; b < x.Results[0]; b++ {
				if c.out.t.Block(b).Kind != transcript.Result {
					c.t.Error("something stands in front of the stub in its message")
				}
			}
			if c.out.Dialect == OpenAIResponses {
				want := strings.Replace(strings.TrimSuffix(typeOf(c.out, x.Call), "_call")+"_call_output", "function_call_call", "function_call", 1)
				if got := typeOf(c.out, x.Results[0]); got != want {
					c.t.Errorf("a %s is answered by a %s", typeOf(c.out, x.Call), got)
				}
			}
		}
		if want := len(c.violated("orphan-call")); stubs != want {
			c.t.Errorf("%d stubs for %d calls", stubs, want)
		}
		for _, lie := range []string{"success", "cancel", "completed", "interrupted by"} {
			if strings.Contains(strings.ToLower(wording.Stub), lie) {
				c.t.Errorf("a stub claims to know: %q", wording.Stub)
			}
		}
		// Only where results and text may not share a turn, they stand apart.
		if strings.HasPrefix(c.z.ID, "zoo-009") || strings.HasPrefix(c.z.ID, "zoo-011") || strings.HasPrefix(c.z.ID, "zoo-173") {
			if !strings.Contains(c.shape(), "rt") {
				c.t.Errorf("stub and the user's text are not in one message: %s", c.shape())
			}
		}
		if strings.HasPrefix(c.z.ID, "zoo-141") && len(c.out.t.Messages()) != len(c.in.t.Messages()) {
			c.t.Error("a new turn was added")
		}
	})
	t.Run("dropped", func(t *testing.T) {
		eachNote(t, "Stub", Repair{OrphanCall: RemedyDrop}, func(c noted) {
			c.paired()
			c.noStub()
			c.blocksKept(transcript.Text, transcript.Result)
			if want := count(c.in, transcript.Call) - len(c.violated("orphan-call")); count(c.out, transcript.Call) != want {
				c.t.Errorf("%d calls, want %d", count(c.out, transcript.Call), want)
			}
		})
	})
}

func typeOf(r *Request, b transcript.BlockID) string {
	return newDraft(r).text(r.t.Block(b).Span, "type")
}

// TestNoteMove: every output exists, so it is moved to its call; nothing is dropped,
// nothing is made up, and what stood in between follows in its order.
func TestNoteMove(t *testing.T) {
	eachNote(t, "Move", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call, transcript.Media, transcript.Thinking)
		if len(c.out.t.Blocks()) != len(c.in.t.Blocks()) {
			c.t.Errorf("%d blocks become %d", len(c.in.t.Blocks()), len(c.out.t.Blocks()))
		}
		if a, b := userTexts(c.in), userTexts(c.out); !slices.Equal(a, b) {
			c.t.Errorf("the user's words are out of order: %q, were %q", b, a)
		}
	})
}

// TestNoteIdenticalTwins: twins collapse to one, the real result is kept, and the
// rest of the turn is as it was.
func TestNoteIdenticalTwins(t *testing.T) {
	eachNote(t, "IdenticalTwins", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text)
		ids := make(map[string]bool)
		for _, x := range c.out.t.Exchanges() {
			if ids[x.CallID] {
				c.t.Errorf("id %s is there twice", x.CallID)
			}
			ids[x.CallID] = true
			if IsSynthetic(c.out.Text(x.Results[0])) {
				c.t.Errorf("the made-up result was kept: %q", c.out.Text(x.Results[0]))
			}
		}
		for _, x := range c.in.t.Exchanges() {
			if !ids[x.CallID] {
				c.t.Errorf("%s is gone or renamed", x.CallID)
			}
		}
	})
}

// TestNoteDifferentTwins: calls that differ are both real: the second one and its
// result get a new id together, in order.
func TestNoteDifferentTwins(t *testing.T) {
	eachNote(t, "DifferentTwins", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		x := c.out.t.Exchanges()
		was := c.in.t.Exchanges()
		if len(x) != 2 || x[0].CallID != was[0].CallID || x[0].CallID == x[1].CallID {
			c.t.Fatalf("ids %q and %q, the first was %q", x[0].CallID, x[1].CallID, was[0].CallID)
		}
		for i := range x {
			if c.out.Text(x[i].Results[0]) != c.in.Text(was[i].Results[0]) {
				c.t.Errorf("call %d is answered by %q", i, c.out.Text(x[i].Results[0]))
			}
		}
	})
}

// TestNoteRelink: one open call and one stray result next to each other are a pair.
func TestNoteRelink(t *testing.T) {
	eachNote(t, "Relink", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
	})
}

// TestNoteMint: an empty id is replaced on both sides.
func TestNoteMint(t *testing.T) {
	eachNote(t, "Mint", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		for _, x := range c.out.t.Exchanges() {
			if x.CallID == "" || x.Guessed || c.out.t.Block(x.Results[0]).CallID != x.CallID {
				c.t.Errorf("exchange %+v", x)
			}
		}
	})
}

// TestNoteBlankBlock: only the blank block goes.
func TestNoteBlankBlock(t *testing.T) {
	eachNote(t, "BlankBlock", Repair{}, func(c noted) {
		for id, b := range c.in.t.Blocks() {
			raw := c.in.t.Bytes(b.Span)
			blank := b.Kind == transcript.Text && strings.TrimSpace(c.in.Text(transcript.BlockID(id))) == ""
			if blank == bytes.Contains(c.out.raw, raw) {
				c.t.Errorf("%s: blank %t, still there %t", c.in.Path(transcript.BlockID(id)), blank, !blank)
			}
		}
		if len(c.out.t.Blocks()) != len(c.in.t.Blocks())-1 || len(c.out.t.Messages()) != len(c.in.t.Messages()) {
			c.t.Errorf("%d blocks in %d messages", len(c.out.t.Blocks()), len(c.out.t.Messages()))
		}
	})
}

// TestNoteEmptyTurn: a turn without content goes; what the user says around it
// stays, joined where the provider wants it.
func TestNoteEmptyTurn(t *testing.T) {
	eachNote(t, "EmptyTurn", Repair{}, func(c noted) {
		if a, b := strings.Join(userTexts(c.in), "\n\n"), strings.Join(userTexts(c.out), "\n\n"); a != b {
			c.t.Errorf("the user says %q, said %q", b, a)
		}
		if n := len(c.out.t.Messages()); n == 0 || n >= len(c.in.t.Messages()) {
			c.t.Errorf("%d messages of %d", n, len(c.in.t.Messages()))
		}
	})
}

// TestNoteAppendUser: a minimal turn of the user is appended; the assistant's text
// stays.
func TestNoteAppendUser(t *testing.T) {
	eachNote(t, "AppendUser", Repair{}, func(c noted) {
		a, b := c.in.t.Messages(), c.out.t.Messages()
		if len(b) != len(a)+1 || b[len(a)].Role != transcript.User {
			c.t.Fatalf("%d messages become %d", len(a), len(b))
		}
		for i := range a {
			if !bytes.Equal(c.in.t.Bytes(a[i].Span), c.out.t.Bytes(b[i].Span)) {
				c.t.Errorf("message %d has changed", i)
			}
		}
		if s := userTexts(c.out); len(s[len(s)-1]) > 20 {
			c.t.Errorf("not minimal: %q", s[len(s)-1])
		}
	})
}

// TestNoteOpenWithUser: a turn of the user is put in front, behind the system
// prompt; nothing else changes.
func TestNoteOpenWithUser(t *testing.T) {
	eachNote(t, "OpenWithUser", Repair{}, func(c noted) {
		a, b := c.in.t.Messages(), c.out.t.Messages()
		if len(b) != len(a)+1 || b[0].Role != transcript.User {
			c.t.Fatalf("%d messages become %d, the first is the %s's", len(a), len(b), b[0].Role)
		}
		for i := range a {
			if !bytes.Equal(c.in.t.Bytes(a[i].Span), c.out.t.Bytes(b[i+1].Span)) {
				c.t.Errorf("message %d has changed", i)
			}
		}
	})
}

// TestNoteTrailingSpace: only the last text is trimmed, and only at its end.
func TestNoteTrailingSpace(t *testing.T) {
	eachNote(t, "TrailingSpace", Repair{}, func(c noted) {
		last := c.in.t.Blocks()[len(c.in.t.Blocks())-1]
		raw := c.in.t.Bytes(last.Body)
		trimmed := bytes.TrimSuffix(bytes.TrimRight(raw, " "), []byte(`\n`))
		if got := c.out.t.Bytes(c.out.t.Blocks()[len(c.out.t.Blocks())-1].Body); !bytes.Equal(got, trimmed) || bytes.Equal(got, raw) {
			c.t.Errorf("%q becomes %q", raw, got)
		}
	})
	// An earlier text keeps its white space, and so does an escape at the end.
	body := []byte(`{"model":"claude-3-5-sonnet-20241022","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"early \n\t"},{"role":"user","content":"q \n"},{"role":"assistant","content":"caf\u00e9 \\n \u0020\n\t "}]}`)
	out := repaired(t, body, Options{}, Repair{}).Request.raw
	want := strings.Replace(string(body), ` \u0020\n\t "}]}`, `"}]}`, 1)
	if string(out) != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

// TestNoteHalfSurrogate: only the half character is replaced.
func TestNoteHalfSurrogate(t *testing.T) {
	eachNote(t, "HalfSurrogate", Repair{}, func(c noted) {
		i := 0
		for i < len(c.in.raw) && c.in.raw[i] == c.out.raw[i] {
			i++
		}
		j := 0
		for j < len(c.in.raw)-i && c.in.raw[len(c.in.raw)-1-j] == c.out.raw[len(c.out.raw)-1-j] {
			j++
		}
		if was := c.in.raw[i : len(c.in.raw)-j]; len(was) > 6 {
			c.t.Errorf("%q was replaced, which is more than half a character", was)
		}
	})
}

// TestNoteRenameIDs: ids are mapped on both sides, the same way each time, and
// different ids stay different, also with a long common head.
func TestNoteRenameIDs(t *testing.T) {
	eachNote(t, "RenameIDs", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		seen := make(map[string]bool)
		for _, x := range c.out.t.Exchanges() {
			if seen[x.CallID] || x.CallID == "" {
				c.t.Errorf("id %q is there twice", x.CallID)
			}
			seen[x.CallID] = true
			if c.out.Profile.Name == "mistral" && (len(x.CallID) != 9 || strings.ContainsAny(x.CallID, "_-")) {
				c.t.Errorf("id %q is not nine letters and digits", x.CallID)
			}
		}
	})
	head := strings.Repeat("h", 80)
	for _, target := range []struct {
		name, format string
		ids          []string
	}{
		{"bedrock", `{"modelId":"anthropic.claude-3-5-sonnet-20241022-v2:0","toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]},"messages":[{"role":"user","content":[{"text":"q"}]},%s]}`, []string{"a_b", head + "1", head + "2", "a:b", "a.b", "a b", "é", "ü", ""}},
		{"mistral", `{"model":"mistral-large-latest","messages":[{"role":"user","content":"q"},%s]}`, []string{head + "1", head + "2", "call_1", "call_2", "abcdefghi", "abcdefghij", "a", "A"}},
		{"anthropic", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"q"},%s]}`, []string{"a_b", "a:b", "a.b", "a b", "functions_f_0", "functions.f:0", "é", "ü"}},
	} {
		t.Run(target.name, func(t *testing.T) {
			var turns []string
			for i, id := range target.ids {
				switch target.name {
				case "bedrock":
					turns = append(turns, fmt.Sprintf(`{"role":"assistant","content":[{"toolUse":{"toolUseId":%q,"name":"f","input":{"n":%d}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":%q,"content":[{"text":"out-%d"}]}}]}`, id, i, id, i))
				case "mistral":
					turns = append(turns, fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"id":%q,"type":"function","function":{"name":"f","arguments":"{\"n\":%d}"}}]},{"role":"tool","tool_call_id":%q,"content":"out-%d"}`, id, i, id, i))
				default:
					turns = append(turns, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"f","input":{"n":%d}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"out-%d"}]}`, id, i, id, i))
				}
			}
			alias := make(map[string]string) // what each id becomes in the longest history
			for n := len(turns); n > 0; n-- {
				body := []byte(fmt.Sprintf(target.format, strings.Join(turns[:n], ",")))
				m := repaired(t, body, Options{}, Repair{})
				if len(m.Left) > 0 {
					t.Fatalf("left %+v", m.Left)
				}
				seen := make(map[string]bool)
				for i, x := range m.Request.t.Exchanges() {
					if x.State != transcript.Whole || m.Request.Text(x.Results[0]) != fmt.Sprintf("out-%d", i) {
						t.Errorf("%q: exchange %+v", target.ids[i], x)
					}
					if seen[x.CallID] {
						t.Errorf("id %q collides", x.CallID)
					}
					seen[x.CallID] = true
					// A growing history must not change what was sent before: caches.
					if was, ok := alias[target.ids[i]]; ok && was != x.CallID {
						t.Errorf("id %q becomes %q in a history of %d exchanges and %q in a longer one", target.ids[i], x.CallID, n, was)
					}
					alias[target.ids[i]] = x.CallID
				}
			}
		})
	}
}

// TestNoteRenameTools: a name is rewritten to what the provider takes; the error
// result that names the wrong tool stays, and the name is not declared.
func TestNoteRenameTools(t *testing.T) {
	eachNote(t, "RenameTools", Repair{}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Result)
		for _, x := range c.out.t.Exchanges() {
			if !plainID(x.Tool) || len(x.Tool) > 64 {
				c.t.Errorf("tool %q", x.Tool)
			}
		}
	})
}

// TestNoteDropReasoning: a reasoning item that leads nowhere goes, with the ids
// that refer to it; calls, outputs and words stay.
func TestNoteDropReasoning(t *testing.T) {
	eachNote(t, "DropReasoning", Repair{}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		if count(c.out, transcript.Thinking) != count(c.in, transcript.Thinking)-1 {
			c.t.Errorf("%d reasoning items, were %d", count(c.out, transcript.Thinking), count(c.in, transcript.Thinking))
		}
		if n := strings.Split(c.z.ID, "-")[1]; n == "123" || n == "124" {
			if bytes.Contains(c.out.raw, []byte(`"fc_`)) || bytes.Contains(c.out.raw, []byte(`"msg_`)) {
				c.t.Error("an id that depends on the reasoning item is still there")
			}
		}
		if strings.HasPrefix(c.z.ID, "zoo-121") || strings.HasPrefix(c.z.ID, "zoo-126") {
			// The one that belongs to the call stays where it is.
			if !strings.Contains(c.shape(), "k|c") {
				c.t.Errorf("the reasoning in front of the call is lost: %s", c.shape())
			}
		}
	})
}

// TestNoteStripItemID: only the bad id goes.
func TestNoteStripItemID(t *testing.T) {
	eachNote(t, "StripItemID", Repair{}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		i := c.in.Check(CheckOptions{})[0].Index
		var was, is map[string]any
		if json.Unmarshal(c.in.t.Bytes(c.in.t.Messages()[i].Span), &was) != nil || json.Unmarshal(c.out.t.Bytes(c.out.t.Messages()[i].Span), &is) != nil {
			c.t.Fatal("no JSON")
		}
		delete(was, "id")
		delete(is, "id")
		if a, b := fmt.Sprint(was), fmt.Sprint(is); a != b {
			c.t.Errorf("%s becomes %s", a, b)
		}
	})
}

// TestNoteRetagPart: the part gets the type that its role may use, or goes if it is
// thinking; the text stays.
func TestNoteRetagPart(t *testing.T) {
	eachNote(t, "RetagPart", Repair{}, func(c noted) {
		c.blocksKept(transcript.Text)
		if len(c.out.t.Messages()) != len(c.in.t.Messages()) {
			c.t.Errorf("%d messages, were %d", len(c.out.t.Messages()), len(c.in.t.Messages()))
		}
	})
}

// TestNoteWrapInObject: what must be an object becomes one that still holds what
// was there; the pair and its output stay.
func TestNoteWrapInObject(t *testing.T) {
	eachNote(t, "WrapInObject", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text)
		for i, x := range c.out.t.Exchanges() {
			if args := Arguments(c.out.t, x.Call); !json.Valid(args) || args[0] != '{' {
				c.t.Errorf("arguments %s", args)
			}
			was := c.in.t.Exchanges()[i]
			if strings.HasPrefix(c.z.ID, "zoo-190") {
				continue
			}
			if !bytes.Equal(c.in.t.Bytes(c.in.t.Block(was.Results[0]).Span), c.out.t.Bytes(c.out.t.Block(x.Results[0]).Span)) {
				c.t.Error("the output has changed")
			}
		}
	})
}

// TestNoteNameFromCall: a response takes the name of the call it answers.
func TestNoteNameFromCall(t *testing.T) {
	eachNote(t, "NameFromCall", Repair{}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		for _, x := range c.out.t.Exchanges() {
			if got := c.out.t.Block(x.Results[0]).Tool; got != x.Tool {
				c.t.Errorf("named %q, called %q", got, x.Tool)
			}
		}
	})
}

// TestNoteDeclareTools: the tools that the history uses are declared; the history
// stays byte for byte.
func TestNoteDeclareTools(t *testing.T) {
	eachNote(t, "DeclareTools", Repair{}, func(c noted) {
		if !bytes.Equal(c.in.raw[c.in.list.Start:c.in.list.End], c.out.raw[c.out.list.Start:c.out.list.End]) {
			c.t.Error("the history has changed")
		}
		var head struct {
			ToolConfig struct {
				Tools []struct{ ToolSpec struct{ Name string } }
			}
		}
		if err := json.Unmarshal(c.out.raw, &head); err != nil {
			c.t.Fatal(err)
		}
		for _, x := range c.in.t.Exchanges() {
			if len(head.ToolConfig.Tools) != 1 || head.ToolConfig.Tools[0].ToolSpec.Name != x.Tool {
				c.t.Errorf("%s is not declared: %+v", x.Tool, head)
			}
		}
		var a, b map[string]json.RawMessage
		if json.Unmarshal(c.in.raw, &a) != nil || json.Unmarshal(c.out.raw, &b) != nil || len(b) != len(a)+1 {
			c.t.Errorf("members %d, were %d", len(b), len(a))
		}
	})
}

// TestNoteMergeNeighbours: neighbours of one role are joined, both texts whole and
// in order.
func TestNoteMergeNeighbours(t *testing.T) {
	eachNote(t, "MergeNeighbours", Repair{}, func(c noted) {
		was, is := userTexts(c.in), userTexts(c.out)
		if a, b := strings.Join(was, "\n\n"), strings.Join(is, "\n\n"); a != b {
			c.t.Errorf("the user says %q, said %q", b, a)
		}
		if len(c.out.t.Messages()) != len(c.in.t.Messages())-1 {
			c.t.Errorf("%d messages, were %d", len(c.out.t.Messages()), len(c.in.t.Messages()))
		}
	})
}

// TestNoteCacheMarks: the oldest marks in the messages go until four are left; no
// content changes.
func TestNoteCacheMarks(t *testing.T) {
	eachNote(t, "CacheMarks", Repair{}, func(c noted) {
		const mark = `"cache_control"`
		if n := bytes.Count(c.out.raw, []byte(mark)); n != 4 {
			c.t.Errorf("%d marks are left", n)
		}
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		ms := c.out.t.Messages()
		if !bytes.Contains(c.out.t.Bytes(ms[len(ms)-1].Span), []byte(mark)) && bytes.Contains(c.in.t.Bytes(c.in.t.Messages()[len(c.in.t.Messages())-1].Span), []byte(mark)) {
			c.t.Error("the newest mark is gone")
		}
		gone := false
		for i := len(ms) - 1; i >= 0; i-- {
			had, has := bytes.Contains(c.in.t.Bytes(c.in.t.Messages()[i].Span), []byte(mark)), bytes.Contains(c.out.t.Bytes(ms[i].Span), []byte(mark))
			if gone && has {
				c.t.Errorf("an older mark stays in message %d and a newer one went", i)
			}
			gone = gone || had && !has
		}
	})
}

// TestNoteThinking: thinking is moved or dropped whole, with its bytes and
// signature as they are, never made up; the calls and their results stay.
func TestNoteThinking(t *testing.T) {
	eachNote(t, "Thinking", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Result)
		whole := make(map[string]bool)
		for _, b := range c.in.t.Blocks() {
			whole[string(c.in.t.Bytes(b.Span))] = true
		}
		for id, b := range c.out.t.Blocks() {
			if b.Kind == transcript.Thinking && !whole[string(c.out.t.Bytes(b.Span))] && c.out.Text(transcript.BlockID(id)) != "" {
				c.t.Errorf("thinking that was not there: %s", c.out.t.Bytes(b.Span))
			}
		}
		for _, other := range []string{"EqQB", "thoughtSignature"} {
			if bytes.Count(c.out.raw, []byte(other)) > max(1, bytes.Count(c.in.raw, []byte(other))) {
				c.t.Errorf("a signature was copied: %s", c.out.raw)
			}
		}
	})
}

// TestNoteErrorResult: a result keeps its texts and its error flag and gets a short
// text where it must have one; an image of an error stands behind the results.
func TestNoteErrorResult(t *testing.T) {
	eachNote(t, "ErrorResult", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Call)
		if a, b := bytes.Count(c.in.raw, []byte(`"is_error":true`)), bytes.Count(c.out.raw, []byte(`"is_error":true`)); a != b {
			c.t.Errorf("%d error flags, were %d", b, a)
		}
		if a, b := bytes.Count(c.in.raw, []byte(`"image"`)), bytes.Count(c.out.raw, []byte(`"image"`)); a != b {
			c.t.Errorf("%d images, were %d", b, a)
		}
	})
}

// TestNoteMedia: texts stay; an image goes behind the results, or a text says that
// there was one where the model takes none.
func TestNoteMedia(t *testing.T) {
	eachNote(t, "Media", Repair{}, func(c noted) {
		c.paired()
		c.noStub()
		c.blocksKept(transcript.Text, transcript.Call)
		if strings.HasPrefix(c.z.ID, "zoo-225") {
			if count(c.out, transcript.Media) != 0 || !strings.Contains(everything(c.out), "image") {
				c.t.Errorf("no placeholder for the image: %s", c.out.raw)
			}
			return
		}
		if count(c.out, transcript.Media) != 1 {
			c.t.Errorf("%d images", count(c.out, transcript.Media))
		}
		last := transcript.NoBlock
		for id, b := range c.out.t.Blocks() {
			if b.Kind == transcript.Result {
				last = transcript.BlockID(id)
			}
			if b.Kind == transcript.Media && transcript.BlockID(id) < last {
				c.t.Error("the image stands in front of a result")
			}
		}
	})
}

// TestNoteServerTools: half a server exchange goes and is never answered by the
// client; the assistant's text stays.
func TestNoteServerTools(t *testing.T) {
	eachNote(t, "ServerTools", Repair{}, func(c noted) {
		c.blocksKept(transcript.Text)
		c.noStub()
		if n := count(c.out, transcript.Result); n != 0 {
			c.t.Errorf("%d results for a server's call", n)
		}
		if a, b := count(c.out, transcript.ServerCall), count(c.out, transcript.ServerResult); a != b {
			c.t.Errorf("%d server calls and %d results", a, b)
		}
	})
}

// TestNoteMixedTurn: results and words stand in turns of their own, with a short
// turn of the assistant in between.
func TestNoteMixedTurn(t *testing.T) {
	eachNote(t, "MixedTurn", Repair{}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		if !strings.Contains(c.shape(), "|r|t|t") {
			c.t.Errorf("shape %s", c.shape())
		}
	})
}

// TestNoteReasoningFields: an empty summary is added, or the plain text emptied;
// nothing else changes.
func TestNoteReasoningFields(t *testing.T) {
	eachNote(t, "ReasoningFields", Repair{}, func(c noted) {
		c.paired()
		c.blocksKept(transcript.Text, transcript.Result, transcript.Call)
		if count(c.out, transcript.Thinking) != count(c.in, transcript.Thinking) {
			c.t.Error("the reasoning item is gone")
		}
		for _, keep := range []string{"encrypted_content", `"id":"rs_`} {
			if bytes.Count(c.in.raw, []byte(keep)) != bytes.Count(c.out.raw, []byte(keep)) {
				c.t.Errorf("%s is gone", keep)
			}
		}
	})
}

// TestNoteNothingToRepair: an empty history is reported, or gets a minimal turn.
func TestNoteNothingToRepair(t *testing.T) {
	eachNote(t, "NothingToRepair", Repair{}, func(c noted) {
		if len(c.out.t.Messages()) == 0 && len(c.m.Left) == 0 {
			c.t.Error("an empty list, and no report")
		}
	})
}

// TestNoteSame: what cannot be decided from the request alone, what is refused no
// more, and what never was comes back as the same bytes in the same buffer.
func TestNoteSame(t *testing.T) {
	for _, kind := range []string{"Undecidable", "Legacy", "Control"} {
		eachNote(t, kind, Repair{}, func(c noted) {
			if body := c.in.raw; &c.out.raw[0] != &body[0] || len(c.out.raw) != len(body) || len(c.m.Changes) > 0 {
				c.t.Errorf("changed: %+v", c.m.Changes)
			}
		})
	}
}
