package dialect_test

import (
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestDefectVoice: what a repair writes in the user's place is not taken for a person's words
// when it is read again.
func TestDefectVoice(t *testing.T) {
	for body, want := range map[string]bool{
		`[{"role":"model","parts":[{"text":"hello"}]},{"role":"user","parts":[{"text":"q"}]}]`:                                                                                       false,
		`[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]},{"role":"model","parts":[{"text":"hello"}]},{"role":"user","parts":[{"text":"q"}]}]`: false,
		`[{"role":"user","parts":[{"text":"[see; this]"}]},{"role":"user","parts":[{"text":"q"}]}]`:                                                                                  true,
		`[{"role":"user","parts":[{"text":"(The beginning is missing)"}]},{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"q"}]}]`:                           true,
	} {
		r, err := dialect.Parse([]byte(`{"model":"gemini-3-pro-preview","contents":`+body+`}`), dialect.Options{Dialect: dialect.Gemini})
		if err != nil {
			t.Fatal(err)
		}
		m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := dialect.Parse(m.Request.Raw(), dialect.Options{Dialect: dialect.Gemini})
		if err != nil {
			t.Fatal(err)
		}
		if first := out.Transcript().Messages()[0]; first.Speaks != want {
			t.Errorf("a person speaks in the first message: %v, expected %v\n%s", first.Speaks, want, out.Raw())
		}
	}
}

// TestDefectVoiceBehind: words of a person that stand in one string behind a reminder, or behind
// what a repair has quoted, are a person's.
func TestDefectVoiceBehind(t *testing.T) {
	for _, stray := range []string{`{"role":"tool","tool_call_id":"c1","content":"stray"}`, `{"role":"system","content":"Remember."}`} {
		body := `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},` + stray + `,{"role":"user","content":"the question"}]}`
		r, err := dialect.Parse([]byte(body), dialect.Options{Dialect: dialect.OpenAIChat, Profile: "template"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := dialect.Parse(m.Request.Raw(), dialect.Options{Dialect: dialect.OpenAIChat, Profile: "template"})
		if err != nil {
			t.Fatal(err)
		}
		all := out.Transcript().Messages()
		if last := all[len(all)-1]; !last.Speaks {
			t.Errorf("nobody speaks in the last message of %s", out.Raw())
		}
	}
	for text, want := range map[string]bool{
		`<system-reminder>\na\n</system-reminder>`:                                                                         false,
		`\n <system-reminder>a</system-reminder>\n\n<system-reminder>b</system-reminder>\n`:                                false,
		`<system-reminder>a</system-reminder>\n\nthe question`:                                                             true,
		`<system-reminder>a</system-reminder>the question<system-reminder>b</system-reminder>`:                             true,
		`<system-reminder> is a tag that I wonder about`:                                                                   true,
		`[A tool result without its call; quoted, not written by the user]\nstray\n\nmore of it`:                           false,
		`[A tool result without its call; quoted, not written by the user]\nstray\n[end of the quotation]\n\nthe question`: true,
		`(The beginning of this conversation is not included.)`:                                                            false,
		`(The beginning of this conversation is not included.)\n\nthe question`:                                            true,
	} {
		r, err := dialect.Parse([]byte(`{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`), dialect.Options{Dialect: dialect.OpenAIChat})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Transcript().Messages()[0].Speaks; got != want {
			t.Errorf("%s: a person speaks: %v, expected %v", text, got, want)
		}
	}
}

// TestRefusalWithoutRole: only the assistant refuses, and has a recording of what it said.
func TestRefusalWithoutRole(t *testing.T) {
	for _, said := range []string{`"content":null,"refusal":"no"`, `"refusal":"no"`, `"audio":{"id":"a"}`} {
		defect{name: said, as: dialect.OpenAIChat, body: `{"model":"gpt-5","messages":[{"role":"user","content":"q"},{` + said + `},{"role":"user","content":"n"}]}`,
			found: []string{"field-missing", "null-content"}, keeps: []string{`{` + said + `,"role":"assistant"}`}}.run(t)
	}
	defect{name: "no refusal", as: dialect.OpenAIChat, body: `{"model":"gpt-5","messages":[{"role":"user","content":"q"},{"refusal":null,"content":"?"}]}`,
		found: []string{"field-missing"}, left: []string{"field-missing"}, keeps: []string{`{"refusal":null,"content":"?"}`}}.run(t)
}
