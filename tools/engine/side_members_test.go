package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// sideMembers has members of a chat message next to its content, with a text of a given length.
var sideMembers = map[string]func(text string) string{
	"refusal":           func(text string) string { return `"` + text + `"` },
	"audio":             func(text string) string { return `{"id":"audio_1","expires_at":1,"transcript":"` + text + `"}` },
	"reasoning":         func(text string) string { return `"` + text + `"` },
	"reasoning_content": func(text string) string { return `"` + text + `"` },
	"reasoning_text":    func(text string) string { return `"` + text + `"` },
	"reasoning_details": func(text string) string { return `[{"type":"reasoning.text","text":"` + text + `"}]` },
	"thinking":          func(text string) string { return `"` + text + `"` },
	"thinking_blocks":   func(text string) string { return `[{"type":"thinking","thinking":"` + text + `"}]` },
}

// TestSideMembersAreBlocks checks that members next to the content of a chat message are blocks:
// they are counted and can be dropped, and the minimum of a window is exact.
func TestSideMembersAreBlocks(t *testing.T) {
	long := strings.Repeat("these are the words of it ", 800)
	for name, value := range sideMembers {
		for _, model := range []string{"gpt-5", "deepseek-reasoner", "mistral-large-latest", "moonshot-v1"} {
			counter := tokens.For(model)
			body := func(text string) string {
				return fmt.Sprintf(`{"model":"%s","messages":[{"role":"user","content":"Do it."},{"role":"assistant","content":"No.","%s":%s},{"role":"user","content":"Then something else."},{"role":"assistant","content":"Yes."},{"role":"user","content":"Go on."}]}`, model, name, value(text))
			}
			parsed := func(text string) *wire.Request {
				r, err := pare.Parse([]byte(body(text)))
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := parsed(long)
			whole := r.Tokens(counter)
			if small := parsed("word").Tokens(counter); whole-small < 3000 {
				t.Errorf("%s, %s: %d tokens of %d bytes", model, name, whole-small, len(long))
			}
			_, err := planner.Trim(context.Background(), r, pare.Window{Tokens: 1}, pare.Options{Counter: counter})
			var least *pare.WindowTooSmall
			if !errors.As(err, &least) || least.Minimum > whole/10 {
				t.Errorf("%s, %s: %d tokens, but the least is %v", model, name, whole, err)
				continue
			}
			plan, err := planner.Trim(context.Background(), r, pare.Window{Tokens: least.Minimum}, pare.Options{Counter: counter})
			if err != nil || plan.Result().Tokens(counter) > least.Minimum {
				t.Errorf("%s, %s: a window of the least size, %d: %v", model, name, least.Minimum, err)
			}
			if _, err := planner.Trim(context.Background(), r, pare.Window{Tokens: least.Minimum - 1}, pare.Options{Counter: counter}); err == nil {
				t.Errorf("%s, %s: a window smaller than the least, %d", model, name, least.Minimum)
			}
		}
	}
}

// TestRepairKeepsTextBesideCalls checks that text next to an unanswered call stays when the call is
// dropped, and when messages are joined.
func TestRepairKeepsTextBesideCalls(t *testing.T) {
	drop := pare.Options{Repair: wire.Repair{OrphanCall: wire.RemedyDrop}}
	for name, value := range sideMembers {
		if name != "refusal" && name != "audio" {
			continue // a thought without anything behind it goes with the call that it led to
		}
		for _, content := range []string{"null", `""`, `"So."`, `[{"type":"text","text":"So."}]`} {
			body := fmt.Sprintf(`{"model":"gpt-5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":%s,"%s":%s,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"on"}]}`, content, name, value("WORDS"))
			out := repaired(t, body, drop)
			if !strings.Contains(out, value("WORDS")) || strings.Contains(out, "tool_calls") || strings.Contains(out, "So.") != strings.Contains(content, "So.") {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
	two := `{"model":"mistral-large-latest","messages":[{"role":"user","content":"q"},{"role":"assistant","content":%s,"refusal":"FIRST"},{"role":"assistant","content":%s,"refusal":"SECOND"},{"role":"user","content":"on"}]}`
	for _, contents := range [][2]any{{`"a"`, `"b"`}, {"null", `"b"`}, {`"a"`, "null"}, {"null", "null"}, {`[{"type":"text","text":"a"}]`, `"b"`}} {
		out := repaired(t, fmt.Sprintf(two, contents[:]...), pare.Options{})
		if !strings.Contains(out, "FIRST") || !strings.Contains(out, "SECOND") {
			t.Errorf("%v: %s", contents, out)
		}
	}
}

func repaired(t *testing.T, body string, o pare.Options) string {
	t.Helper()
	r, err := pare.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Repair(context.Background(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(plan.Result().Raw())
}
