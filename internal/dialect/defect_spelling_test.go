package dialect_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestSpeaksHoweverSpelled: whether a person speaks does not depend on how a program writes
// its strings: Go's encoder spells <, > and & as numbers, PHP's puts a backslash before each /.
func TestSpeaksHoweverSpelled(t *testing.T) {
	goes := strings.NewReplacer("<", `\u003c`, ">", `\u003e`)
	nets := strings.NewReplacer("<", `\u003C`, ">", `\u003E`)
	php := strings.NewReplacer("/", `\/`)
	for text, want := range map[string]bool{
		"<system-reminder>\nbe brief\n</system-reminder>":                                false,
		" \n<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder> ": false,
		"<system-reminder>see /system-reminder and <system-reminder></system-reminder>":  false,
		"<system-reminder>be brief</system-reminder>and a word":                          true,
		"<system-reminder>never closed":                                                  true,
		"<system-reminder>a /system-reminder>":                                           true,
		"<system-reminders>a</system-reminders>":                                         true,
		"<system-reminder>a <abcde/system-reminder>":                                     true,
		"<b>bold</b>": true,
		" \n\t":       false,
		"a word":      true,
		"[A tool result without its call; quoted, not written by the user]\n<b>what it said</b>": false,
	} {
		plain, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		plain = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(plain)))
		for _, spelled := range []string{string(plain), goes.Replace(string(plain)), nets.Replace(string(plain)), php.Replace(string(plain)), strings.NewReplacer(`" `, `"\u0020`, `\n`, `\u000a`, `\t`, `\u0009`).Replace(string(plain)), goes.Replace(php.Replace(string(plain)))} {
			r, err := dialect.Parse([]byte(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":[{"type":"text","text":`+spelled+`}]}]}`), dialect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Transcript().Messages()[0].Speaks; got != want {
				t.Errorf("%s: a person speaks: %v, want %v", spelled, got, want)
			}
		}
	}
}

// TestEmptyListWithSpace: a list with nothing in it asks for no acknowledgement, also if it is
// written with a space.
func TestEmptyListWithSpace(t *testing.T) {
	for list, found := range map[string][]string{`[]`: nil, `[ ]`: nil, "[\n]": nil, `[{"id":"s"}]`: {"safety-unacknowledged"}} {
		r, err := dialect.Parse([]byte(`{"model":"gpt-5","input":[{"role":"user","content":"q"},{"type":"computer_call","id":"cu_1","call_id":"a","action":{"type":"screenshot"},"pending_safety_checks":`+list+`,"status":"completed"},{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AAAA"}}]}`), dialect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Check(dialect.CheckOptions{}) {
			got = append(got, f.Rule)
		}
		if !slices.Equal(got, found) {
			t.Errorf("%q: %q, want %q", list, got, found)
		}
	}
}
