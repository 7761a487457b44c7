package planner

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestPlanRefusesBrokenPromises: a result without the task or the newest words of the user, or with
// another system prompt or parameter, is an error, so that no fault of a rule, a window or a
// summary can remove them unseen.
func TestPlanRefusesBrokenPromises(t *testing.T) {
	const in = `{"model":"m","system":"law","messages":[{"role":"user","content":"TASK"},{"role":"assistant","content":"a"},{"role":"user","content":"NEWEST"}],"max_tokens":9}`
	for _, tt := range []struct {
		name, out, want string
		unpin           Pin
	}{
		{name: "the same words", out: strings.Replace(in, `{"role":"assistant","content":"a"}`, `{"role":"assistant","content":"b"}`, 1)},
		{name: "words in a list", out: strings.Replace(in, `"NEWEST"`, `[{"type":"text","text":"Also.\n\nNEWEST"}]`, 1)},
		{name: "no newest words", out: strings.Replace(in, "NEWEST", "[pare: gone]", 1), want: "the newest words of the user at messages.2.content"},
		{name: "newest words unpinned", out: strings.Replace(in, "NEWEST", "[pare: gone]", 1), unpin: PinNewest},
		{name: "no task", out: strings.Replace(in, "TASK", "[pare: gone]", 1), want: "the task of the user at messages.0.content"},
		{name: "task unpinned", out: strings.Replace(in, "TASK", "[pare: gone]", 1), unpin: PinTask},
		{name: "words only as the assistant's", out: strings.Replace(strings.Replace(in, "NEWEST", "x", 1), `"a"`, `"NEWEST"`, 1), want: "the newest words"},
		{name: "another system prompt", out: strings.Replace(in, "law", "no", 1), want: "outside of its history"},
		{name: "another parameter", out: strings.Replace(in, "9}", "10}", 1), want: "outside of its history"},
		{name: "a parameter less", out: strings.Replace(in, `,"max_tokens":9`, "", 1), want: "outside of its history"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := wire.Parse([]byte(in), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			after, err := wire.Parse([]byte(tt.out), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = checkPromises(before, before, after, tt.unpin)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
