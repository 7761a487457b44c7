package dialect_test

import (
	"fmt"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
)

// TestDefectChatOrder: what a message of Chat holds is filed as it is heard, thoughts, words,
// calls, in whatever order its members stand and whether the words are a string or parts.
func TestDefectChatOrder(t *testing.T) {
	calls := `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]`
	thought := `"reasoning_content":"hm"`
	for _, words := range []string{`"content":"look"`, `"content":[{"type":"text","text":"look"}]`} {
		members := []string{`"role":"assistant"`, thought, words, calls}
		for _, p := range [][4]int{{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 2, 1, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {3, 0, 1, 2}} {
			m := fmt.Sprintf("{%s,%s,%s,%s}", members[p[0]], members[p[1]], members[p[2]], members[p[3]])
			body := `{"model":"gpt-5.2","messages":[{"role":"user","content":"q"},` + m + `,{"role":"tool","tool_call_id":"a","content":"x"},{"role":"tool","tool_call_id":"b","content":"y"}]}`
			r, err := dialect.Parse([]byte(body), dialect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tr := r.Transcript()
			var got []any
			for b := tr.Messages()[1].First; b < tr.Messages()[1].End; b++ {
				got = append(got, tr.Block(b).Kind, tr.Block(b).CallID)
			}
			want := []any{transcript.Thinking, "", transcript.Text, "", transcript.Call, "a", transcript.Call, "b"}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: blocks %v, expected %v", m, got, want)
			}
			for b := tr.Messages()[1].First; b < tr.Messages()[1].End; b++ {
				needs := tr.Atoms()[tr.AtomOf(b)].Needs
				if tied := len(needs) == 1 && needs[0] == tr.AtomOf(tr.Messages()[1].First); tied != (tr.Block(b).Kind == transcript.Call) {
					t.Errorf("%s: %s needs %v", m, r.Path(b), needs)
				}
			}
		}
	}
}

// TestDefectUnsignedCalls: a call of Gemini needs the one whose signature it shares, and no other.
func TestDefectUnsignedCalls(t *testing.T) {
	for calls, want := range map[string]string{
		"uu": "[[] []]", "su": "[[] [1]]", "ss": "[[] []]", "ssu": "[[] [] [2]]", "us": "[[] []]", "usu": "[[] [] [2]]",
	} {
		parts, answers := "", ""
		for i, c := range calls {
			sign := ""
			if c == 's' {
				sign = `,"thoughtSignature":"c2ln"`
			}
			parts += fmt.Sprintf(`,{"functionCall":{"id":"c%d","name":"f","args":{}}%s}`, i, sign)
			answers += fmt.Sprintf(`,{"functionResponse":{"id":"c%d","name":"f","response":{"output":"x"}}}`, i)
		}
		body := `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[` + parts[1:] + `]},{"role":"user","parts":[` + answers[1:] + `]}]}`
		r, err := dialect.Parse([]byte(body), dialect.Options{Dialect: dialect.Gemini})
		if err != nil {
			t.Fatal(err)
		}
		tr := r.Transcript()
		var got [][]transcript.AtomID
		for b := tr.Messages()[1].First; b < tr.Messages()[1].End; b++ {
			got = append(got, tr.Atoms()[tr.AtomOf(b)].Needs)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: needs %v, expected %s", calls, got, want)
		}
	}
}
