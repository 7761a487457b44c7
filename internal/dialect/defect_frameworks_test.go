package dialect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestDefectP2Frameworks: histories as frameworks keep them are refused, by name where it
// shows, wherever in them it shows; requests with members that nobody knows are not.
func TestDefectP2Frameworks(t *testing.T) {
	many := strings.Repeat(`{"id":"1","role":"user","content":"q"},{"id":"2","role":"assistant","content":"a"},`, 5)
	for body, looks := range map[string]string{
		`{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"q"}}]}`:                                                                                             "LangChain",
		`[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"q"}]}]`:                                                                                                                                            "Pydantic AI",
		`[{"kind":"request","parts":[{"text":"q"}]},{"kind":"response","parts":[{"text":"a"},{"part\u005fkind":"tool-call","tool_name":"f"}]}]`:                                                                               "Pydantic AI",
		`{"messages":[` + many + `{"id":"3","role":"assistant","toolCalls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"4","role":"tool","toolCallId":"a","content":"x"}]}`:                "AG-UI",
		`{"messages":[` + many + `{"id":"3","role":"assistant","content":"so","toolCalls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"4","role":"tool","toolCallId":"a","content":"x"}]}`: "AG-UI",
		`{"messages":[{"role":"user","content":"q","toolInvocations":[]}]}`:                                                                                                                                                   "Vercel",
		`{"messages":[{"speaker":"ann","utterance":"q"},{"speaker":"bob","utterance":"a"}]}`:                                                                                                                                  "not known",
		`{"contents":[{"role":"user","parts":[{"speech":{"words":"q"}},{"speech":{"words":"r"}}]}]}`:                                                                                                                          "not known",
		`{"messages":[{"role":"user","content":"q","mood":"good"}]}`:                                                                                                                                                          "",
		`{"messages":[{"role":"assistant","mood":"good"},{"role":"user","content":"q"}]}`:                                                                                                                                     "",
		`{"contents":[{"role":"user","parts":[{"text":"q"},{"hologram":{"data":"x"}}]}]}`:                                                                                                                                     "",
		`{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}]}`:                                                                        "",
	} {
		_, err := dialect.Parse([]byte(body), dialect.Options{})
		var foreign *dialect.ForeignError
		switch {
		case looks == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case looks != "" && (!errors.As(err, &foreign) || !strings.Contains(foreign.Looks, looks)):
			t.Errorf("%s: %v, want %s", body, err, looks)
		}
	}
}
