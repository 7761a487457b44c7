package agentlog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// TestCodexTornPrompt truncates the line of a prompt at every byte and checks that the event's copy
// of the text is sent once, in its place.
func TestCodexTornPrompt(t *testing.T) {
	const words = `Say \"two\"\nor \u00fc & go ü 😀 \ud83d\ude00!`
	event := func(r *rollout, text string) {
		r.record("event_msg", `{"type":"user_message","message":"`+text+`","images":[],"local_images":[]}`)
	}
	for _, eventFirst := range []bool{false, true} {
		r := new(rollout).head(codexOwn, paginated)
		r.record("turn_context", `{"cwd":"/p","model":"gpt-5"}`)
		turn := func(text string) (line int) {
			if eventFirst {
				event(r, text)
			}
			line = strings.Count(r.String(), "\n")
			r.user(text)
			if !eventFirst {
				event(r, text)
			}
			return line
		}
		turn("one")
		r.call("c1").output("c1")
		at := turn(words)
		r.call("c2").output("c2")
		turn("three")
		whole := r.String()
		lines := strings.SplitAfter(whole, "\n")
		if _, found, _ := fix(t, codexName, []byte(whole)); len(found) > 0 {
			t.Fatalf("%+v", found)
		}
		for n := 1; n < len(lines[at])-2; n += trial.Stride(5) {
			// The next line may follow directly, and the lost bytes may be nulls.
			for _, rest := range []string{"\n", "", strings.Repeat("\x00", len(lines[at])-1-n) + "\n", "\x00" + lines[at][n:]} {
				name := fmt.Sprintf("event first %v, torn at %d, %q", eventFirst, n, rest)
				raw := strings.Join(lines[:at], "") + lines[at][:n] + rest + strings.Join(lines[at+1:], "")
				l, found, fixed := fix(t, codexName, []byte(raw))
				if count(found, promptRule) != 1 {
					t.Fatalf("%s: %+v", name, found)
				}
				again := mustRead(t, codexName, fixed.Raw)
				sent := sentText(again)
				i, k, m := strings.Index(sent, `"c1","output`), strings.Index(sent, words), strings.Index(sent, `"call_id":"c2"`)
				if i < 0 || k < i || m < k || strings.Count(sent, words) != 1 || Broken(again.Check(wire.CheckOptions{})) {
					t.Fatalf("%s: sends %s\n%s", name, sent, fixed.Raw)
				}
				if !bytes.Contains(fixed.Raw, []byte(lines[len(lines)-2])) {
					t.Errorf("%s: a record has another number\n%s", name, fixed.Raw)
				}
				if _, err := l.Fix(Options{AppendOnly: true}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if eventFirst { // the last line of the file
				raw := strings.Join(lines[:at], "") + lines[at][:n]
				for _, appendOnly := range []bool{false, true} {
					fixed, err := mustRead(t, codexName, []byte(raw)).Fix(Options{AppendOnly: appendOnly})
					if err != nil || !bytes.HasPrefix(fixed.Raw, []byte(raw)) || strings.Count(sentText(mustRead(t, codexName, fixed.Raw)), words) != 1 {
						t.Fatalf("torn at %d, the last: %v\n%s", n, err, fixed.Raw)
					}
				}
			}
		}
	}
}

// TestCodexOtherTornLines checks that other torn lines are not restored as prompts, and that no
// prompt is sent twice.
func TestCodexOtherTornLines(t *testing.T) {
	event := func(text string) string { return `{"type":"user_message","message":"` + text + `"}` }
	for name, make := range map[string]func(r *rollout) (torn string){
		"a call": func(r *rollout) string {
			r.user("one").record("event_msg", event("one"))
			return `{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":9,"type":"response_item","payload":{"type":"function_ca`
		},
		"a call, and an event alone": func(r *rollout) string {
			r.record("event_msg", event("one"))
			return `{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":9,"type":"response_item","payload":{"type":"function_ca`
		},
		"another event": func(r *rollout) string {
			r.record("event_msg", event("one"))
			return `{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":9,"type":"event_msg","payl`
		},
		"other words": func(r *rollout) string {
			r.record("event_msg", event("one"))
			return `{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment>and much mo`
		},
		"words of the model": func(r *rollout) string {
			r.record("event_msg", event("one"))
			return `{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_te`
		},
		"in front of a compaction": func(r *rollout) string {
			r.record("event_msg", event("one"))
			r.WriteString(`{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user"` + "\n")
			r.record("compacted", `{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"sum"}]}]}`)
			return `{"timest`
		},
	} {
		r := new(rollout).head(codexOwn, paginated)
		r.WriteString(make(r) + "\n")
		r.user("two").record("event_msg", event("two"))
		if _, found, fixed := fix(t, codexName, []byte(r.String())); count(found, promptRule) > 0 || fixed.Raw[0] != r.String()[0] || len(fixed.Changes) > 0 {
			t.Errorf("%s: %+v\n%s", name, found, fixed.Raw)
		}
	}
}

// TestCodexLostPrompt checks that a missing line is restored if its number is missing, and that of
// two rollouts in one file with a copy of the first one, the first is sent as before.
func TestCodexLostPrompt(t *testing.T) {
	r := new(rollout).head(codexOwn, paginated).user("one")
	r.record("event_msg", `{"type":"user_message","message":"one"}`).user("two").record("event_msg", `{"type":"user_message","message":"two"}`).call("c1").output("c1")
	lines := strings.SplitAfter(r.String(), "\n")
	raw := strings.Replace(r.String(), lines[3], "", 1)
	_, found, fixed := fix(t, codexName, []byte(raw))
	if count(found, promptRule) != 1 || strings.Count(sentText(mustRead(t, codexName, fixed.Raw)), `"two"`) != 1 || !strings.Contains(string(fixed.Raw), lines[5]) {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
	for _, more := range []int{5, 6} { // another line is lost too
		raw := strings.Replace(raw, lines[more], "", 1)
		if l := mustRead(t, codexName, []byte(raw)); more == 5 && count(l.Check(wire.CheckOptions{}), promptRule) > 0 {
			t.Errorf("%d: which of them it was is not known", more)
		}
	}
	other := new(rollout).head(codexOther, paginated).user("uno").record("compacted", `{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"sum"}]}]}`).user("due")
	l := mustRead(t, codexName, []byte(r.String()+other.String()+r.String()))
	fixed, err := l.Fix(Options{})
	if sent := sentText(l); err != nil || !strings.Contains(sent, `"two"`) || strings.Contains(sent, "due") {
		t.Errorf("%v: sends %s", err, sent)
	}
	if sent := sentText(mustRead(t, codexName, fixed.Raw)); !strings.Contains(sent, `"one"`) || !strings.Contains(sent, `"two"`) {
		t.Errorf("sends %s", sent)
	}
}
