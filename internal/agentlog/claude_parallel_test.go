package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

// onPath returns the texts and ids on the path from the newest leaf, and the calls on side branches
// with a child result: the blocks that Claude Code 2.x sends.
func onPath(raw []byte) string {
	byID := make(map[string]*ccLine)
	var all []*ccLine
	for line := range bytes.Lines(raw) {
		var s ccLine
		if json.Unmarshal(line, &s) == nil && s.UUID != "" {
			byID[s.UUID] = &s
			all = append(all, &s)
		}
	}
	var path []string
	sent := make(map[string]bool) // by message
	for s := all[len(all)-1]; s != nil; {
		path = append(path, string(s.Message.Content))
		sent[s.Message.ID] = sent[s.Message.ID] || s.Message.ID != ""
		if s.ParentUUID == nil {
			break
		}
		s = byID[*s.ParentUUID]
	}
	for _, s := range all {
		if s.ParentUUID == nil || byID[*s.ParentUUID] == nil || !strings.Contains(string(s.Message.Content), "tool_result") {
			continue
		}
		if p := byID[*s.ParentUUID]; sent[p.Message.ID] {
			path = append(path, string(p.Message.Content), string(s.Message.Content))
		}
	}
	return strings.Join(path, "\n")
}

// TestLostLineOfParallelCalls checks sessions in which each line of a message is the parent of its
// own result and the session continues from the last result. Whichever one or two of these lines
// are lost, a fix brings everything that is left into the sent part. Seen with 2.0.76 and 2.1.325:
// a result with a lost call ends up on a side branch, and so does a call with a lost result once
// the next line is a child of another result.
func TestLostLineOfParallelCalls(t *testing.T) {
	type named struct{ name, line string }
	for order, results := range map[string][]string{"in order": {"a", "b", "c"}, "the other way": {"c", "a", "b"}, "the first one last": {"b", "c", "a"}} {
		lines := []named{{"prompt", ccWrite("p", "", 1, said("go"))}}
		up := "p"
		for i, id := range []string{"a", "b", "c"} {
			lines = append(lines, named{"call " + id, ccWrite("call-"+id, up, 2+i, replied("m1", calling(id)))})
			up = "call-" + id
		}
		for i, id := range results {
			lines = append(lines, named{"result " + id, ccWrite("result-"+id, "call-"+id, 5+i, ccResult(id))})
			up = "result-" + id
		}
		lines = append(lines, named{"reply", ccWrite("r", up, 9, replied("m2", textReply))}, named{"next", ccWrite("n", "r", 10, said("well"))})
		for one := 1; one <= 6; one++ {
			for two := one; two <= 6; two++ {
				var raw []byte
				for i, l := range lines {
					if i != one && i != two {
						raw = append(raw, l.line...)
					}
				}
				name := fmt.Sprintf("results %s, %s and %s lost", order, lines[one].name, lines[two].name)
				_, _, fixed := fix(t, "s1.jsonl", raw)
				if len(fixed.Remaining) > 0 {
					t.Errorf("%s: left %+v", name, fixed.Remaining)
				}
				resumable(t, name, fixed.Raw)
				sent := onPath(fixed.Raw)
				for i, l := range lines {
					if i == one || i == two {
						continue
					}
					word := map[string]string{"prompt": "go", "reply": "done", "next": "well"}[l.name]
					if id, ok := strings.CutPrefix(l.name, "call "); ok {
						word = `"id":"` + id + `"`
					} else if id, ok := strings.CutPrefix(l.name, "result "); ok {
						word = "output of " + id
					}
					if !strings.Contains(sent, word) {
						t.Errorf("%s: %s is not sent", name, l.name)
					}
				}
				if t.Failed() {
					t.Fatalf("%s\n%s\nbecame\n%s", name, raw, fixed.Raw)
				}
			}
		}
	}
}

// TestAbandonedResultStays checks that a result on an abandoned branch stays there even if the line
// of its call is lost.
func TestAbandonedResultStays(t *testing.T) {
	raw := []byte(ccWrite("p", "", 1, said("go")) + ccWrite("x", "p", 2, replied("m1", textReply)) +
		ccWrite("y", "x", 3, said("try it")) + ccWrite("ry", "lost", 4, ccResult("c1")) + ccWrite("z", "ry", 5, replied("m2", textReply)) +
		ccWrite("q", "x", 6, said("something else")) + ccWrite("r", "q", 7, replied("m3", textReply)))
	l := mustRead(t, "s1.jsonl", raw)
	fixed, err := l.Fix(Options{})
	if err != nil || !bytes.Equal(fixed.Raw, raw) {
		t.Errorf("%v: a branch that is not sent was changed:\n%s", err, fixed.Raw)
	}
}

// TestUnlinkedResultIsAttached checks a result on a side branch that is linked to itself or to a
// missing line while its call exists. It is linked to its call again and no stub replaces it.
func TestUnlinkedResultIsAttached(t *testing.T) {
	for _, parent := range []string{"result-a", "lost"} {
		for _, last := range []string{"a", "b"} { // the result from which the session continues
			raw := []byte(ccWrite("p", "", 1, said("go")) + ccWrite("call-a", "p", 2, replied("m1", calling("a"))) + ccWrite("call-b", "call-a", 3, replied("m1", calling("b"))) +
				ccWrite("result-a", parent, 4, ccResult("a")) + ccWrite("result-b", "call-b", 5, ccResult("b")) + ccWrite("r", "result-"+last, 6, replied("m2", textReply)) + ccWrite("n", "r", 7, said("well")))
			_, found, fixed := fix(t, "s1.jsonl", raw)
			if !Broken(found) || bytes.Contains(fixed.Raw, []byte(wording.Stub)) {
				t.Errorf("linked to %s, on from %s: %+v\n%s", parent, last, found, fixed.Raw)
			}
			resumable(t, parent, fixed.Raw)
			more, err := mustRead(t, "s1.jsonl", raw).Fix(Options{AppendOnly: true})
			if err != nil || !bytes.HasPrefix(more.Raw, raw) || bytes.Contains(more.Raw, []byte(wording.Stub)) || Broken(mustRead(t, "s1.jsonl", more.Raw).Check(wire.CheckOptions{})) {
				t.Errorf("linked to %s, on from %s, append only: %v\n%s", parent, last, err, more.Raw)
			}
			if sent := onPath(fixed.Raw); !strings.Contains(sent, "output of a") || !strings.Contains(sent, "output of b") || !strings.Contains(sent, "go") {
				t.Errorf("linked to %s, on from %s: sends %s\n%s", parent, last, sent, fixed.Raw)
			}
		}
	}
}
