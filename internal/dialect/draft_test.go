package dialect

import (
	"reflect"
	"testing"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// TestWithoutCalls: what is taken out at a glance is what a look at all members takes out.
func TestWithoutCalls(t *testing.T) {
	const calls = `[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"}}]`
	for _, message := range []string{
		`{"role":"assistant","content":"x","tool_calls":` + calls + `}`, `{"role":"assistant","content":"x", "tool_calls":` + calls + `}`,
		`{"role":"assistant","content":"x" ,"tool_calls":` + calls + `}`, "{\"role\":\"assistant\",\"content\":null\n,\"tool_calls\":" + calls + `,"name":"y"}`,
		`{"tool_calls":` + calls + `,"role":"assistant","content":"x"}`, `{ "tool_calls": ` + calls + `,"role":"assistant"}`, `{"role":"assistant","content":"x","tool_calls": ` + calls + ` }`,
		`{"role":"assistant","tool_calls":[],"content":"x","tool_calls":` + calls + `}`, `{"role":"assistant","tool_calls":[7],"content":"x","tool\u005fcalls":` + calls + `}`,
		`{"role":"assistant","tool\u005fcalls":[7],"content":"x","tool_calls":` + calls + `}`, `{"role":"assistant","content":"x,\"tool_calls","tool\u005fcalls":` + calls + `}`,
	} {
		r, err := Parse([]byte(`{"model":"m","messages":[{"role":"user","content":"q"},`+message+`,{"role":"tool","tool_call_id":"c1","content":"out"}]}`), Options{Dialect: OpenAIChat})
		if err != nil {
			t.Fatal(err)
		}
		d, at := newDraft(r), r.t.Messages()[1].Span
		got, want := d.withoutCalls(at, r.frame[1].calls), jsonspan.RemoveMember(r.raw, jsonspan.Span(at), "tool_calls")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v, of %s", got, want, message)
		}
	}
}
