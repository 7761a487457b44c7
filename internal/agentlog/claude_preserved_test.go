package agentlog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

// ccBoundary returns a compaction boundary that preserves lines. how selects a list of uuids or the
// two ends of a segment.
func ccBoundary(how, anchor string, kept ...string) string {
	meta := `"trigger":"auto","preTokens":1000`
	if strings.Contains(how, "segment") {
		meta += fmt.Sprintf(`,"preservedSegment":{"headUuid":"%s","anchorUuid":"%s","tailUuid":"%s"}`, kept[0], anchor, kept[len(kept)-1])
	}
	if strings.Contains(how, "list") {
		raw, _ := json.Marshal(kept)
		meta += fmt.Sprintf(`,"preservedMessages":{"anchorUuid":"%s","uuids":%s}`, anchor, raw)
	}
	return `{"parentUuid":null,"logicalParentUuid":"x","isSidechain":false,"sessionId":"s1","version":"2.1.325","type":"system","subtype":"compact_boundary","content":"compacted","compactMetadata":{` + meta +
		`},"uuid":"b","timestamp":"2026-01-01T00:00:30.000Z"}` + "\n"
}

func ccResult(id string) string {
	return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"output of ` + id + `"}]}`
}

// mainOf returns a short form of the main thread.
func mainOf(l *Log) string {
	var all []string
	for _, t := range l.Threads {
		if t.Kind != Main {
			continue
		}
		tr := t.Request.Transcript()
		for i := range t.Messages() {
			m := tr.Messages()[i]
			for b := m.First; b < m.End; b++ {
				if blk := tr.Block(b); blk.CallID != "" {
					all = append(all, blk.Kind.String()+" "+blk.CallID)
				} else {
					all = append(all, t.Request.Text(b))
				}
			}
		}
	}
	return strings.Join(all, "|")
}

// TestPreservedLinesAreSent checks that the lines which a compaction preserves are sent after the
// summary, checked and repaired.
func TestPreservedLinesAreSent(t *testing.T) {
	front := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply))
	kept := map[string]string{
		"u2": ccWrite("u2", "a1", 3, said("two")), "a2": ccWrite("a2", "u2", 4, replied("m2", calling("c2"))), "r2": ccWrite("r2", "a2", 5, ccResult("c2")),
		"a3": ccWrite("a3", "r2", 6, replied("m3", calling("c3"))), "r3": ccWrite("r3", "a3", 7, ccResult("c3")),
	}
	behind := ccWrite("s1", "b", 31, said("sum")) + ccWrite("u3", "s1", 32, said("three"))
	names := []string{"u2", "a2", "r2", "a3", "r3"}
	whole := "sum|two|call c2|result c2|call c3|result c3|three"
	for _, how := range []string{"segment", "list", "segment list"} {
		for name, c := range map[string]struct {
			lost   string // a line that is missing from the file
			broken bool
			after  string
		}{
			"all there":       {"", false, whole},
			"a lost result":   {"r2", true, whole},
			"a lost call":     {"a3", true, "sum|two|call c2|result c2|[A tool result|three"},
			"the last lost":   {"r3", true, whole},
			"the prompt lost": {"u2", true, "sum|call c2|result c2|call c3|result c3|three"},
		} {
			if how == "segment" && (c.lost == "r3") {
				continue // the end of the segment is unknown
			}
			raw := front
			for _, n := range names {
				if n != c.lost {
					raw += kept[n]
				}
			}
			raw += ccBoundary(how, "s1", names...) + behind
			l, found, fixed := fix(t, "s.jsonl", []byte(raw))
			if Broken(found) != c.broken {
				t.Errorf("%s, %s: %+v", how, name, found)
			}
			if c.lost == "" && mainOf(l) != whole {
				t.Errorf("%s, %s: sends %s", how, name, mainOf(l))
			}
			again := mustRead(t, "s.jsonl", fixed.Raw)
			got := mainOf(again)
			want := strings.Split(c.after, "[A tool result")
			if !strings.HasPrefix(got, want[0]) || len(want) > 1 && !strings.Contains(got, "output of c3") || !strings.HasSuffix(got, "three") {
				t.Errorf("%s, %s: sends %s, not %s\n%s", how, name, got, c.after, fixed.Raw)
			}
			if Broken(again.Check(wire.CheckOptions{})) {
				t.Errorf("%s, %s: still broken", how, name)
			}
			wantKept(t, how+", "+name, fixed.Raw)
		}
	}
}

// wantKept checks that a boundary names existing lines that are linked from the last to the first
// one.
func wantKept(t *testing.T, name string, raw []byte) {
	t.Helper()
	type entry struct {
		UUID, ParentUUID string
		CompactMetadata  struct {
			PreservedSegment  *struct{ HeadUUID, TailUUID string }
			PreservedMessages *struct{ UUIDs []string }
		}
	}
	byID := make(map[string]entry)
	var b entry
	for line := range strings.Lines(string(raw)) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		byID[e.UUID] = e
		if e.UUID == "b" {
			b = e
		}
	}
	var walked []string
	if s := b.CompactMetadata.PreservedSegment; s != nil {
		for at := s.TailUUID; ; at = byID[at].ParentUUID {
			if _, ok := byID[at]; !ok || len(walked) > len(byID) {
				t.Errorf("%s: from %s no way leads to %s", name, s.TailUUID, s.HeadUUID)
				return
			}
			walked = append([]string{at}, walked...)
			if at == s.HeadUUID {
				break
			}
		}
	}
	if m := b.CompactMetadata.PreservedMessages; m != nil {
		for _, id := range m.UUIDs {
			if _, ok := byID[id]; !ok {
				t.Errorf("%s: %s is not there", name, id)
			}
		}
		if walked != nil && strings.Join(walked, " ") != strings.Join(m.UUIDs, " ") {
			t.Errorf("%s: links lead over %v, the list has %v", name, walked, m.UUIDs)
		}
	}
}

// TestStrayLineDoesNotReplaceSession checks that a line of another session is neither linked nor
// resumed from.
func TestStrayLineDoesNotReplaceSession(t *testing.T) {
	own := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply)) + ccWrite("u2", "a1", 3, said("two")) + ccWrite("a2", "u2", 4, replied("m2", textReply))
	stray := func(uuid, parent string, second int, message string) string {
		return strings.Replace(ccWrite(uuid, parent, second, message), `"sessionId":"s1"`, `"sessionId":"other"`, 1)
	}
	lines := strings.SplitAfter(own, "\n")
	whole := mainOf(mustRead(t, "s1.jsonl", []byte(own)))
	for name, c := range map[string]struct {
		raw    string
		broken bool
	}{
		"at the end":              {own + stray("x1", "elsewhere", 40, said("what of another project")), true},
		"in the middle, newer":    {lines[0] + lines[1] + stray("x1", "elsewhere", 40, said("foreign")) + lines[2] + lines[3], true},
		"in the middle, older":    {lines[0] + lines[1] + stray("x1", "elsewhere", 2, said("foreign")) + lines[2] + lines[3], false},
		"two of them":             {own + stray("x1", "elsewhere", 40, said("foreign")) + stray("x2", "x1", 41, replied("m9", textReply)), true},
		"an open call of theirs":  {own + stray("x1", "elsewhere", 40, replied("m9", calling("c9"))), true},
		"in front":                {stray("x1", "elsewhere", 40, said("foreign")) + own, true},
		"older results of theirs": {own + stray("x1", "elsewhere", 0, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c9","content":"foreign"}]}`) + stray("x2", "x1", 0, replied("m9", textReply)), false},
		"behind a lost line":      {lines[0] + lines[1] + stray("x1", "elsewhere", 40, said("foreign")) + lines[3], true},
	} {
		_, found, fixed := fix(t, "s1.jsonl", []byte(c.raw))
		if n := count(found, "stray-line"); (n > 0) != c.broken {
			t.Errorf("%s: %+v", name, found)
		}
		again := mustRead(t, "s1.jsonl", fixed.Raw)
		if got := mainOf(again); name != "behind a lost line" && got != whole || strings.Contains(got, "foreign") {
			t.Errorf("%s: sends %s\n%s", name, got, fixed.Raw)
		}
		if got := strings.Join(resume1(fixed.Raw), "|"); strings.Contains(got, "foreign") || strings.Contains(got, "another") || !strings.Contains(got, "one") {
			t.Errorf("%s: 1.0 sends %s", name, got)
		}
		if !strings.Contains(string(fixed.Raw), `"uuid":"x1"`) {
			t.Errorf("%s: the line is gone", name)
		}
	}
	// A session that was resumed from another one continues in its own file.
	resumed := own + stray("x1", "a2", 40, said("on")) + stray("x2", "x1", 41, replied("m9", textReply))
	if l, found, _ := fix(t, "other.jsonl", []byte(resumed)); count(found, "stray-line") > 0 || !strings.HasSuffix(mainOf(l), "on|done") {
		t.Errorf("%s %+v", mainOf(l), found)
	}
	gap := strings.Replace(resumed, `{"parentUuid":"a2"`, `{"parentUuid":"lost"`, 1)
	if l, found, _ := fix(t, "other.jsonl", []byte(gap)); count(found, "stray-line") > 0 || !strings.HasSuffix(mainOf(l), "on|done") {
		t.Errorf("%s %+v", mainOf(l), found)
	}
}

// TestCircularCopyIsRemoved checks a copy of a line whose parent is itself. It hides the original
// and everything before it.
func TestCircularCopyIsRemoved(t *testing.T) {
	own := []string{ccWrite("u1", "", 1, said("one")), ccWrite("a1", "u1", 2, replied("m1", textReply)), ccWrite("a2", "a1", 3, replied("m1", textReply)), ccWrite("u2", "a2", 4, said("two")), ccWrite("a3", "u2", 5, replied("m3", textReply))}
	whole := strings.Join(own, "")
	itself := strings.Replace(own[2], `"parentUuid":"a1"`, `"parentUuid":"a2"`, 1)
	for at := 3; at <= len(own); at++ {
		raw := strings.Join(own[:at], "") + itself + strings.Join(own[at:], "")
		if _, _, fixed := fix(t, "s1.jsonl", []byte(raw)); string(fixed.Raw) != whole {
			t.Errorf("at %d: %+v\n%s", at, fixed.Remaining, fixed.Raw)
		}
	}
}

// TestLinkSkipsUnknownLines checks that a line with a lost parent is linked to a line that the
// agent follows, and not to one of an unknown type.
func TestLinkSkipsUnknownLines(t *testing.T) {
	raw := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply)) +
		`{"type":"brand-new","uuid":"n1","payload":{"keep":1.0e2}}` + "\n" + ccWrite("u2", "lost", 4, said("two")) + ccWrite("a2", "u2", 5, replied("m2", textReply))
	_, _, fixed := fix(t, "s1.jsonl", []byte(raw))
	if got := strings.Join(resume1(fixed.Raw), "|"); !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("1.0 sends %s\n%s", got, fixed.Raw)
	}
}

// TestMovedLineBecomesNewest checks that a line moved to the end becomes the newest one; otherwise
// the agent would resume from another branch.
func TestMovedLineBecomesNewest(t *testing.T) {
	raw := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply)) +
		ccWrite("u2", "a1", 20, said("two")) + ccWrite("a2", "u2", 21, replied("m2", textReply)) +
		ccWrite("b1", "a1", 10, said("old branch")) + ccWrite("b2", "b1", 11, replied("m3", textReply)) + ccWrite("b3", "b2", 12, said("on it")) +
		ccWrite("b4", "b3", 13, replied("m4", textReply)) +
		ccWrite("r1", "lost", 3, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c9","content":"said"}]}`) + ccWrite("a3", "a2", 22, replied("m4", textReply))
	for _, raw := range []string{raw, strings.Replace(raw, `"id":"m4"`, `"id":"m2"`, 1)} {
		_, _, fixed := fix(t, "s1.jsonl", []byte(raw))
		if got := strings.Join(resume1(fixed.Raw), "|"); !strings.Contains(got, "two") {
			t.Errorf("1.0 sends %s\n%s", got, fixed.Raw)
		}
	}
}

// TestNamedStrayIsSent checks that lines of another session are sent, with results on side
// branches, if a line states that the session continues there.
func TestNamedStrayIsSent(t *testing.T) {
	result := func(id string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"said"}]}`
	}
	other := ccWrite("x1", "lost", 3, said("theirs")) + ccWrite("x2", "x1", 4, replied("m9", calling("c1"))) + ccWrite("x3", "x2", 5, replied("m9", calling("c2"))) +
		ccWrite("x4", "x2", 6, result("c1")) + ccWrite("x5", "x3", 7, result("c2")) + ccWrite("x6", "x5", 8, replied("m10", textReply))
	raw := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply)) + ccWrite("u2", "a1", 20, said("two")) +
		strings.ReplaceAll(other, `"sessionId":"s1"`, `"sessionId":"other"`) + `{"type":"last-prompt","lastPrompt":"x","leafUuid":"x6"}` + "\n"
	if _, found, fixed := fix(t, "s1.jsonl", []byte(raw)); count(found, "orphan-call") > 0 || strings.Contains(string(fixed.Raw), wording.Stub) {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
}

// TestUnlinkedLineContinuesReply checks that a line in the middle of a reply or of its results is
// not taken for a new beginning.
func TestUnlinkedLineContinuesReply(t *testing.T) {
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"said"}]}`
	own := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply)) + ccWrite("a2", "a1", 3, replied("m1", calling("c1"))) +
		ccWrite("r1", "a2", 4, result) + ccWrite("a3", "r1", 5, replied("m2", textReply))
	for _, link := range []string{`"parentUuid":"a1"`, `"parentUuid":"a2"`} {
		_, _, fixed := fix(t, "s1.jsonl", []byte(strings.Replace(own, link, `"parentUuid":null`, 1)))
		if string(fixed.Raw) != own {
			t.Errorf("%s: %+v\n%s", link, fixed.Remaining, fixed.Raw)
		}
	}
	// A message of the user may be one.
	if _, found, _ := fix(t, "s1.jsonl", []byte(own+ccWrite("u2", "", 6, said("anew")))); Broken(found) {
		t.Errorf("%+v", found)
	}
}

// TestParallelCallsWithEqualIDs checks that each of two parallel calls with the same id keeps its
// own result, also on a side branch.
func TestParallelCallsWithEqualIDs(t *testing.T) {
	result := func(text string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"` + text + `"}]}`
	}
	raw := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) + ccWrite("a2", "a1", 3, replied("m1", calling("c1"))) +
		ccWrite("r1", "a1", 4, result("first")) + ccWrite("r2", "a2", 5, result("second")) + ccWrite("a3", "r2", 6, replied("m2", textReply))
	_, _, fixed := fix(t, "s1.jsonl", []byte(raw))
	again := mainOf(mustRead(t, "s1.jsonl", fixed.Raw))
	if strings.Contains(string(fixed.Raw), wording.Stub) || strings.Count(string(fixed.Raw), `"tool_use_id":"c1"`) != 1 || Broken(fixed.Remaining) {
		t.Errorf("%+v sends %s\n%s", fixed.Remaining, again, fixed.Raw)
	}
}

// TestTwoSessionsAndACopy checks a file with two complete sessions and a copy of the first one. The
// agent resumes the same session as before the repair.
func TestTwoSessionsAndACopy(t *testing.T) {
	last := func(leaf string) string {
		return `{"type":"last-prompt","lastPrompt":"x","leafUuid":"` + leaf + `","sessionId":"s1"}` + "\n"
	}
	for later := range 4 {
		for _, session := range []string{"s1", "other"} {
			for _, named := range []bool{false, true} {
				one := ccWrite("u1", "", 2, said("one")) + ccWrite("a1", "u1", 3, replied("m1", textReply)) + ccWrite("u2", "a1", 4, said("two"))
				two := ccWrite("x1", "", 1+later, said("uno")) + ccWrite("y1", "x1", 2+later, replied("m9", textReply)) + ccWrite("x2", "y1", 3+later, said("due"))
				two = strings.ReplaceAll(two, `"sessionId":"s1"`, `"sessionId":"`+session+`"`)
				if named {
					one, two = one+last("u2"), two+last("x2")
				}
				for _, raw := range []string{one + two + one, two + one + two, one + one + two, one + two + one + two} {
					for _, name := range []string{"s1.jsonl", "other.jsonl"} {
						l, found, fixed := fix(t, name, []byte(raw))
						if got, want := mainOf(mustRead(t, name, fixed.Raw)), mainOf(l); got != want || Broken(found) {
							t.Errorf("sends %s, not %s: %+v\n%s", got, want, found, fixed.Raw)
						}
						if got, want := resume1(fixed.Raw), resume1([]byte(raw)); !slices.Equal(got, want) {
							t.Errorf("1.0 sends %s, not %s\n%s", got, want, fixed.Raw)
						}
					}
				}
			}
		}
	}
}

// TestGapDoesNotChangeNamedSession checks that the session whose end the last last-prompt line
// names is resumed before and after a gap is closed.
func TestGapDoesNotChangeNamedSession(t *testing.T) {
	last := func(leaf string) string {
		return `{"type":"last-prompt","lastPrompt":"x","leafUuid":"` + leaf + `","sessionId":"s1"}` + "\n"
	}
	one := ccWrite("u1", "", 1, said("one")) + ccWrite("u2", "lost", 20, said("two")) + ccWrite("a2", "u2", 30, replied("m2", textReply)) + last("a2")
	two := strings.ReplaceAll(ccWrite("x1", "", 3, said("uno"))+ccWrite("y1", "x1", 4, replied("m9", textReply))+last("y1"), `"sessionId":"s1"`, `"sessionId":"other"`)
	l, _, fixed := fix(t, "s1.jsonl", []byte(one+two))
	if got := mainOf(mustRead(t, "s1.jsonl", fixed.Raw)); got != mainOf(l) || got != "uno|done" {
		t.Errorf("sends %s, and then %s", mainOf(l), got)
	}
	// A line of the other session is in the gap.
	foreign := strings.ReplaceAll(ccWrite("x1", "", 3, said("uno"))+ccWrite("y1", "x1", 4, replied("m9", textReply)), `"sessionId":"s1"`, `"sessionId":"other"`)
	raw := ccWrite("u1", "", 1, said("one")) + foreign + ccWrite("u2", "lost", 20, said("two")) + ccWrite("a2", "u2", 30, replied("m2", textReply))
	if _, _, fixed := fix(t, "s1.jsonl", []byte(raw)); mainOf(mustRead(t, "s1.jsonl", fixed.Raw)) != "one|two|done" {
		t.Errorf("%s", fixed.Raw)
	}
	// The last such line names lines of another session after a gap.
	gap := strings.ReplaceAll(ccWrite("x1", "gone", 40, said("uno"))+ccWrite("y1", "x1", 41, replied("m9", textReply))+last("y1"), `"sessionId":"s1"`, `"sessionId":"other"`)
	if _, found, fixed := fix(t, "s1.jsonl", []byte(ccWrite("u1", "", 1, said("one"))+ccWrite("u2", "u1", 20, said("two"))+gap)); count(found, "stray-line") > 0 || !strings.HasSuffix(mainOf(mustRead(t, "s1.jsonl", fixed.Raw)), "uno|done") {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
}
