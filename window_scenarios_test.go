package pare_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// What the systems before this one did when a history had to become smaller: the
// adversarial matrix under windows of every unit, the tests of the message window, and
// what was over the limit, empty or torn in the others.

// fitted trims a body and checks, with encoding/json and a fresh reading only, what
// every window promises: within the limit, accepted, whole pairs, never empty, the input
// untouched. It returns the plan, or the error of a window that is too small.
func fitted(t *testing.T, name string, d wire.Dialect, body []byte, w pare.Window) (*pare.Plan, *pare.WindowTooSmall) {
	t.Helper()
	given := bytes.Clone(body)
	r := reading(t, d, body)
	plan, err := pare.Trim(r, w, pare.Options{Counter: quarters{}})
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
	for u, most := range map[pare.Unit]int{pare.UnitTokens: w.Tokens, pare.UnitMessages: w.Messages, pare.UnitExchanges: w.Exchanges, pare.UnitTurns: w.Turns} {
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
func sizeOf(t *testing.T, d wire.Dialect, u pare.Unit, body []byte) int {
	t.Helper()
	return size(u, reading(t, d, body))
}

// A matrixRow is one of the adversarial matrix, as inputs only.
type matrixRow struct {
	words   string
	scripts []string
	bodies  []string
}

const (
	twoPairs     = `user "q" | say "s0" | call a Read one | result a out-one | say "s1" | user "n1" | call b Read two | result b out-two | say "s2" | user "n2"`
	sameID       = `user "q" | call a Read one | result a out-one | say "s" | user "m" | call a Read two | result a out-two | user "n"`
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

var matrix = []matrixRow{
	{"cut lands between call and adjacent result", []string{twoPairs}, nil},
	{"tail protection keeps a result whose call was dropped", []string{`user "q" | call a Read one | result a out-one | say "s" | call b Read two | result b out-two`}, nil},
	{"late result after other messages", []string{
		`user "q" | call a Read one | user "wait" | result a out-one`,
		`user "q" | call a Read one | user "wait" | say "hm" | result a out-one | user "n"`,
		`user "q" | call a Read one | say "hm" | user "wait" | say "hm2" | user "w2" | result a out-one | user "n"`,
	}, nil},
	{"batch of 2 answered in 2 messages", []string{
		`user "q" | call a Read one | call b Read two | result a out-one | user "mid" | result b out-two | user "n"`,
		`user "q" | call a Read one | call b Read two | result b out-two | say "hm" | result a out-one | user "n"`,
	}, []string{
		claudeHead + `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"path":"one"}},{"type":"tool_use","id":"b","name":"Read","input":{"path":"two"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"out-one"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"out-two"},{"type":"text","text":"n"}]}]}`,
		bedrockHead + `{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"Read","input":{"path":"one"}}},{"toolUse":{"toolUseId":"b","name":"Read","input":{"path":"two"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"out-one"}]}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"b","content":[{"text":"out-two"}]}}]},{"role":"assistant","content":[{"text":"s"}]},{"role":"user","content":[{"text":"n"}]}]}`,
		`{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"Read","args":{"path":"one"}}},{"functionCall":{"name":"Read","args":{"path":"two"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"out-one"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"out-two"}}}]},{"role":"user","parts":[{"text":"n"}]}]}`,
	}},
	{"batch of 2, one answered", []string{
		`user "q" | call a Read one | call b Read two | result b out-two | user "n"`,
		`user "q" | call a Read one | call b Read two | result a out-one | say "s" | user "n"`,
	}, nil},
	{"same id used in two turns", []string{sameID}, nil},
	{"two results for one id", []string{
		`user "q" | call a Read one | result a out-one | result a aborted | user "n"`,
		`user "q" | call a Read one | result a out-one | result a out-one | user "n"`,
	}, nil},
	{"leading orphan result", []string{
		`orphan z lost-output | say "s" | user "n"`,
		`orphan z lost-output | user "q" | call a Read one | result a out-one | user "n"`,
	}, nil},
	{"dangling last call", []string{
		`user "q" | say "s" | call a Read one`,
		`user "q" | call a Read one | result a out-one | call b Read two`,
	}, nil},
	{"cut leaves assistant first", []string{
		`user "q" | say "s" | user "n" | call a Read one | result a out-one`,
		`user "q" | call a Read one | result a out-one | say "s" | user "n"`,
	}, nil},
	{"same-role neighbours after pruning", []string{
		`user "u1" | say "between" | user "u2" | say "s" | user "u3"`,
		`user "u1" | say "s1" | user "between" | call a Read one | result a out-one | user "u3"`,
	}, []string{
		`{"model":"gemma-3-27b","messages":[{"role":"user","content":"u1"},{"role":"assistant","content":"s1"},{"role":"user","content":"between"},{"role":"assistant","content":"s2","tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"path\":\"one\"}"}}]},{"role":"tool","tool_call_id":"a","content":"out-one"}]}`,
	}},
	{"user text sharing a message with a dropped result", []string{
		`user "q" | call a Read one | result a out-one | user "keep me" | say "s" | user "n"`,
	}, nil},
	{"thinking block in the pruned or kept assistant", []string{
		`user "q" | think "deep" | call a Read one | result a out-one | think "deeper" | say "s" | user "n"`,
		`user "q" | say "first" | user "m" | think "deep" | call a Read one | result a out-one | user "n"`,
	}, nil},
	{"host-native or OpenAI shape", []string{twoPairs + ` | call c Read three | result c out-three`}, nil},
	{"one unbroken tool chain over budget", []string{chain(12)}, nil},
	{"huge tool arguments", []string{
		`user "q" | call a Write {"path":"big","content":"` + strings.Repeat("x", 3000) + `"} | result a out-one | say "s" | user "n"`,
		`user "q" | call a Write {"path":"big","content":"` + strings.Repeat("x", 3000) + `"} | result a out-one`,
	}, nil},
	{"pruning empties a message", []string{`user "q" | say "only this" | user "n"`, `user "q" | call a Read one | result a out-one | user "n"`}, nil},
	{"system message inside the list", []string{
		`system "the law" | user "q" | call a Read one | result a out-one | say "s" | user "n"`,
	}, []string{
		`{"model":"gpt-5.2","messages":[{"role":"system","content":"the law"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"path\":\"one\"}"}}]},{"role":"system","content":"a reminder"},{"role":"tool","tool_call_id":"a","content":"out-one"},{"role":"user","content":"n"}]}`,
		`{"model":"gemma-3-27b","messages":[{"role":"system","content":"the law"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"path\":\"one\"}"}}]},{"role":"tool","tool_call_id":"a","content":"out-one"},{"role":"assistant","content":"s"},{"role":"system","content":"a reminder"},{"role":"user","content":"n"}]}`,
	}},
	{"second compaction pass", []string{chain(6) + ` | say "s" | user "n"`}, nil},
	{"server tool use and result, image in result", nil, serverTalks(2)},
}

// TestWindowMatrix: the 20 rows of the adversarial matrix, in every dialect, under
// every unit and every limit from 1 up: what fits is checked by somebody else, and the
// promises of a window hold.
func TestWindowMatrix(t *testing.T) {
	if len(matrix) != 20 {
		t.Fatalf("%d rows", len(matrix))
	}
	for i, row := range matrix {
		t.Run(fmt.Sprintf("%02d %s", i+1, row.words), func(t *testing.T) {
			run := func(t *testing.T, d wire.Dialect, body []byte) {
				for _, u := range units {
					top := sizeOf(t, d, u, body) + 1
					for l := 1; l <= top; l += 1 + l/400 { // every one, but of the huge arguments
						fitted(t, fmt.Sprintf("%s %d", u, l), d, body, window(u, l))
					}
					checkWindow(t, row.words, reading(t, d, body), u, func(w *pare.Window) { w.Unpin = pare.Pin(i % 8) })
				}
			}
			for _, s := range row.scripts {
				t.Run(s[:min(len(s), 60)], func(t *testing.T) { everywhere(t, s, run) })
			}
			for k, body := range row.bodies {
				d, err := wire.Detect([]byte(body))
				if err != nil {
					t.Fatal(err)
				}
				t.Run(fmt.Sprintf("%s %d", d, k), func(t *testing.T) { run(t, d, []byte(body)) })
			}
		})
	}
}

// TestWindowMatrixModels: the same for models whose rules differ, with fewer limits.
func TestWindowMatrixModels(t *testing.T) {
	for i, row := range matrix {
		for _, s := range row.scripts {
			everyModel(t, s, func(t *testing.T, d wire.Dialect, body []byte) {
				checkWindow(t, row.words, reading(t, d, body), units[i%4], func(*pare.Window) {})
				checkWindow(t, row.words, reading(t, d, body), pare.UnitTokens, func(*pare.Window) {})
			})
		}
	}
}

// TestPairKeptOrDropped is what the message window before this one was tested with: a
// pair is kept if it fits, and goes as a whole; two pairs that fit exactly stay, and one
// message more costs the older pair.
func TestPairKeptOrDropped(t *testing.T) {
	const two = `user "q" | call a Read one | result a out-one | call b Read two | result b out-two`
	everywhere(t, two, func(t *testing.T, d wire.Dialect, body []byte) {
		n := sizeOf(t, d, pare.UnitMessages, body)
		plan, small := fitted(t, "all fit", d, body, pare.Window{Messages: n})
		if small != nil || !plan.Empty() {
			t.Fatalf("%d messages do not fit a window of %d: %v\n%s", n, n, small, plan)
		}
		for l := 1; l < n; l++ {
			name := fmt.Sprintf("messages %d", l)
			plan, small := fitted(t, name, d, body, pare.Window{Messages: l})
			if small != nil {
				continue
			}
			us := utterances(t, d, plan.Result().Raw())
			stays("user: q", "no call: one", "no result: out-one")(t, d, us, plan)
			answers("two", "out-two")(t, d, us, plan)
			if got := len(plan.Result().Transcript().Messages()); got != n-2 {
				t.Errorf("%s: %d messages left, want %d: the pair goes and nothing else", name, got, n-2)
			}
		}
	})
	everywhere(t, two+` | say "s" | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		n := sizeOf(t, d, pare.UnitMessages, body)
		plan, small := fitted(t, "one too many", d, body, pare.Window{Messages: n - 1})
		if small != nil {
			t.Fatal(small)
		}
		us := utterances(t, d, plan.Result().Raw())
		stays("user: q", "user: n", "assistant: s", "no call: one", "no result: out-one")(t, d, us, plan)
		answers("two", "out-two")(t, d, us, plan)
	})
}

// TestExactFit: what fits exactly is not refused and not touched; what does not is
// refused with the minimum, which is right, and the input is as it was.
func TestExactFit(t *testing.T) {
	everywhere(t, `user "q" | call a Read one | result a out-one`, func(t *testing.T, d wire.Dialect, body []byte) {
		for _, u := range units {
			n := sizeOf(t, d, u, body)
			plan, small := fitted(t, "exact", d, body, window(u, n))
			if small != nil || !plan.Empty() {
				t.Fatalf("%s: a pair that fits exactly is refused or changed: %v\n%s", u, small, plan)
			}
			if n == 1 {
				continue
			}
			_, small = fitted(t, "one less", d, body, window(u, n-1))
			if small == nil || small.Minimum != n || small.Limit != n-1 || small.Unit != u {
				t.Errorf("%s: one less than the pair needs: %+v, want the minimum %d", u, small, n)
			}
		}
	})
	var small *pare.WindowTooSmall
	_, err := pare.Trim(reading(t, wire.OpenAIChat, []byte(`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"R","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"o"}]`)), pare.Window{Messages: 1}, pare.Options{})
	if !errors.As(err, &small) || err.Error() != "window too small: what must be kept needs 3 messages, the limit is 1" {
		t.Errorf("the error says %v", err)
	}
}

// TestTinyWindow: a window smaller than the smallest exchange is refused, unless that is
// allowed.
func TestTinyWindow(t *testing.T) {
	everywhere(t, `user "q" | call a Read one | result a out-one | say "s" | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		w := pare.Window{Messages: 1, Unpin: pare.PinTask}
		if _, small := fitted(t, "tiny", d, body, w); small == nil || small.Minimum != 2 {
			t.Errorf("one message, which holds no pair: %+v, want the minimum 2", small)
		}
		w.AllowTiny = true
		plan, small := fitted(t, "allowed", d, body, w)
		if small != nil {
			t.Fatal(small)
		}
		stays("user: n", "no user: q", "no call: one")(t, d, utterances(t, d, plan.Result().Raw()), plan)
	})
}

// TestSystemPinned: what the system says stays, wherever it stands, unless it is freed.
func TestSystemPinned(t *testing.T) {
	body := []byte(`{"model":"gpt-5.2","messages":[{"role":"system","content":"the law"},{"role":"user","content":"q"},{"role":"assistant","content":"s"},{"role":"developer","content":"a reminder"},{"role":"user","content":"m"},{"role":"assistant","content":"s2"},{"role":"user","content":"n"}]}`)
	plan, small := fitted(t, "pinned", wire.OpenAIChat, body, pare.Window{Turns: 2})
	if small != nil {
		t.Fatal(small)
	}
	stays("system: the law", "system: a reminder", "user: q", "user: n", "no user: m")(t, wire.OpenAIChat, utterances(t, wire.OpenAIChat, plan.Result().Raw()), plan)
	if _, small := fitted(t, "pinned", wire.OpenAIChat, body, pare.Window{Messages: 3}); small == nil || small.Minimum != 4 {
		t.Errorf("two words of the system, the task and the newest need 4 messages: %+v", small)
	}
	plan, small = fitted(t, "freed", wire.OpenAIChat, body, pare.Window{Messages: 2, Unpin: pare.PinSystem})
	if small != nil {
		t.Fatal(small)
	}
	stays("no system: the law", "no system: a reminder", "user: q", "user: n")(t, wire.OpenAIChat, utterances(t, wire.OpenAIChat, plan.Result().Raw()), plan)
	everywhere(t, `system "the law" | user "q" | say "s" | user "m" | say "s2" | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		plan, small := fitted(t, "one turn", d, body, pare.Window{Turns: 2})
		if small != nil {
			t.Fatal(small)
		}
		if !bytes.Contains(plan.Result().Raw(), []byte("the law")) {
			t.Error("the system prompt is lost")
		}
	})
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
		total := sizeOf(t, d, pare.UnitTokens, body)
		if n := sizeOf(t, d, pare.UnitMessages, body); n != 81 {
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
	everywhere(t, loop(3, 600)+` | call big Read big.log | result big "BEGIN `+strings.Repeat("one line of the log\\n", 50_000)+`END"`, func(t *testing.T, d wire.Dialect, body []byte) {
		if len(body) < 1_000_000 {
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

// TestHugeTask: what the user asked first is not shortened: the window is too small, and
// says by how much; freed, it goes.
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
		d, err := wire.Detect(body)
		if err != nil {
			t.Fatal(err)
		}
		total := sizeOf(t, d, pare.UnitTokens, body)
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

// TestBoundThinking: on models that bind thinking to everything in front of it, none is
// left behind the first change; on the others it stays with its turn.
func TestBoundThinking(t *testing.T) {
	var b strings.Builder
	b.WriteString(`user "the task"`)
	for i := range 12 {
		fmt.Fprintf(&b, ` | think "thought%d" | say "step %d" | call c%d Read file%d | result c%d "output%d %s"`, i, i, i, i, i, i, strings.Repeat("lorem ", 200))
	}
	s := paretest.MustParse(b.String())
	bodies := map[string][]byte{}
	for d, models := range map[wire.Dialect][]string{
		wire.Anthropic: {"claude-opus-5-5", "claude-opus-4-6", "claude-fable-5-1"}, wire.Bedrock: {"us.anthropic.claude-opus-5-5-v1:0", "us.anthropic.claude-opus-4-6-v1:0"},
	} {
		for _, m := range models {
			bodies[d.String()+" "+m] = s.Render(d, paretest.RenderOptions{Model: m})
		}
	}
	bound, free := 0, 0
	for name, body := range bodies {
		d, _ := wire.Detect(body)
		r := reading(t, d, body)
		total := size(pare.UnitTokens, r)
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
			case r.Profile.BindsThinking() && left > 0:
				t.Errorf("%s, %+v: %d stale thinking blocks are left", name, w, left)
			case r.Profile.BindsThinking():
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

// steep is a history on which every rung has something to do.
func steep() string {
	var b strings.Builder
	for i := range 8 {
		size := 700
		if i%3 == 1 {
			size = 30_000
		}
		fmt.Fprintf(&b, `user "question %d" | say "I look." | call c%d Write {"path":"f%d","content":"%s"} | result c%d "out%d %s" | say "answer %d" | `,
			i, i, i, strings.Repeat("arg ", 10+i%4/3*6000), i, i, strings.Repeat("lorem ", size/6), i)
	}
	return b.String() + `user "the last question" | call z Read big | result z "newest ` + strings.Repeat("ipsum ", 8000) + `"`
}

// TestRungsInOrder: the rungs are climbed from gentle to harsh and only as far as
// needed; the plan says how far, and every receipt names its rung and a place that
// exists.
func TestRungsInOrder(t *testing.T) {
	everywhere(t, steep(), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		total := size(pare.UnitTokens, r)
		paths := make(map[string]bool)
		for b := range r.Transcript().Blocks() {
			paths[r.Path(transcript.BlockID(b))] = true
		}
		var seen []pare.Rung
		changed := 0
		stride := total / 300
		for l := total - 1; l > 0; l -= max(1, stride) {
			plan, small := fitted(t, fmt.Sprintf("tokens %d", l), d, body, pare.Window{Tokens: l, Recent: 4})
			if small != nil {
				break
			}
			top := plan.Rungs()[len(plan.Rungs())-1].Rung
			if top == pare.RungExchanges {
				stride = total / 2000 // the turns themselves are short
			}
			if len(seen) == 0 && (top != pare.RungClear || plan.Rungs()[0].Changes != 1) {
				t.Errorf("a token too many: %+v, want one result cleared", plan.Rungs())
			}
			if n := len(seen); n == 0 || seen[n-1] != top {
				if n > 0 && top < seen[n-1] {
					t.Fatalf("tokens %d: rung %s, a larger window needed %s", l, top, seen[n-1])
				}
				seen = append(seen, top)
			}
			checkReceipts(t, plan, paths)
			sum := 0
			for _, c := range plan.Rungs() {
				sum += c.Changes
			}
			if sum < changed {
				t.Fatalf("tokens %d: %d changes, a larger window needed %d", l, sum, changed)
			}
			changed = sum
			us := utterances(t, d, plan.Result().Raw())
			switch {
			case top < pare.RungExchanges:
				if len(heard(us, "call")) != 9 || !holds(heard(us, "user"), "question 1") {
					t.Fatalf("tokens %d: something is dropped on rung %s", l, top)
				}
			case top < pare.RungTurns:
				if !holds(heard(us, "user"), "question 1") || !holds(heard(us, "assistant"), "answer 1") {
					t.Fatalf("tokens %d: a turn is dropped on rung %s", l, top)
				}
			case top < pare.RungSqueeze:
				if got := answerTo(us, "big"); len(got) != 1 || len(got[0]) < 1024 {
					t.Fatalf("tokens %d: what is pinned is squeezed on rung %s: %.100q", l, top, got)
				}
			}
		}
		if want := []pare.Rung{pare.RungClear, pare.RungShorten, pare.RungExchanges, pare.RungTurns, pare.RungSqueeze}; !slices.Equal(seen, want) {
			t.Errorf("rungs %v, want %v", seen, want)
		}
	})
}

// checkReceipts checks that a plan's changes add up to what its rungs say, and that they
// name blocks of the original.
func checkReceipts(t *testing.T, plan *pare.Plan, paths map[string]bool) {
	t.Helper()
	by := make(map[string]int)
	for _, c := range plan.Changes() {
		by[c.Rule]++
		if c.Action != "insert" && !paths[c.Path] && !strings.Contains(c.Path, ".") {
			t.Fatalf("a receipt for %q, which is nowhere: %+v", c.Path, c)
		}
		for _, rung := range plan.Rungs() {
			if c.Rule == rung.Rung.String() && (!paths[c.Path] || c.Reason == "" || c.Tokens >= 0 || c.Bytes >= 0) {
				t.Fatalf("receipt %+v", c)
			}
		}
	}
	for _, c := range plan.Rungs() {
		if by[c.Rung.String()] != c.Changes {
			t.Fatalf("rung %s: %d changes, %d receipts\n%s", c.Rung, c.Changes, by[c.Rung.String()], plan)
		}
	}
}

// keptCalls lists which of the calls c0, c1, … are left, by their paths.
func keptCalls(t *testing.T, d wire.Dialect, plan *pare.Plan, n int) (kept []int) {
	t.Helper()
	calls := heard(utterances(t, d, plan.Result().Raw()), "call")
	for i := range n {
		if holds(calls, fmt.Sprintf(`file%d"`, i)) {
			kept = append(kept, i)
		}
	}
	return kept
}

// TestOrders: the oldest, the middle, or the least important go first.
func TestOrders(t *testing.T) {
	odd := func(r *wire.Request, a transcript.AtomID) int { // odd files matter less
		for _, b := range r.Transcript().Atoms()[a].Blocks {
			path, ok := wire.Argument(r.Transcript(), b, "path")
			var i int
			if _, err := fmt.Sscanf(path, "file%d", &i); ok && err == nil {
				return 1 - i%2
			}
		}
		return 2
	}
	everywhere(t, chain(9), func(t *testing.T, d wire.Dialect, body []byte) {
		for _, c := range []struct {
			w    pare.Window
			want []int
		}{
			{pare.Window{Exchanges: 4}, []int{5, 6, 7, 8}},
			{pare.Window{Exchanges: 4, Order: pare.MiddleOut}, []int{0, 1, 7, 8}},
			{pare.Window{Exchanges: 6, Order: pare.MiddleOut}, []int{0, 1, 2, 6, 7, 8}},
			{pare.Window{Exchanges: 7, Order: pare.ByPriority, Priority: odd}, []int{0, 2, 4, 5, 6, 7, 8}},
			{pare.Window{Exchanges: 4, Order: pare.ByPriority, Priority: odd}, []int{2, 4, 6, 8}},
			{pare.Window{Exchanges: 2, Order: pare.ByPriority, Priority: odd}, []int{6, 8}},
		} {
			plan, small := fitted(t, fmt.Sprint(c.w.Order), d, body, c.w)
			if small != nil {
				t.Fatal(small)
			}
			if got := keptCalls(t, d, plan, 9); !slices.Equal(got, c.want) {
				t.Errorf("order %d, %d exchanges: kept %v, want %v", c.w.Order, c.w.Exchanges, got, c.want)
			}
		}
	})
	turns := `user "u0" | say "s0" | user "u1" | say "s1" | user "u2" | say "s2" | user "u3" | say "s3" | user "u4" | say "s4" | user "u5"`
	everywhere(t, turns, func(t *testing.T, d wire.Dialect, body []byte) {
		for order, want := range map[pare.Order]string{pare.OldestFirst: "u0 u4 u5", pare.MiddleOut: "u0 u4 u5", pare.ByPriority: "u0 u2 u5"} {
			w := pare.Window{Turns: 3, Order: order, Priority: func(r *wire.Request, a transcript.AtomID) int {
				if strings.HasSuffix(r.Text(r.Transcript().Atoms()[a].Blocks[0]), "2") {
					return 9
				}
				return 0
			}}
			plan, small := fitted(t, fmt.Sprint(order), d, body, w)
			if small != nil {
				t.Fatal(small)
			}
			if got := strings.Join(heard(utterances(t, d, plan.Result().Raw()), "user"), " "); got != want {
				t.Errorf("order %d: users say %q, want %q", order, got, want)
			}
		}
	})
}

// TestMinKeep: the last messages stay byte for byte, whatever the limit.
func TestMinKeep(t *testing.T) {
	everywhere(t, steep(), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		msgs := r.Transcript().Messages()
		total := size(pare.UnitTokens, r)
		for _, keep := range []int{1, 2, 3, 5, 9} {
			fits := 0
			for l := total; l > 0; l -= max(1, total/12) {
				plan, small := fitted(t, fmt.Sprintf("keep %d, tokens %d", keep, l), d, body, pare.Window{Tokens: l, MinKeep: keep})
				if small != nil {
					break
				}
				fits++
				raw := plan.Result().Raw()
				for _, m := range msgs[len(msgs)-keep:] {
					for b := m.First; b < m.End; b++ {
						if !bytes.Contains(raw, r.Transcript().Bytes(r.Transcript().Block(b).Span)) {
							t.Fatalf("keep %d, tokens %d: %s is lost or changed", keep, l, r.Path(b))
						}
					}
				}
			}
			if fits < 2 {
				t.Errorf("keep %d: nothing tried", keep)
			}
		}
		plan, small := fitted(t, "messages", d, body, pare.Window{Messages: len(msgs) - 4, MinKeep: 5})
		if small != nil {
			t.Fatal(small)
		}
		out := plan.Result().Transcript()
		for i := 1; i <= 4; i++ { // the fifth may have got a neighbour
			a, b := msgs[len(msgs)-i], out.Messages()[len(out.Messages())-i]
			if !bytes.Equal(r.Transcript().Bytes(a.Span), out.Bytes(b.Span)) {
				t.Errorf("message %d from the end is changed", i)
			}
		}
	})
}

// TestSeveralLimits: limits that are given together hold together; raising the one that
// is too small to its minimum gets there in the end.
func TestSeveralLimits(t *testing.T) {
	for seed := range uint64(histories(t) / 200) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		d := wire.Dialects()[rnd.IntN(5)]
		body := paretest.Random(seed, paretest.GenOptions{Turns: 1 + rnd.IntN(8), Steps: 8}).Render(d, paretest.RenderOptions{})
		some := func(u pare.Unit) int {
			if rnd.IntN(3) == 0 {
				return 0
			}
			return 1 + rnd.IntN(sizeOf(t, d, u, body)+1)
		}
		w := pare.Window{Tokens: 1 + rnd.IntN(sizeOf(t, d, pare.UnitTokens, body)), Messages: some(pare.UnitMessages), Exchanges: some(pare.UnitExchanges), Turns: some(pare.UnitTurns)}
		name := fmt.Sprintf("seed %d, %s, %d tokens, %d messages, %d exchanges, %d turns", seed, d, w.Tokens, w.Messages, w.Exchanges, w.Turns)
		raised := 0
		for {
			_, small := fitted(t, name, d, body, w)
			if small == nil {
				break
			}
			if raised++; raised > 8 {
				t.Fatalf("%s: still too small: %v", name, small)
			}
			limit := map[pare.Unit]*int{pare.UnitTokens: &w.Tokens, pare.UnitMessages: &w.Messages, pare.UnitExchanges: &w.Exchanges, pare.UnitTurns: &w.Turns}[small.Unit]
			if small.Minimum <= *limit || small.Limit != *limit {
				t.Fatalf("%s: %+v", name, small)
			}
			*limit = small.Minimum - 1
			if _, again := fitted(t, name, d, body, w); *limit > 0 && (again == nil || again.Unit != small.Unit || again.Minimum != small.Minimum) {
				t.Fatalf("%s: %+v, and with one less than the minimum %+v", name, small, again)
			}
			*limit = small.Minimum
		}
	}
}

// TestRulesRung: rules are asked only if something must go, and before anything else
// does; if what they give up is enough, nothing else goes.
func TestRulesRung(t *testing.T) {
	everywhere(t, loop(10, 1200), func(t *testing.T, d wire.Dialect, body []byte) {
		asked := 0
		rules := compile(t, voting("third", func(b *pare.Ballot, r *wire.Request) {
			asked++
			for id, blk := range r.Transcript().Blocks() {
				if blk.Kind == transcript.Call && strings.Contains(string(wire.Arguments(r.Transcript(), transcript.BlockID(id))), `file3"`) {
					b.Drop(r.Transcript().AtomOf(transcript.BlockID(id)), "the third is moot")
				}
			}
		}))
		total := sizeOf(t, d, pare.UnitTokens, body)
		plan, small := fitted(t, "fits", d, body, pare.Window{Tokens: total, Rules: rules})
		if small != nil || !plan.Empty() || asked > 0 {
			t.Errorf("all fits: asked %d times, %v, %s", asked, small, plan)
		}
		plan, small = fitted(t, "a little", d, body, pare.Window{Tokens: total - 1, Rules: rules})
		if small != nil || asked == 0 {
			t.Fatalf("asked %d times, %v", asked, small)
		}
		if len(plan.Rungs()) != 1 || plan.Rungs()[0] != (pare.Climb{Rung: pare.RungRules, Changes: 2}) {
			t.Errorf("rungs %+v, want the rules only, which drop a call and its result", plan.Rungs())
		}
		if got := keptCalls(t, d, plan, 10); slices.Contains(got, 3) || len(got) != 9 {
			t.Errorf("kept %v", got)
		}
		if !slices.ContainsFunc(plan.Changes(), func(c wire.Change) bool { return c.Rule == "third" && c.Reason == "the third is moot" }) {
			t.Errorf("no receipt in the rule's words:\n%s", plan)
		}
		plan, small = fitted(t, "more", d, body, pare.Window{Tokens: total / 2, Rules: rules})
		if small != nil || len(plan.Rungs()) < 2 || plan.Rungs()[0].Rung != pare.RungRules {
			t.Errorf("%v, rungs %+v, want the rules first", small, plan.Rungs())
		}
	})
}

// TestProtectIsPin: what a rule protects stays byte for byte at every limit that works,
// and counts towards the least one.
func TestProtectIsPin(t *testing.T) {
	everywhere(t, loop(10, 1200), func(t *testing.T, d wire.Dialect, body []byte) {
		rules := compile(t, voting("second", func(b *pare.Ballot, r *wire.Request) {
			x := r.Transcript().Exchanges()[2]
			b.Protect(r.Transcript().AtomOf(x.Call), "the plan of the work")
		}))
		r := reading(t, d, body)
		x := r.Transcript().Exchanges()[2]
		least := 0
		for l := size(pare.UnitTokens, r); l > 0; l -= 25 {
			plan, small := fitted(t, fmt.Sprintf("tokens %d", l), d, body, pare.Window{Tokens: l, Rules: rules})
			if small != nil {
				least = small.Minimum
				break
			}
			for _, b := range append([]transcript.BlockID{x.Call}, x.Results...) {
				if !bytes.Contains(plan.Result().Raw(), r.Transcript().Bytes(r.Transcript().Block(b).Span)) {
					t.Fatalf("tokens %d: protected, but lost or changed: %s", l, r.Path(b))
				}
			}
		}
		_, small := fitted(t, "without", d, body, pare.Window{Tokens: 1})
		if small == nil || least < small.Minimum+300 {
			t.Errorf("the least window is %d with a result of 300 tokens protected, and %+v without", least, small)
		}
		for _, w := range []pare.Window{{Messages: 5}, {Exchanges: 2}} {
			w.Rules = rules
			plan, small := fitted(t, "other units", d, body, w)
			if small != nil {
				t.Fatal(small)
			}
			if got := keptCalls(t, d, plan, 10); !slices.Equal(got, []int{2, 9}) {
				t.Errorf("%+v: kept %v, want the protected and the newest", w, got)
			}
		}
	})
}

// TestTogetherInWindow: what a rule ties together shares one fate on every rung.
func TestTogetherInWindow(t *testing.T) {
	everywhere(t, chain(9), func(t *testing.T, d wire.Dialect, body []byte) {
		rules := compile(t, voting("tied", func(b *pare.Ballot, r *wire.Request) {
			x := r.Transcript().Exchanges()
			b.Together(r.Transcript().AtomOf(x[1].Call), r.Transcript().AtomOf(x[6].Call))
		}))
		for l := 1; l < 9; l++ {
			plan, small := fitted(t, fmt.Sprintf("exchanges %d", l), d, body, pare.Window{Exchanges: l, Rules: rules})
			if small != nil {
				continue
			}
			if got := keptCalls(t, d, plan, 9); slices.Contains(got, 1) != slices.Contains(got, 6) {
				t.Errorf("exchanges %d: kept %v: 1 and 6 are tied", l, got)
			}
		}
	})
}

// TestStableRules: with rules, with prices and with a tail that stays, too, what is sent
// begins with what was sent before, until something is trimmed: what the rules say of
// the history today must not change what they said of it then.
func TestStableRules(t *testing.T) {
	standard := compile(t, rules.Standard()...)
	for _, d := range wire.Dialects() {
		t.Run(d.String(), func(t *testing.T) {
			n, trims, holds := max(histories(t)/500, 6), 0, 0
			for seed := range uint64(n) {
				s := paretest.Random(seed, paretest.GenOptions{Turns: 1 + int(seed%9), Steps: 10})
				for i := range s { // some results that are worth clearing
					if s[i].Op == paretest.Result && (i+int(seed))%3 == 0 {
						s[i].Text += strings.Repeat(" lorem ipsum", 30+i%50)
					}
				}
				body := s.Render(d, paretest.RenderOptions{})
				total := sizeOf(t, d, pare.UnitTokens, body)
				w := pare.Window{Tokens: total * 3 / 5, Low: total / 3, Rules: standard, MinKeep: int(seed % 3)}
				if seed%2 == 0 {
					w.Cache = tokens.CacheOf("claude-sonnet-4-5")
				}
				a, b := stableGrowth(t, fmt.Sprintf("seed %d", seed), reading(t, d, body), w)
				trims, holds = trims+a, holds+b
			}
			if 8*trims < n || holds < trims {
				t.Errorf("%d trims and %d requests between them in %d histories", trims, holds, n)
			}
		})
	}
}

// stableGrowth sends each request that led to a history through a stable window.
func stableGrowth(t *testing.T, name string, r *wire.Request, w pare.Window) (trims, holds int) {
	t.Helper()
	var before *pare.Plan
	for i, q := range requests(t, r) {
		if fixed, err := pare.Repair(q, pare.Options{}); err != nil || !fixed.Empty() {
			before = nil
			continue // a cut of the test's making, not an agent's request
		}
		plan, err := pare.Trim(q, w, pare.Options{Counter: realCounter})
		if small := (*pare.WindowTooSmall)(nil); errors.As(err, &small) {
			before = nil
			continue
		}
		if err != nil {
			t.Fatalf("%s, request %d: %v", name, i, err)
		}
		if n := plan.Result().Tokens(realCounter); n > w.Tokens || len(plan.Left()) > 0 {
			t.Fatalf("%s, request %d: %d tokens, left %v", name, i, n, plan.Left())
		}
		switch {
		case before == nil:
		case len(plan.Batches()) != len(before.Batches()):
			trims++
		default:
			holds++
			a, b := before.Result().Raw(), plan.Result().Raw()
			if n := shared(a, b); n < listEnd(before.Result())-2 { // a list of blocks may go on
				t.Fatalf("%s, request %d: the prefix changed at %d of %d without a batch\n%.300s\n%.300s", name, i, n, len(a), a[max(n-100, 0):], b[max(n-100, 0):])
			}
		}
		before = plan
	}
	return trims, holds
}

// dear are prices at which rewriting hardly ever pays.
type dear struct{}

func (dear) PaysAfter(removed, kept int) int { return 8 * kept / max(removed, 1) }

// TestStableKeepsTail: what was pinned at an earlier request is not what is pinned now.
// Dropping the beginning here puts in words that nobody had counted, so that the window
// has to be fitted once more at the end.
func TestStableKeepsTail(t *testing.T) {
	lorem := strings.Repeat(" lorem ipsum", 25)
	body := []byte(`{"model":"models/gemini-3-pro","contents":[` + geminiUser("why does why why in the fail file") +
		`,{"role":"model","parts":[{"functionCall":{"id":"a","name":"Bash","args":{"command":"go vet"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Bash","response":{"output":"` + lorem + lorem + `"}}}]}` +
		`,{"role":"model","parts":[{"text":"does look"}]},` + geminiUser("at line why why why it why fail") +
		`,{"role":"model","parts":[{"text":"fail in look"},{"functionCall":{"id":"b","name":"Bash","args":{"command":"cat a.go"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"b","name":"Bash","response":{"output":"ok` + lorem + `"}}}]}` +
		`,{"role":"model","parts":[{"text":"at file file does test"}]},` + geminiUser("please the fix look line in file") +
		`,{"role":"model","parts":[{"text":"the tail"}]},` + geminiUser("file why fix why it does line") + `]}`)
	r := reading(t, wire.Gemini, body)
	tried := 0
	for high := 100; high < size(pare.UnitTokens, r); high++ {
		w := pare.Window{Tokens: high, Low: 60, MinKeep: 4, Unpin: pare.PinTask | pare.PinNewest, Cache: dear{}}
		plan, small := fitted(t, fmt.Sprintf("high %d", high), wire.Gemini, body, w)
		if small != nil {
			continue
		}
		tried++
		us := utterances(t, wire.Gemini, plan.Result().Raw())
		stays("assistant: at file file", "user: please the fix", "assistant: the tail", "user: file why")(t, wire.Gemini, us, plan)
		if t.Failed() {
			t.Fatalf("high %d: %+v\n%s", high, plan.Batches(), plan)
		}
	}
	if tried < 20 {
		t.Errorf("only %d windows", tried)
	}
}
