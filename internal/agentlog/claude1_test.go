package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// resume1 is an independent implementation of resuming in Claude Code 1.0: from the newest line up
// by parentUuid, without calls that no line on the path answers. It returns the sent blocks.
func resume1(raw []byte) []string {
	byID := make(map[string]*ccLine)
	var order []string
	for line := range bytes.Lines(raw) {
		var s ccLine
		if json.Unmarshal(line, &s) != nil || s.UUID == "" || s.Type != "user" && s.Type != "assistant" && s.Type != "system" && s.Type != "attachment" {
			continue
		}
		if byID[s.UUID] == nil {
			order = append(order, s.UUID)
		}
		byID[s.UUID] = &s
	}
	var newest *ccLine
	for _, id := range order {
		if s := byID[id]; newest == nil || millis(s.Timestamp) > millis(newest.Timestamp) {
			newest = s
		}
	}
	var path []*ccLine
	for s := newest; s != nil && len(path) <= len(order); {
		path = append(path, s)
		if s.ParentUUID == nil {
			break
		}
		s = byID[*s.ParentUUID]
	}
	slices.Reverse(path)
	answered := make(map[string]bool)
	for _, s := range path {
		for _, b := range s.blocks() {
			answered[b.ToolUseID] = true
		}
	}
	var sent []string
	for _, s := range path {
		var text string
		if json.Unmarshal(s.Message.Content, &text) == nil {
			sent = append(sent, text)
		}
		for _, b := range s.blocks() {
			switch {
			case b.Type == "tool_use" && answered[b.ID]:
				sent = append(sent, "call "+b.ID)
			case b.Type == "tool_result":
				sent = append(sent, "result "+b.ToolUseID)
			case b.Type == "text":
				sent = append(sent, "text of "+s.UUID)
			}
		}
	}
	return sent
}

// refusal returns the first result that is sent twice or without its call.
func refusal(sent []string) string {
	open := make(map[string]bool)
	for _, s := range sent {
		if id, ok := strings.CutPrefix(s, "call "); ok {
			open[id] = true
		}
		if id, ok := strings.CutPrefix(s, "result "); ok {
			if !open[id] {
				return s
			}
			delete(open, id)
		}
	}
	return ""
}

// TestClaude1KeepsAbandonedCall checks that a call which a kill left on a side branch stays there
// with everything else, because the client works with the file as it is.
func TestClaude1KeepsAbandonedCall(t *testing.T) {
	text := `{"type":"text","text":"let me look"}`
	think := `{"type":"thinking","thinking":"hm","signature":"s"}`
	for name, raw := range map[string]string{
		"resumed at the text": ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", text)) + ccWrite("a2", "a1", 3, replied("m1", calling("c1"))) +
			ccWrite("u2", "a1", 9, said("still there?")) + ccWrite("a3", "u2", 10, replied("m2", textReply)),
		"two calls": ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", text)) + ccWrite("a2", "a1", 3, replied("m1", calling("c1"))) + ccWrite("a3", "a2", 4, replied("m1", calling("c2"))) +
			ccWrite("u2", "a1", 9, said("still there?")),
		"at the thought": ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", think)) + ccWrite("a2", "a1", 3, replied("m1", text)) + ccWrite("a3", "a2", 4, replied("m1", calling("c1"))) +
			ccWrite("u2", "a2", 9, said("still there?")) + ccWrite("a4", "u2", 10, replied("m2", textReply)),
		"at the prompt": ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) + ccWrite("u2", "u1", 9, said("still there?")) + ccWrite("a2", "u2", 10, replied("m2", textReply)),
		"twice": ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", text)) + ccWrite("a2", "a1", 3, replied("m1", calling("c1"))) +
			ccWrite("u2", "a1", 9, said("still there?")) + ccWrite("a3", "u2", 10, replied("m2", text)) + ccWrite("a4", "a3", 11, replied("m2", calling("c2"))) + ccWrite("u3", "a3", 20, said("hello?")),
	} {
		l, found, fixed := fix(t, "s.jsonl", []byte(raw))
		if string(fixed.Raw) != raw || Broken(found) {
			t.Errorf("%s: %+v\n%s", name, fixed.Changes, fixed.Raw)
		}
		if n := count(found, "orphan-call"); n == 0 || !found[0].Dormant {
			t.Errorf("%s: the call on the branch is not told: %+v", name, found)
		}
		if got := refusal(resume1(fixed.Raw)); got != "" {
			t.Errorf("%s: refused for %s", name, got)
		}
		if _, err := l.Fix(Options{AppendOnly: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// randomClaude1 returns a random session of Claude Code 1.0: a single chain with kills, after which
// the next prompt follows the last line that is not an open call.
func randomClaude1(r *rand.Rand) []string {
	var lines []string
	last, n := "", 0
	line := func(parent, message string) string {
		n++
		id := fmt.Sprintf("l%d", n)
		lines = append(lines, strings.Replace(ccWrite(id, parent, n%60, message), `T00:00:`, fmt.Sprintf(`T00:%02d:`, n/60), 1))
		return id
	}
	for turn := range 2 + r.IntN(5) {
		last = line(last, said(fmt.Sprintf("word%d", turn)))
		for k := range 1 + r.IntN(3) {
			id := fmt.Sprintf("m%d.%d", turn, k)
			if r.IntN(2) == 0 {
				last = line(last, replied(id, `{"type":"text","text":"let me look"}`))
			}
			resumed := last
			calls := 1 + r.IntN(3)
			for c := range calls {
				last = line(last, replied(id, calling(fmt.Sprintf("c%d_%d_%d", turn, k, c))))
			}
			if r.IntN(4) == 0 { // killed
				last = resumed
				break
			}
			for c := range calls {
				last = line(last, fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d_%d_%d","content":"ok"}]}`, turn, k, c))
			}
		}
	}
	return append(lines[:len(lines):len(lines)], strings.Replace(ccWrite("last", last, 59, said("well?")), "T00:00:", "T01:00:", 1))
}

// TestClaude1ResumesAfterRandomLoss checks that a session which the client could resume still
// resumes after a fix and sends at least the same, and that any other session resumes after the
// fix.
func TestClaude1ResumesAfterRandomLoss(t *testing.T) {
	worked, repaired := 0, 0
	for seed := range trial.Size(300) {
		r := rand.New(rand.NewPCG(5, uint64(seed)))
		lines := randomClaude1(r)
		for range r.IntN(3) {
			if i := r.IntN(len(lines)); i > 0 && len(lines) > 3 {
				switch r.IntN(3) {
				case 0:
					lines = slices.Delete(lines, i, i+1)
				case 1:
					lines = slices.Insert(lines, i, lines[i])
				default: // another line with the same result
					again := strings.Replace(lines[i], `"uuid":"`, `"uuid":"again-`, 1)
					if strings.Contains(again, "tool_result") {
						lines = slices.Insert(lines, i+1, again)
						if i+2 < len(lines) {
							lines[i+2] = strings.Replace(lines[i+2], `{"parentUuid":"`, `{"parentUuid":"again-`, 1)
						}
					}
				}
			}
		}
		raw := []byte(strings.Join(lines, ""))
		l := mustRead(t, "s.jsonl", raw)
		fixed, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		before, after := resume1(raw), resume1(fixed.Raw)
		bad := refusal(after)
		if refusal(before) == "" {
			worked++
			for _, s := range before {
				if !strings.HasPrefix(s, "result") && !slices.Contains(after, s) {
					bad = "without " + s
				}
			}
		} else if bad == "" {
			repaired++
		}
		if Broken(l.Check(wire.CheckOptions{})) && Broken(fixed.Remaining) {
			bad = fmt.Sprint("left: ", fixed.Remaining[0].Rule)
		}
		if bad != "" {
			t.Fatalf("seed %d: %s\nsent %q\nthen %q\n%s\nbecame\n%s", seed, bad, before, after, raw, fixed.Raw)
		}
	}
	if n := trial.Size(20); worked < n || repaired < n {
		t.Errorf("%d worked before, %d were repaired", worked, repaired)
	}
}
