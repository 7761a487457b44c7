package agentlog

import (
	"fmt"
	"strings"
	"testing"
)

const (
	codexOwn   = "01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d"
	codexOther = "01a1e58d-0000-7f72-97ae-27f5aaeffe3d"
	codexName  = "rollout-2026-01-01T00-00-00-" + codexOwn + ".jsonl"
)

// A rollout writes records like Codex 0.166.
type rollout struct {
	strings.Builder
	n int
}

func (r *rollout) record(kind, payload string) *rollout {
	fmt.Fprintf(r, `{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":%d,"type":"%s","payload":%s}`+"\n", r.n, kind, payload)
	r.n++
	return r
}

func (r *rollout) head(id, more string) *rollout {
	return r.record("session_meta", `{"id":"`+id+`","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p","originator":"codex_exec","cli_version":"0.166.0"`+more+`}`)
}

func (r *rollout) item(item string) *rollout { return r.record("response_item", item) }

func (r *rollout) user(text string) *rollout {
	return r.item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]}`)
}

func (r *rollout) call(id string) *rollout {
	return r.item(`{"type":"function_call","name":"f","arguments":"{}","call_id":"` + id + `"}`)
}

func (r *rollout) output(id string) *rollout {
	return r.item(`{"type":"function_call_output","call_id":"` + id + `","output":"out ` + id + `"}`)
}

const paginated = `,"history_mode":"paginated"`

// sentText returns the sent part of a session as one text.
func sentText(l *Log) string {
	var b strings.Builder
	for _, t := range l.Sent() {
		b.Write(t.Stored().Raw())
	}
	return b.String()
}

// TestCodexSecondHead checks a second head in a paginated rollout, which Codex reads backwards to
// the last head. It reads other rollouts completely. Seen by running 0.166.
func TestCodexSecondHead(t *testing.T) {
	for _, id := range []string{codexOther, codexOwn} {
		r := new(rollout).head(codexOwn, paginated).user("one").call("c1").output("c1").head(id, paginated+`,"memory_mode":"on"`).user("two")
		l, found, fixed := fix(t, codexName, []byte(r.String()))
		if count(found, secondHeadRule) != 1 || !Broken(found) {
			t.Errorf("%s: %+v", id, found)
		}
		if strings.Count(string(fixed.Raw), "session_meta") != 1 || Broken(fixed.Remaining) {
			t.Errorf("%s: %+v\n%s", id, fixed.Remaining, fixed.Raw)
		}
		for n := range r.n - 1 { // numbered without a gap
			if !strings.Contains(string(fixed.Raw), fmt.Sprintf(`"ordinal":%d,`, n)) {
				t.Errorf("%s: no record %d\n%s", id, n, fixed.Raw)
			}
		}
		if said := sentText(l); !strings.Contains(said, "one") || !strings.Contains(said, "two") {
			t.Errorf("%s: %s", id, said)
		}
		again := mustRead(t, codexName, fixed.Raw)
		if more, err := again.Fix(Options{}); err != nil || string(more.Raw) != string(fixed.Raw) {
			t.Errorf("%s: a second fix: %v", id, err)
		}
	}
}

// TestCodexValidHeads checks that a fork may begin with two heads, and that a rollout without
// pagination may have a head anywhere, even twice.
func TestCodexValidHeads(t *testing.T) {
	plain := new(rollout).head(codexOwn, "").user("one").head(codexOther, "").user("two").String()
	twice := new(rollout).head(codexOwn, "").user("one").String()
	head, _, _ := strings.Cut(twice, "\n")
	for name, raw := range map[string]string{
		"fork":          new(rollout).head(codexOwn, paginated).head(codexOther, paginated).user("one").call("c1").output("c1").String(),
		"not paginated": plain,
		"twice":         twice + head + "\n" + strings.ReplaceAll(strings.ReplaceAll(twice, head+"\n", ""), `"ordinal":1`, `"ordinal":2`),
	} {
		l, found, fixed := fix(t, codexName, []byte(raw))
		if Broken(found) {
			t.Errorf("%s: %+v", name, found)
		}
		if name != "twice" && string(fixed.Raw) != raw {
			t.Errorf("%s: changed to\n%s", name, fixed.Raw)
		}
		if !strings.Contains(sentText(l), "one") {
			t.Errorf("%s: %s", name, sentText(l))
		}
	}
}

// TestCodexSessionBeginsAtNamedHead checks a session after records of another one. It begins with
// the head whose id is in the file's name; earlier records are not sent and stay.
func TestCodexSessionBeginsAtNamedHead(t *testing.T) {
	raw := new(rollout).head(codexOther, paginated).user("one").call("c1").head(codexOwn, paginated).user("two").String()
	l, found, fixed := fix(t, codexName, []byte(raw))
	if Broken(found) || string(fixed.Raw) != raw {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
	if said := sentText(l); strings.Contains(said, "one") || !strings.Contains(said, "two") {
		t.Error(said)
	}
}

// TestCodexCompactionWithoutHistory checks that a compaction of older versions keeps the texts of
// the user and the summary.
func TestCodexCompactionWithoutHistory(t *testing.T) {
	r := new(rollout).head(codexOwn, "").user("<environment_context>where</environment_context>").user("one").call("c1").record("compacted", `{"message":"the summary"}`).user("two")
	l, found, fixed := fix(t, codexName, []byte(r.String()))
	if Broken(found) || string(fixed.Raw) != r.String() {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
	said := sentText(l)
	if !strings.Contains(said, "one") || strings.Index(said, "the summary") < strings.Index(said, "one") || strings.Index(said, "two") < strings.Index(said, "the summary") {
		t.Error(said)
	}
	for _, gone := range []string{"where", "c1"} {
		if strings.Contains(said, gone) {
			t.Errorf("%s is sent: %s", gone, said)
		}
	}
}

// TestCodexNestedResults checks that items in the list of a compaction are repaired in place.
func TestCodexNestedResults(t *testing.T) {
	user := `{"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}`
	call := `{"type":"function_call","name":"f","arguments":"{}","call_id":"k1"}`
	output := `{"type":"function_call_output","call_id":"k1","output":"said"}`
	for name, history := range map[string]string{
		"result alone":         user + "," + output,
		"result alone, twice":  output + "," + user + "," + output,
		"two results":          user + "," + call + "," + output + "," + strings.Replace(output, "said", "said again", 1),
		"a copy of the result": user + "," + call + "," + output + "," + output,
		"result before call":   user + "," + output + "," + call,
	} {
		r := new(rollout).head(codexOwn, paginated).user("one").record("compacted", `{"message":"","replacement_history":[`+history+`],"window":7}`).user("two")
		_, found, fixed := fix(t, codexName, []byte(r.String()))
		if !Broken(found) || Broken(fixed.Remaining) {
			t.Errorf("%s: %+v, left %+v\n%s", name, found, fixed.Remaining, fixed.Raw)
		}
		after := sentText(mustRead(t, codexName, fixed.Raw))
		if !strings.Contains(after, "kept") || !strings.Contains(after, "said") || name == "two results" && !strings.Contains(after, "said again") {
			t.Errorf("%s: lost\n%s", name, after)
		}
		if !strings.Contains(string(fixed.Raw), `"window":7}`) || !strings.Contains(string(fixed.Raw), user) {
			t.Errorf("%s: more was changed\n%s", name, fixed.Raw)
		}
	}
}

// TestCodexMismatchedOutput checks that an output of another type does not answer a call with its
// id, and that both are repaired.
func TestCodexMismatchedOutput(t *testing.T) {
	r := new(rollout).head(codexOwn, paginated).user("one").call("m1").item(`{"type":"custom_tool_call_output","call_id":"m1","output":"said"}`).user("two")
	_, found, fixed := fix(t, codexName, []byte(r.String()))
	if !Broken(found) || Broken(fixed.Remaining) || !strings.Contains(string(fixed.Raw), "said") || !strings.Contains(string(fixed.Raw), `"function_call_output"`) {
		t.Errorf("%+v, left %+v\n%s", found, fixed.Remaining, fixed.Raw)
	}
}

// TestCodexLateOutputOfRolledBackTurn checks that the late output of a rolled-back call is not sent
// and that a repair restores nothing of the turn.
func TestCodexLateOutputOfRolledBackTurn(t *testing.T) {
	r := new(rollout).head(codexOwn, paginated).user("one").user("two").call("c2").record("event_msg", `{"type":"thread_rolled_back","num_turns":1}`).output("c2").user("three")
	l, found, fixed := fix(t, codexName, []byte(r.String()))
	if Broken(found) || string(fixed.Raw) != r.String() || strings.Contains(sentText(l), "c2") {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
	r.call("c2") // an id may be reused
	if _, found, _ := fix(t, codexName, []byte(r.String())); count(found, "orphan-call") != 1 {
		t.Errorf("%+v", found)
	}
}

// TestCodexIDsAfterCompaction checks that a call which repeats a call and its id from before a
// compaction is no copy, unless it also has the same number.
func TestCodexIDsAfterCompaction(t *testing.T) {
	call := `{"type":"function_call","id":"fc_1","name":"f","arguments":"{}","call_id":"c1"}`
	r := new(rollout).head(codexOwn, paginated).user("one").item(call).output("c1").record("compacted", `{"message":"","replacement_history":[]}`).item(call)
	again := strings.SplitAfter(r.String(), "\n")[2]
	r.output("c1").user("two")
	l, found, fixed := fix(t, codexName, []byte(r.String()))
	if len(found) > 0 || string(fixed.Raw) != r.String() || strings.Count(sentText(l), `"fc_1"`) != 1 {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
	_, found, fixed = fix(t, codexName, []byte(r.String()+again))
	if count(found, "duplicate-line") != 1 || string(fixed.Raw) != r.String() {
		t.Errorf("a copy: %+v\n%s", found, fixed.Raw)
	}
}
