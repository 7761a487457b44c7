package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// piHead returns a head of pi. In the following functions an empty id means a line of version 1.

func piHead(version int) string {
	v := ""
	if version > 0 {
		v = fmt.Sprintf(`"version":%d,`, version)
	}
	return `{"type":"session",` + v + `"id":"s","timestamp":"2026-03-01T10:00:00Z","cwd":"/app","provider":"anthropic","modelId":"claude-opus-4-5"}` + "\n"
}

func piLinks(id, parent string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf(`"id":"%s","parentId":%s,`, id, uuidOrNull(parent))
}

func piEntryLine(id, parent, message string) string {
	return `{"type":"message",` + piLinks(id, parent) + `"timestamp":"2026-03-01T10:00:01Z","message":` + message + "}\n"
}

func piSaid(id, parent, text string) string {
	return piEntryLine(id, parent, `{"role":"user","content":"`+text+`"}`)
}

func piCalls(id, parent string, calls ...string) string {
	var all []string
	for _, c := range calls {
		all = append(all, `{"type":"toolCall","id":"`+c+`","name":"bash","arguments":{}}`)
	}
	return piEntryLine(id, parent, `{"role":"assistant","model":"claude-sonnet-4-5","content":[`+strings.Join(all, ",")+`]}`)
}

func piResult(id, parent, call string) string {
	return piEntryLine(id, parent, `{"role":"toolResult","toolCallId":"`+call+`","toolName":"bash","content":[{"type":"text","text":"output of `+call+`"}]}`)
}

func piCompaction(id, parent, first string) string {
	if id == "" {
		return `{"type":"compaction","timestamp":"2026-03-01T10:00:01Z","summary":"what was","firstKeptEntryIndex":` + first + "}\n"
	}
	return `{"type":"compaction",` + piLinks(id, parent) + `"timestamp":"2026-03-01T10:00:01Z","summary":"what was","firstKeptEntryId":"` + first + `"}` + "\n"
}

// piSends returns a short form of the main thread.
func piSends(t *testing.T, raw string) string {
	t.Helper()
	l := mustRead(t, "p.jsonl", []byte(raw))
	var all []string
	for _, th := range l.Threads {
		if th.Kind != Main {
			continue
		}
		for b, blk := range th.Request.Transcript().Blocks() {
			if blk.CallID != "" {
				all = append(all, blk.Kind.String()+" "+blk.CallID)
			} else {
				all = append(all, th.Request.Text(transcript.BlockID(b)))
			}
		}
	}
	return strings.Join(all, "|")
}

// TestCompactionNumberFollowsEntry checks that the number of the first kept entry is updated when
// lines before it are added or removed.
func TestCompactionNumberFollowsEntry(t *testing.T) {
	for name, c := range map[string]struct {
		raw   string
		first string // first text of the kept part
	}{
		"a stub in front": {piHead(0) + piSaid("", "", "one") + piCalls("", "", "c1") + piSaid("", "", "two") + piCalls("", "", "c2") + piResult("", "", "c2") +
			piSaid("", "", "three") + piCompaction("", "", "4") + piSaid("", "", "four"), "call c2"},
		"several stubs in what is kept": {piHead(0) + piSaid("", "", "one") + piCalls("", "", "c1", "c2") + piSaid("", "", "two") + piCalls("", "", "c3", "c4") + piResult("", "", "c3") +
			piSaid("", "", "three") + piCalls("", "", "c5") + piCompaction("", "", "3") + piSaid("", "", "four"), "two"},
		"a line that goes": {piHead(0) + piSaid("", "", "one") + piCalls("", "", "c1") + piResult("", "", "c1") + piResult("", "", "c1") + piSaid("", "", "two") +
			piCompaction("", "", "2") + piSaid("", "", "three"), "call c1"},
		"two objects on a line": {piHead(0) + piSaid("", "", "one") + strings.TrimSuffix(piCalls("", "", "c1"), "\n") + piResult("", "", "c1") + piSaid("", "", "two") +
			piCalls("", "", "c2") + piResult("", "", "c2") + piCompaction("", "", "3") + piSaid("", "", "three"), "call c2"},
		"foreign lines":            {piHead(0) + "42\nnull\n" + piSaid("", "", "one") + piCalls("", "", "c1") + piSaid("", "", "two") + piCompaction("", "", "4") + piSaid("", "", "three"), "two"},
		"two compactions":          {piHead(0) + piSaid("", "", "one") + piCalls("", "", "c1") + piSaid("", "", "two") + piCompaction("", "", "3") + piCalls("", "", "c2") + piSaid("", "", "three") + piCompaction("", "", "5") + piSaid("", "", "four"), "call c2"},
		"with ids":                 {piHead(3) + piSaid("a", "", "one") + piCalls("b", "a", "c1") + piSaid("c", "b", "two") + piCalls("d", "c", "c2") + piResult("e", "d", "c2") + piCompaction("f", "e", "d") + piSaid("g", "f", "three"), "call c2"},
		"with ids, a lost line":    {piHead(3) + piSaid("a", "", "one") + piCalls("b", "a", "c1") + piSaid("c", "x", "two") + piCalls("d", "c", "c2") + piCompaction("f", "d", "c") + piSaid("g", "f", "three"), "two"},
		"ids of the first version": {piHead(1) + piSaid("a", "zz", "one") + piCalls("b", "zz", "c1") + piSaid("c", "zz", "two") + strings.Replace(piCompaction("f", "zz", "c"), `"firstKeptEntryId":"c"`, `"firstKeptEntryIndex":3`, 1) + piSaid("g", "", "three"), "two"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, fixed := fix(t, "p.jsonl", []byte(c.raw))
			before, after := piSends(t, c.raw), piSends(t, string(fixed.Raw))
			if !strings.HasPrefix(after, "what was|"+c.first) {
				t.Errorf("before %s\nafter  %s\n%s", before, after, fixed.Raw)
			}
			for _, said := range strings.Split(before, "|") {
				if !strings.Contains(after, said) {
					t.Errorf("%q is no longer sent: %s", said, after)
				}
			}
		})
	}
}

// TestPiCompactionsSurviveRandomDamage damages random sessions with compactions. Everything that
// was sent is still sent, no result with a call is quoted, and a second fix changes nothing.
func TestPiCompactionsSurviveRandomDamage(t *testing.T) {
	n := trial.Size(400)
	changed := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(11, uint64(seed)))
		raw := randomPi(r)
		_, _, fixed := fix(t, "p.jsonl", []byte(raw))
		if len(fixed.Changes) > 0 {
			changed++
		}
		sent := piSends(t, string(fixed.Raw))
		for _, said := range strings.Split(piSends(t, raw), "|") {
			if strings.HasPrefix(said, "word") && !strings.Contains(sent, said) {
				t.Errorf("%q is no longer sent", said)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s\nbecame\n%s", seed, raw, fixed.Raw)
		}
	}
	if changed < n/2 {
		t.Errorf("only %d of %d were changed", changed, n)
	}
}

// randomPi returns a session with lost and repeated results and compactions, with and without ids.
func randomPi(r *rand.Rand) string {
	version := []int{0, 3}[r.IntN(2)]
	lines := []string{piHead(version)}
	id, prev := "", ""
	link := func() (string, string) {
		if version == 0 {
			return "", ""
		}
		prev, id = id, fmt.Sprintf("e%d", len(lines))
		return id, prev
	}
	ids := []string{""} // by line
	for n := range 4 + r.IntN(20) {
		a, b := link()
		call := fmt.Sprintf("c%d", n)
		switch k := r.IntN(10); {
		case k < 3:
			lines = append(lines, piSaid(a, b, fmt.Sprintf("word%d.", n)))
		case k < 7:
			lines = append(lines, piCalls(a, b, call))
			ids = append(ids, a)
			for range []int{0, 1, 1, 1, 2}[r.IntN(5)] {
				a, b = link()
				lines = append(lines, piResult(a, b, call))
				ids = append(ids, a)
			}
			continue
		case k < 9 && len(lines) > 3:
			first := 1 + r.IntN(len(lines)-1)
			if version == 0 {
				lines = append(lines, piCompaction("", "", strconv.Itoa(first)))
			} else {
				lines = append(lines, piCompaction(a, b, ids[first]))
			}
		default:
			lines = append(lines, piEntryLine(a, b, `{"role":"assistant","stopReason":"aborted","content":[{"type":"toolCall","id":"`+call+`","name":"bash","arguments":{}}]}`))
		}
		ids = append(ids, a)
	}
	return strings.Join(lines, "")
}

// TestPiUsesLastModel checks that the last line with a model counts.
func TestPiUsesLastModel(t *testing.T) {
	change := `{"type":"model_change","id":"m","parentId":"a","timestamp":"2026-03-01T10:00:01Z","provider":"openai","modelId":"gpt-5"}` + "\n"
	for name, c := range map[string]struct{ raw, want string }{
		"the header":            {piHead(0) + piSaid("", "", "go"), "claude-opus-4-5"},
		"a change":              {piHead(3) + piSaid("a", "", "go") + change + piSaid("b", "m", "on"), "gpt-5"},
		"an answer":             {piHead(0) + piSaid("", "", "go") + piCalls("", "", "c1") + piResult("", "", "c1"), "claude-sonnet-4-5"},
		"a change behind it":    {piHead(0) + piCalls("", "", "c1") + piResult("", "", "c1") + change, "gpt-5"},
		"in front of a summary": {piHead(3) + piSaid("a", "", "go") + change + piSaid("b", "m", "on") + piCompaction("c", "b", "b"), "gpt-5"},
		"on another branch":     {piHead(3) + piSaid("a", "", "go") + change + piSaid("b", "a", "on"), "claude-opus-4-5"},
	} {
		l := mustRead(t, "p.jsonl", []byte(c.raw))
		if got := l.Threads[0].Request.Model(); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// TestDanglingParentIsRepairedOnce checks that a missing parent is replaced in one run, anywhere in
// the file.
func TestDanglingParentIsRepairedOnce(t *testing.T) {
	for name, raw := range map[string]string{
		"in the middle":            piHead(3) + piSaid("a", "", "one") + piSaid("b", "x", "two") + piSaid("c", "b", "three"),
		"in front of a compaction": piHead(3) + piSaid("a", "", "one") + piSaid("b", "x", "two") + piSaid("c", "b", "three") + piCompaction("d", "c", "c") + piSaid("e", "d", "four"),
		"behind a stub":            piHead(3) + piSaid("a", "", "one") + piCalls("b", "a", "c1") + piSaid("c", "x", "two"),
		"without a header":         piSaid("a", "", "one") + piSaid("b", "x", "two"),
		"twice":                    piHead(3) + piSaid("a", "", "one") + piSaid("b", "x", "two") + piSaid("c", "y", "three"),
		"in a circle":              piHead(3) + piSaid("a", "", "one") + piSaid("b", "c", "two") + piSaid("c", "b", "three"),
		"at a line that goes":      piHead(3) + piSaid("a", "", "one") + piCalls("b", "a", "c1") + piResult("c", "b", "c1") + piResult("d", "c", "c1") + piSaid("e", "d", "two") + piSaid("f", "d", "three"),
		"the compaction itself":    piHead(3) + piSaid("a", "", "one") + piSaid("b", "a", "two") + piCompaction("c", "x", "b") + piSaid("d", "c", "three"),
	} {
		l, _, fixed := fix(t, "p.jsonl", []byte(raw))
		again := mustRead(t, "p.jsonl", fixed.Raw)
		if found := again.Check(wire.CheckOptions{}); Broken(found) {
			t.Errorf("%s: still %+v\n%s", name, found, fixed.Raw)
		}
		more, err := l.Fix(Options{AppendOnly: true})
		// It cannot be appended.
		left := slices.DeleteFunc(more.Remaining, func(f Finding) bool { return f.Rule == headRule })
		if err != nil || !bytes.HasPrefix(more.Raw, []byte(raw)) || Broken(left) {
			t.Errorf("%s, append only: %v %+v\n%s", name, err, left, more.Raw)
		}
	}
}

// TestCopyOfLastLine checks that of two copies of the last line the one after its parent stays,
// because pi resumes from there.
func TestCopyOfLastLine(t *testing.T) {
	end := piSaid("d", "c", "the last word")
	for name, raw := range map[string]string{
		"a copy in the middle":     piHead(3) + piSaid("a", "", "one") + end + piSaid("b", "a", "two") + piSaid("c", "b", "three") + end,
		"right in front":           piHead(3) + piSaid("a", "", "one") + piSaid("b", "a", "two") + end + piSaid("c", "b", "three") + end,
		"two copies in the middle": piHead(3) + piSaid("a", "", "one") + end + piSaid("b", "a", "two") + end + piSaid("c", "b", "three") + end,
		"a copy behind":            piHead(3) + piSaid("a", "", "one") + piSaid("b", "a", "two") + piSaid("c", "b", "three") + end + end,
		"an old line at the end":   piHead(3) + piSaid("a", "", "one") + piSaid("b", "a", "two") + piSaid("c", "b", "three") + end + piSaid("b", "a", "two"),
	} {
		_, _, fixed := fix(t, "p.jsonl", []byte(raw))
		want := piHead(3) + piSaid("a", "", "one") + piSaid("b", "a", "two") + piSaid("c", "b", "three") + end
		if string(fixed.Raw) != want {
			t.Errorf("%s: got\n%s", name, fixed.Raw)
		}
	}
}

// TestLostKeptEntry checks that a compaction whose first kept line is lost keeps the lines after
// it.
func TestLostKeptEntry(t *testing.T) {
	for name, raw := range map[string]string{
		"in the middle": piHead(3) + piSaid("a", "", "one") + piSaid("c", "b", "kept") + piCompaction("d", "c", "b") + piSaid("e", "d", "on"),
		"at the front":  piHead(3) + piSaid("c", "b", "kept") + piCompaction("d", "c", "b") + piSaid("e", "d", "on"),
		"torn":          piHead(3) + piSaid("a", "", "one") + piSaid("b", "a", "two")[:60] + "\n" + piSaid("c", "b", "kept") + piCompaction("d", "c", "b") + piSaid("e", "d", "on"),
	} {
		l, found, fixed := fix(t, "p.jsonl", []byte(raw))
		if count(found, "lost-kept-line") != 1 {
			t.Errorf("%s: %+v", name, found)
		}
		if !strings.Contains(string(fixed.Raw), `"firstKeptEntryId":"c"`) || Broken(fixed.Remaining) {
			t.Errorf("%s: %+v\n%s", name, fixed.Remaining, fixed.Raw)
		}
		more, err := l.Fix(Options{AppendOnly: true})
		if err != nil || Broken(more.Remaining) || !bytes.HasPrefix(more.Raw, []byte(raw)) {
			t.Errorf("%s, append only: %v %+v\n%s", name, err, more.Remaining, more.Raw)
		}
	}
	// A removed line is no longer named.
	raw := piHead(3) + piSaid("a", "", "one") + piResult("b", "a", "c9") + piSaid("c", "b", "kept") + piCompaction("d", "c", "b") + piSaid("e", "d", "on")
	l := mustRead(t, "p.jsonl", []byte(raw))
	fixed, err := l.Fix(Options{Repair: wire.Repair{OrphanResult: wire.RemedyDrop}})
	if err != nil || !strings.Contains(string(fixed.Raw), `"firstKeptEntryId":"c"`) || strings.Contains(string(fixed.Raw), `"id":"b"`) {
		t.Errorf("%v\n%s", err, fixed.Raw)
	}
}

// piGoesOn returns the text on the path from the last line that is JSON and not a head, which is
// what pi sends by the description of its format.
func piGoesOn(raw []byte) string {
	type line struct {
		Type, ID, ParentID string
		Message            struct {
			Content json.RawMessage
		}
	}
	byID, last := make(map[string]line), line{}
	for l := range bytes.Lines(raw) {
		var x line
		if json.Unmarshal(l, &x) == nil && x.Type != "session" {
			byID[x.ID], last = x, x
		}
	}
	var all []string
	for range len(byID) {
		all = append(all, strings.Trim(string(last.Message.Content), `"`))
		if last = byID[last.ParentID]; last.ID == "" {
			break
		}
	}
	slices.Reverse(all)
	return strings.Join(all, "|")
}

// TestLastLineWithChildren checks that pi does not resume from a line with children, wherever it
// is, and that of several sessions in one file pi resumes the one with the last line.
func TestLastLineWithChildren(t *testing.T) {
	a, b, c, d := piSaid("a", "", "one"), piSaid("b", "a", "two"), piSaid("c", "b", "three"), piSaid("d", "c", "four")
	x, y := piSaid("x", "", "other"), piSaid("y", "x", "more")
	joined := func(lines ...string) string { return strings.ReplaceAll(strings.Join(lines, ""), "\n", "") + "\n" }
	for name, test := range map[string]struct{ raw, want string }{
		"swapped":                        {piHead(3) + a + b + d + c, "one|two|three|four"},
		"the first one at the end":       {piHead(3) + b + c + d + a, "one|two|three|four"},
		"the other way round":            {piHead(3) + d + c + b + a, "one|two|three|four"},
		"freed":                          {piHead(3) + a + b + joined(d, c), "one|two|three|four"},
		"freed from a fragment":          {piHead(3) + a + b + d + joined(a[:30], c), "one|two|three|four"},
		"an open call":                   {piHead(3) + a + b + piCalls("d", "c", "c1") + c, "one|two|three|"},
		"an open call in it":             {piHead(3) + a + piSaid("d", "c", "four") + piCalls("c", "a", "c1"), "one||four"},
		"another branch":                 {piHead(3) + a + c + d + piSaid("e", "a", "anew") + b, "one|two|three|four"},
		"a branch that was left":         {piHead(3) + a + d + piSaid("e", "b", "anew") + c + strings.Replace(b, "10:00:01Z", "10:00:00Z", 1), "one|two|anew"},
		"a gap in the other session":     {piHead(3) + a + b + piHead(3) + x + piSaid("y", "lost", "more") + b, "one|two"},
		"a session without its root":     {piHead(3) + b + c + piHead(3) + x + y + c, "two|three"},
		"behind a gap":                   {piHead(3) + a + c + piSaid("f", "e", "five") + b, "one|two|three|five"},
		"without an id behind it":        {piHead(3) + a + b + d + c + `{"type":"of tomorrow"}` + "\n", "one|two|three|four"},
		"a copy of another session":      {piHead(3) + a + b + piHead(3) + x + y + piHead(3) + a + b, "one|two"},
		"a copy of the end of another":   {piHead(3) + a + b + piHead(3) + x + y + b, "one|two"},
		"a late line of another session": {piHead(3) + b + c + piHead(3) + x + y + a, "one|two|three"},
		"two sessions":                   {piHead(3) + a + b + piHead(3) + x + y, "other|more"},
		"a copy of a branch":             {piHead(3) + a + b + piSaid("e", "a", "anew") + b, "one|anew"},
	} {
		l, _, fixed := fix(t, "p.jsonl", []byte(test.raw))
		again := mustRead(t, "p.jsonl", fixed.Raw)
		if got := piGoesOn(fixed.Raw); !sameTalk(got, test.want) || Broken(again.Check(wire.CheckOptions{})) {
			t.Errorf("%s: sends %s, not %s\n%s", name, got, test.want, fixed.Raw)
		}
		more, err := l.Fix(Options{AppendOnly: true})
		if err != nil || !bytes.HasPrefix(more.Raw, []byte(test.raw)) {
			t.Errorf("%s, append only: %v\n%s", name, err, more.Raw)
		} else if got := piGoesOn(more.Raw); !strings.HasPrefix(name, "freed") && !sameTalk(got, test.want) {
			t.Errorf("%s, append only: sends %s, not %s\n%s", name, got, test.want, more.Raw)
		}
	}
}

// sameTalk reports whether got contains the words of want in order.
func sameTalk(got, want string) bool {
	for _, text := range strings.Split(want, "|") {
		_, rest, ok := strings.Cut(got, text)
		if !ok {
			return false
		}
		got = rest
	}
	return true
}

// TestUnparsableLastLine checks a last line that pi cannot parse because null bytes precede it.
// Removing them must not lead pi into another session; a line of its own session is the end.
func TestUnparsableLastLine(t *testing.T) {
	other := strings.Replace(piHead(3), `"id":"s"`, `"id":"s2"`, 1)
	for name, c := range map[string]struct{ raw, last string }{
		"another session": {piHead(3) + piSaid("a1", "", "one") + other + piSaid("b1", "", "two") + piSaid("a2", "a1", "three") + piSaid("b2", "b1", "four") + "\x00\x00" + piSaid("a3", "a2", "five"), "b2"},
		"its own session": {piHead(3) + piSaid("a1", "", "one") + other + piSaid("b1", "", "two") + piSaid("a2", "a1", "three") + piSaid("b2", "b1", "four") + "\x00\x00" + piSaid("b3", "b2", "five"), "b3"},
		"one session":     {piHead(3) + piSaid("a1", "", "one") + piSaid("a2", "a1", "three") + "\x00" + piSaid("a3", "a2", "five"), "a3"},
		"several":         {piHead(3) + piSaid("a1", "", "one") + other + piSaid("b1", "", "two") + "\x00" + piSaid("b2", "b1", "four") + "\x00" + piSaid("a2", "a1", "three"), "b2"},
		"several, seen":   {piHead(3) + piSaid("a1", "", "one") + other + piSaid("b1", "", "two") + "\x00" + piSaid("a2", "a1", "three") + "\x00" + piSaid("b2", "b1", "four"), "b2"},
	} {
		l, err := Read("x.jsonl", []byte(c.raw), Options{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(f.Raw)), "\n")
		if end := lines[len(lines)-1]; !strings.Contains(end, `"id":"`+c.last+`"`) {
			t.Errorf("%s: pi goes on from %s\n%s", name, end, f.Raw)
		}
		for _, text := range []string{"one", "three"} {
			if !strings.Contains(string(f.Raw), `"`+text+`"`) {
				t.Errorf("%s: %q is lost", name, text)
			}
		}
		again, err := Read("x.jsonl", f.Raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if g, err := again.Fix(Options{}); err != nil || !bytes.Equal(g.Raw, f.Raw) {
			t.Errorf("%s: a second fix: %v\n%s", name, err, g.Raw)
		}
	}
}
