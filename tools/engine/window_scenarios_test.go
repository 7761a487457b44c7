package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// What the systems before this one did when a history had to become smaller, as far as
// it goes over many limits: what was over the limit, empty or torn. The rest is data,
// in testdata/scenarios.

// fitted trims a body and checks the promises of every window with encoding/json and a new parse:
// the result is within the limit, valid and not empty, and pairs are complete. It returns the plan,
// or a *WindowTooSmall.
func fitted(t *testing.T, name string, d wire.Dialect, body []byte, w pare.Window) (*pare.Plan, *pare.WindowTooSmall) {
	t.Helper()
	given := bytes.Clone(body)
	r := reading(t, d, body)
	plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: quarters{}})
	if !bytes.Equal(given, body) {
		t.Fatalf("%s: the input was written to", name)
	}
	var small *pare.WindowTooSmall
	if errors.As(err, &small) {
		return nil, small
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out, err := plan.Apply()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, plan)
	}
	if plan.Empty() && &out[0] != &body[0] {
		t.Errorf("%s: nothing to do, but another buffer", name)
	}
	fresh := reading(t, d, out)
	for u, most := range map[string]int{"tokens": w.Tokens, "messages": w.Messages, "exchanges": w.Exchanges, "turns": w.Turns} {
		if n := size(u, fresh); most > 0 && n > most {
			t.Errorf("%s: %d %s are left, the limit is %d", name, n, u, most)
		}
	}
	for _, f := range fresh.Check(wire.CheckOptions{}) {
		t.Errorf("%s: refused: %s at %s", name, f.Rule, f.Path)
	}
	us := utterances(t, d, out)
	if len(us) == 0 {
		t.Errorf("%s: nothing is left", name)
	}
	wholePairs(t, name, d, us)
	noLoneThinking(t, us)
	if t.Failed() {
		t.Fatalf("%s:\nin  %.3000s\nout %.3000s\nplan\n%.3000s", name, body, out, plan)
	}
	return plan, nil
}

// sizeOf counts a body.
func sizeOf(t *testing.T, d wire.Dialect, u string, body []byte) int {
	t.Helper()
	return size(u, reading(t, d, body))
}

const (
	twoPairs     = `user "q" | say "s0" | call a Read one | result a out-one | say "s1" | user "n1" | call b Read two | result b out-two | say "s2" | user "n2"`
	claudeServer = `{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_%[1]d","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_%[1]d","content":[{"type":"web_search_result","url":"https://e.org","title":"server-output","encrypted_content":"ZW5j"}]},{"type":"text","text":"s%[1]d"},{"type":"tool_use","id":"a%[1]d","name":"Shot","input":{"path":"one%[1]d"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a%[1]d","content":[{"type":"text","text":"out-one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aW1hZ2U="}}]},{"type":"text","text":"n%[1]d"}]}`
	gptServer    = `{"type":"web_search_call","id":"ws_%[1]d","status":"completed","action":{"type":"search","query":"server-output"}},{"role":"assistant","content":"s%[1]d"},{"type":"function_call","call_id":"a%[1]d","name":"Shot","arguments":"{\"path\":\"one%[1]d\"}"},{"type":"function_call_output","call_id":"a%[1]d","output":[{"type":"input_text","text":"out-one"},{"type":"input_image","image_url":"data:image/png;base64,aW1hZ2U="}]},{"role":"user","content":"n%[1]d"}`
	geminiServer = `{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"server-output aW1hZ2U="}},{"text":"s%[1]d"},{"functionCall":{"name":"Shot","args":{"path":"one%[1]d"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Shot","response":{"output":"out-one"}}}]},{"role":"user","parts":[{"text":"n%[1]d"}]}`
)

// serverTalk repeats an exchange with a server's tool and a picture in a result.
func serverTalk(head, one string, n int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		fmt.Fprintf(&b, ","+one, i)
	}
	return b.String() + "]}"
}

func serverTalks(n int) []string {
	return []string{
		serverTalk(claudeHead+`{"role":"user","content":"q"}`, claudeServer, n),
		serverTalk(`{"model":"gpt-5.2","input":[{"role":"user","content":"q"}`, gptServer, n),
		serverTalk(`{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]}`, geminiServer, n),
	}
}

// loop is one unbroken run of tool use, with results of so many bytes.
func loop(n, size int) string {
	var b strings.Builder
	b.WriteString(`user "the task"`)
	for i := range n {
		fmt.Fprintf(&b, ` | call c%d Read file%d | result c%d "output%d %s"`, i, i, i, i, strings.Repeat("lorem ipsum ", size/12))
	}
	return b.String()
}

// TestUnbrokenLoop: one run of tool use of 81 messages, in which a predecessor kept all
// of them, is fitted to any fraction; the task and the newest result stay.
func TestUnbrokenLoop(t *testing.T) {
	everywhere(t, loop(40, 2000), func(t *testing.T, d wire.Dialect, body []byte) {
		total := sizeOf(t, d, "tokens", body)
		if n := sizeOf(t, d, "messages", body); n != 81 {
			t.Fatalf("%d messages", n)
		}
		for _, w := range []pare.Window{
			{Tokens: total / 2}, {Tokens: total * 18 / 44}, {Tokens: total / 10}, {Tokens: total / 30},
			{Messages: 40}, {Messages: 7}, {Messages: 3}, {Exchanges: 20}, {Exchanges: 1}, {Tokens: total / 4, Messages: 30},
		} {
			plan, small := fitted(t, fmt.Sprintf("%+v", w), d, body, w)
			if small != nil {
				t.Fatal(small)
			}
			us := utterances(t, d, plan.Result().Raw())
			stays("user: the task", "result: output39")(t, d, us, plan)
			if len(answerTo(us, `file39"`)) != 1 {
				t.Errorf("%+v: the newest call is not answered: %+v", w, us)
			}
		}
	})
}

// TestHugeResult: a result larger than the window that the model has yet to see is
// shortened or cleared, never dropped.
func TestHugeResult(t *testing.T) {
	lines := 12_000
	if trial.Soak() {
		lines = 50_000
	}
	everywhere(t, loop(3, 600)+` | call big Read big.log | result big "BEGIN `+strings.Repeat("one line of the log\\n", lines)+`END"`, func(t *testing.T, d wire.Dialect, body []byte) {
		if len(body) < 20*lines {
			t.Fatalf("only %d bytes", len(body))
		}
		for _, l := range []int{500, 1000, 2000, 5000, 10_000, 20_000, 50_000} {
			plan, small := fitted(t, fmt.Sprintf("tokens %d", l), d, body, pare.Window{Tokens: l})
			if small != nil {
				t.Fatalf("tokens %d: %v", l, small)
			}
			us := utterances(t, d, plan.Result().Raw())
			got := answerTo(us, "big.log")
			if len(got) != 1 || !strings.Contains(got[0], pare.Mark) {
				t.Fatalf("tokens %d: the newest call is answered by %.200q", l, got)
			}
			if whole := strings.HasPrefix(got[0], "BEGIN") && strings.HasSuffix(got[0], "END"); l >= 5000 && !whole {
				t.Errorf("tokens %d: head or tail of the result is lost: %.100q … %.100q", l, got[0], got[0][max(len(got[0])-100, 0):])
			}
		}
	})
}

// TestHugeArguments: arguments of 300,000 characters, which a predecessor did not count,
// are counted, and shortened member by member.
func TestHugeArguments(t *testing.T) {
	script := `user "q" | call a Write {"path":"big.txt","content":"` + strings.Repeat("words and more ", 20_000) + `","mode":"0644"} | result a written`
	for name, script := range map[string]string{"newest": script, "old": script + ` | say "s" | user "n"`} {
		everywhere(t, script, func(t *testing.T, d wire.Dialect, body []byte) {
			for _, l := range []int{400, 2000, 10_000, 50_000} {
				plan, small := fitted(t, fmt.Sprintf("%s, tokens %d", name, l), d, body, pare.Window{Tokens: l})
				if small != nil {
					t.Fatalf("%s, tokens %d: %v", name, l, small)
				}
				calls := heard(utterances(t, d, plan.Result().Raw()), "call")
				if len(calls) == 0 && name == "old" && l < 2000 {
					continue
				}
				var args map[string]string
				if len(calls) != 1 || json.Unmarshal([]byte(calls[0]), &args) != nil {
					t.Fatalf("%s, tokens %d: calls %.300q", name, l, calls)
				}
				if args["path"] != "big.txt" || args["mode"] != "0644" || !strings.Contains(args["content"], pare.Mark) || !strings.HasPrefix(args["content"], "words and") {
					t.Errorf("%s, tokens %d: the short members stay, the long one keeps its head: %.300q", name, l, calls[0])
				}
			}
		})
	}
}

// TestHugeTask checks that the task is not shortened: the window is too small, unless the task is
// unpinned.
func TestHugeTask(t *testing.T) {
	everywhere(t, `user "`+strings.Repeat("please ", 100_000)+`" | call a Read one | result a out-one | say "s" | user "n" | call b Read two | result b out-two`, func(t *testing.T, d wire.Dialect, body []byte) {
		_, small := fitted(t, "pinned", d, body, pare.Window{Tokens: 1000})
		if small == nil || small.Minimum < 175_000 {
			t.Fatalf("the first message of 175,000 tokens: %+v", small)
		}
		if _, again := fitted(t, "minimum", d, body, pare.Window{Tokens: small.Minimum}); again != nil {
			t.Errorf("the minimum fails: %v", again)
		}
		if _, again := fitted(t, "one less", d, body, pare.Window{Tokens: small.Minimum - 1}); again == nil {
			t.Error("one less than the minimum works")
		}
		plan, small := fitted(t, "freed", d, body, pare.Window{Tokens: 1000, Unpin: pare.PinTask})
		if small != nil {
			t.Fatal(small)
		}
		stays("user: n", "no user: please", "result: out-two")(t, d, utterances(t, d, plan.Result().Raw()), plan)
	})
}

// TestPicturesInResults: a picture in a result is a picture or gone, never half of one.
func TestPicturesInResults(t *testing.T) {
	picture := strings.Repeat("iVBORw0KGgo", 1000)
	for _, one := range serverTalks(8) {
		body := []byte(strings.ReplaceAll(one, "aW1hZ2U=", picture))
		found, err := wire.Detect(body)
		if err != nil {
			t.Fatal(err)
		}
		d := found.Dialect
		total := sizeOf(t, d, "tokens", body)
		for l := 40; l <= total; l += max(1, total/60) {
			plan, small := fitted(t, fmt.Sprintf("%s, tokens %d", d, l), d, body, pare.Window{Tokens: l})
			if small != nil {
				continue
			}
			raw := string(plan.Result().Raw())
			if d != wire.Gemini && strings.Count(raw, "iVBORw0KGgo") != 1000*strings.Count(raw, picture) {
				t.Fatalf("%s, tokens %d: half of a picture", d, l)
			}
			for i := range 8 { // a server's call and its result go together
				if a, b := strings.Contains(raw, fmt.Sprintf(`"id":"srvtoolu_%d"`, i)), strings.Contains(raw, fmt.Sprintf(`"tool_use_id":"srvtoolu_%d"`, i)); a != b {
					t.Fatalf("%s, tokens %d: half of the server's exchange %d", d, l, i)
				}
			}
		}
	}
}

// TestPictureBesideLongText checks that a result with a picture next to a long text is not
// shortened, because the picture would be lost.
func TestPictureBesideLongText(t *testing.T) {
	text, picture := "the first words "+strings.Repeat("lorem ipsum ", 4000), strings.Repeat("iVBORw0KGgo", 20)
	for d, body := range map[wire.Dialect]string{
		wire.Anthropic:       `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"look"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"` + text + `"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}]}]}]}`,
		wire.OpenAIResponses: `{"model":"gpt-5","input":[{"role":"user","content":"look"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"` + text + `"},{"type":"input_image","image_url":"data:image/png;base64,` + picture + `"}]}]}`,
	} {
		fits := 0
		for l := 40; l < 14_000; l += 100 {
			plan, small := fitted(t, fmt.Sprintf("%s, tokens %d", d, l), d, []byte(body), pare.Window{Tokens: l})
			if small != nil {
				continue
			}
			fits++
			if raw := string(plan.Result().Raw()); strings.Contains(raw, "the first words") != strings.Contains(raw, picture) {
				t.Fatalf("%s, tokens %d: the words or the picture alone: %.300s", d, l, raw)
			}
		}
		if fits < 20 {
			t.Errorf("%s: only %d windows fit", d, fits)
		}
	}
}

// TestBoundThinking checks that on models that bind thinking to the preceding content, no thinking
// remains after the first change, and that on other models it stays.
func TestBoundThinking(t *testing.T) {
	var b strings.Builder
	b.WriteString(`user "the task"`)
	for i := range 12 {
		fmt.Fprintf(&b, ` | think "thought%d" | say "step %d" | call c%d Read file%d | result c%d "output%d %s"`, i, i, i, i, i, i, strings.Repeat("lorem ", 200))
	}
	s := histories.MustParse(b.String())
	bodies := map[string][]byte{}
	for d, models := range map[wire.Dialect][]string{
		wire.Anthropic: {"claude-opus-5-5", "claude-opus-4-6", "claude-fable-5-1"}, wire.Bedrock: {"us.anthropic.claude-opus-5-5-v1:0", "us.anthropic.claude-opus-4-6-v1:0"},
	} {
		for _, m := range models {
			bodies[d.String()+" "+m] = s.Render(d, histories.RenderOptions{Model: m})
		}
	}
	bound, free := 0, 0
	for name, body := range bodies {
		found, _ := wire.Detect(body)
		d := found.Dialect
		r := reading(t, d, body)
		total := size("tokens", r)
		for _, w := range []pare.Window{{Tokens: total * 9 / 10}, {Tokens: total / 2}, {Tokens: total / 4}, {Messages: 12}, {Exchanges: 3}} {
			plan, small := fitted(t, name, d, body, w)
			if small != nil {
				t.Fatal(small)
			}
			in, out := r.Transcript(), plan.Result().Transcript()
			same := 0
			for same < len(out.Messages()) && bytes.Equal(in.Bytes(in.Messages()[same].Span), out.Bytes(out.Messages()[same].Span)) {
				same++
			}
			left, dropped := 0, 0
			for _, blk := range out.Blocks() {
				if blk.Kind == transcript.Thinking && blk.Message >= same {
					left++
				}
			}
			for _, c := range plan.Changes() {
				if c.Rule == "thinking-altered" {
					dropped++
				}
			}
			switch {
			case dialect.BindsThinking(&r.Profile) && left > 0:
				t.Errorf("%s, %+v: %d stale thinking blocks are left", name, w, left)
			case dialect.BindsThinking(&r.Profile):
				bound += dropped
			case left == 0 || dropped > 0:
				t.Errorf("%s, %+v: thinking is lost although it is not bound: %d left, %d named", name, w, left, dropped)
			default:
				free += left
			}
		}
	}
	if bound == 0 || free == 0 {
		t.Errorf("nothing tried: %d bound, %d free", bound, free)
	}
}
