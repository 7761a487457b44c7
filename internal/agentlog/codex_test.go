package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// codexWrite returns a rollout with the given payloads, numbered from first on, or without numbers
// if first is -1.
func codexWrite(first int, payloads ...string) string {
	var b strings.Builder
	for i, p := range payloads {
		kind := "response_item"
		if k, rest, ok := strings.Cut(p, "|"); ok && !strings.HasPrefix(p, "{") {
			kind, p = k, rest
		}
		ordinal := ""
		if first >= 0 {
			ordinal = fmt.Sprintf(`,"ordinal":%d`, first+i)
		}
		fmt.Fprintf(&b, `{"timestamp":"2026-03-01T10:00:%02dZ","type":"%s","payload":%s%s}`+"\n", i%60, kind, p, ordinal)
	}
	return b.String()
}

const codexMeta = `session_meta|{"id":"x","cwd":"/app","history_mode":"paginated"}`

func codexSays(role, text string) string {
	return `{"type":"message","role":"` + role + `","content":[{"type":"input_text","text":"` + text + `"}]}`
}

func codexCall(id string) string {
	return `{"type":"function_call","name":"shell","arguments":"{}","call_id":"` + id + `"}`
}

func codexOutput(id string) string {
	return `{"type":"function_call_output","call_id":"` + id + `","output":"output of ` + id + `"}`
}

// ordinals returns the numbers of the records; -1 means none.
func ordinals(t *testing.T, raw []byte) []int {
	t.Helper()
	var all []int
	for line := range bytes.Lines(raw) {
		var r struct{ Ordinal *int }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Ordinal == nil {
			all = append(all, -1)
		} else {
			all = append(all, *r.Ordinal)
		}
	}
	return all
}

// TestNewRecordsAreNumbered checks that new records get numbers and that later numbers continue
// without a gap.
func TestNewRecordsAreNumbered(t *testing.T) {
	for name, c := range map[string]struct {
		first    int
		payloads []string
		o        Options
	}{
		"at the end":          {0, []string{codexMeta, codexSays("user", "go"), codexCall("c1")}, Options{}},
		"in the middle":       {0, []string{codexMeta, codexSays("user", "go"), codexCall("c1"), codexSays("user", "well?"), codexCall("c2"), codexOutput("c2")}, Options{}},
		"several at the end":  {0, []string{codexMeta, codexCall("c1"), codexCall("c2"), codexCall("c3")}, Options{}},
		"a copy that goes":    {0, []string{codexMeta, codexCall("c1"), codexOutput("c1"), codexOutput("c1"), codexSays("user", "well?")}, Options{}},
		"a copy at the end":   {0, []string{codexMeta, codexCall("c1"), codexOutput("c1"), codexSays("user", "well?"), codexOutput("c1")}, Options{}},
		"a result that moves": {0, []string{codexMeta, codexCall("c1"), codexSays("user", "well?"), codexOutput("c1"), codexCall("c2")}, Options{}},
		"a page of a fork":    {40, []string{codexMeta, codexCall("c1"), codexSays("user", "well?")}, Options{}},
		"events between":      {0, []string{codexMeta, codexCall("c1"), `event_msg|{"type":"turn_aborted"}`, codexSays("user", "well?"), `event_msg|{"type":"token_count"}`}, Options{}},
		"append only":         {0, []string{codexMeta, codexSays("user", "go"), codexCall("c1"), `event_msg|{"type":"turn_aborted"}`}, Options{AppendOnly: true}},
	} {
		raw := []byte(codexWrite(c.first, c.payloads...))
		fixed, err := mustRead(t, "rollout-x.jsonl", raw).Fix(c.o)
		if err != nil || len(fixed.Remaining) > 0 || bytes.Equal(raw, fixed.Raw) {
			t.Fatalf("%s: %v %+v", name, err, fixed.Remaining)
		}
		for i, n := range ordinals(t, fixed.Raw) {
			if n != c.first+i {
				t.Errorf("%s: record %d has the number %d:\n%s", name, i, n, fixed.Raw)
				break
			}
		}
		again, err := mustRead(t, "rollout-x.jsonl", fixed.Raw).Fix(c.o)
		if err != nil || !bytes.Equal(again.Raw, fixed.Raw) {
			t.Errorf("%s: a second fix: %v", name, err)
		}
	}
	legacy := []byte(codexWrite(-1, codexMeta, codexCall("c1"), codexSays("user", "well?")))
	_, _, fixed := fix(t, "rollout-x.jsonl", legacy)
	for _, n := range ordinals(t, fixed.Raw) {
		if n >= 0 {
			t.Errorf("a number in a rollout without any:\n%s", fixed.Raw)
		}
	}
	child := []byte(codexWrite(0, `session_meta|{"id":"x","subagent_history_start_ordinal":3}`, codexCall("c1"), codexSays("user", "well?"), codexSays("user", "now")))
	if _, _, fixed := fix(t, "rollout-x.jsonl", child); !bytes.Contains(fixed.Raw, []byte(`"subagent_history_start_ordinal":4`)) {
		t.Errorf("the head names another record:\n%s", fixed.Raw)
	}
}

// TestOrdinalsHaveNoGap checks that the repair of any faulty pairs leaves no gap in the numbers.
func TestOrdinalsHaveNoGap(t *testing.T) {
	for seed := range 500 {
		r := rand.New(rand.NewPCG(3, uint64(seed)))
		payloads := []string{codexMeta}
		for n := range 3 + r.IntN(20) {
			call := fmt.Sprintf("c%d", r.IntN(n+1))
			switch r.IntN(4) {
			case 0:
				payloads = append(payloads, codexSays("user", fmt.Sprint("word", n)))
			case 1:
				payloads = append(payloads, codexCall(fmt.Sprintf("c%d", n)))
			case 2:
				payloads = append(payloads, codexOutput(call))
			default:
				payloads = append(payloads, `event_msg|{"type":"token_count"}`)
			}
		}
		raw := []byte(codexWrite(0, payloads...))
		l := mustRead(t, "rollout-x.jsonl", raw)
		fixed, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		verify(t, "rollout-x.jsonl", raw, fixed)
		for i, n := range ordinals(t, fixed.Raw) {
			if n != i {
				t.Fatalf("seed %d: record %d has the number %d:\n%s\nbecame\n%s", seed, i, n, raw, fixed.Raw)
			}
		}
	}
}

// TestCodexSends checks the sent items of a rollout: those of the last compaction and all later
// ones, without rolled-back turns.
func TestCodexSends(t *testing.T) {
	for name, c := range map[string]struct {
		payloads []string
		want     string
	}{
		"all":            {[]string{codexMeta, codexSays("user", "one"), codexSays("assistant", "two")}, "one two"},
		"compacted":      {[]string{codexMeta, codexSays("user", "one"), `compacted|{"message":"sum","replacement_history":[` + codexSays("user", "sum") + `]}`, codexSays("user", "two")}, "sum two"},
		"compacted, old": {[]string{codexMeta, codexSays("user", "one"), `compacted|{"message":"sum"}`, codexSays("user", "two")}, "one sum two"},
		"rolled back": {[]string{codexMeta, codexSays("user", "<environment_context>"), codexSays("user", "one"), codexSays("assistant", "a"), codexSays("user", "two"), codexCall("c1"),
			`event_msg|{"type":"thread_rolled_back","num_turns":1}`, codexSays("user", "three")}, "<environment_context> one a three"},
		"two turns rolled back": {[]string{codexMeta, codexSays("user", "one"), codexSays("user", "two"), codexSays("user", "three"), `event_msg|{"type":"thread_rolled_back","num_turns":2}`}, "one"},
	} {
		l := mustRead(t, "rollout-x.jsonl", []byte(codexWrite(0, c.payloads...)))
		var got []string
		for _, th := range l.Threads {
			if th.Kind == Main {
				tr := th.Request.Transcript()
				for _, m := range tr.Messages() {
					got = append(got, th.Request.Text(m.First))
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, not %q", name, s, c.want)
		}
		if fixed, err := l.Fix(Options{}); err != nil || len(fixed.Changes) > 0 {
			t.Errorf("%s: %v %+v", name, err, fixed.Changes)
		}
	}
}
