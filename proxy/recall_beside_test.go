package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/oracle"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// goOn is the request that a client sends next, with the history as it saw it: what the
// model said, and a result for each call, or else what the user says.
func goOn(t testing.TB, d wire.Dialect, body string, got told, say string) string {
	t.Helper()
	obj := fmt.Sprintf
	str := func(s string) string { return string(jsonspan.AppendQuote(nil, s)) }
	var calls, results []string
	for i, c := range got.calls {
		at := strings.IndexByte(c, '{')
		name, args, id := str(c[:at]), c[at:], str(got.ids[i])
		switch d {
		case wire.Anthropic:
			calls = append(calls, obj(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, id, name, args))
			results = append(results, obj(`{"type":"tool_result","tool_use_id":%s,"content":"done"}`, id))
		case wire.Bedrock:
			calls = append(calls, obj(`{"toolUse":{"toolUseId":%s,"name":%s,"input":%s}}`, id, name, args))
			results = append(results, obj(`{"toolResult":{"toolUseId":%s,"content":[{"text":"done"}]}}`, id))
		case wire.OpenAIChat:
			calls = append(calls, obj(`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, id, name, str(args)))
			results = append(results, obj(`{"role":"tool","tool_call_id":%s,"content":"done"}`, id))
		case wire.OpenAIResponses:
			calls = append(calls, obj(`{"type":"function_call","call_id":%s,"name":%s,"arguments":%s}`, id, name, str(args)))
			results = append(results, obj(`{"type":"function_call_output","call_id":%s,"output":"done"}`, id))
		case wire.GeminiInteractions:
			calls = append(calls, obj(`{"type":"function_call","id":%s,"name":%s,"arguments":%s}`, id, name, args))
			results = append(results, obj(`{"type":"function_result","call_id":%s,"name":%s,"result":"done"}`, id, name))
		case wire.Gemini:
			signed := ""
			if got.signed[i] != "" {
				signed = `,"thoughtSignature":` + str(got.signed[i])
			}
			calls = append(calls, obj(`{"functionCall":{"id":%s,"name":%s,"args":%s}`, id, name, args)+signed+"}")
			results = append(results, obj(`{"functionResponse":{"id":%s,"name":%s,"response":{"output":"done"}}}`, id, name))
		}
	}
	says, c, r := str(got.text), strings.Join(calls, ","), strings.Join(results, ",")
	if got.text == "" {
		says = ""
	}
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ",")
	}
	wrap := func(format, s string) string {
		if s == "" {
			return ""
		}
		return fmt.Sprintf(format, s)
	}
	said, answer := "", str(say)
	switch d {
	case wire.Anthropic:
		said = fmt.Sprintf(`{"role":"assistant","content":[%s]},{"role":"user","content":[%s]}`, join(wrap(`{"type":"text","text":%s}`, says), c), join(r, wrap(`{"type":"text","text":%s}`, wrap("%s", answer))))
	case wire.Bedrock:
		said = fmt.Sprintf(`{"role":"assistant","content":[%s]},{"role":"user","content":[%s]}`, join(wrap(`{"text":%s}`, says), c), join(r, fmt.Sprintf(`{"text":%s}`, answer)))
	case wire.OpenAIChat:
		said = join(fmt.Sprintf(`{"role":"assistant","content":%s%s}`, str(got.text), wrap(`,"tool_calls":[%s]`, c)), r, fmt.Sprintf(`{"role":"user","content":%s}`, answer))
	case wire.OpenAIResponses:
		said = join(wrap(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s}]}`, says), c, r, fmt.Sprintf(`{"role":"user","content":%s}`, answer))
	case wire.GeminiInteractions:
		said = join(wrap(`{"type":"model_output","content":[{"type":"text","text":%s}]}`, says), c, r)
		if r == "" {
			said = join(said, fmt.Sprintf(`{"type":"user_input","content":[{"type":"text","text":%s}]}`, answer))
		}
	case wire.Gemini:
		said = fmt.Sprintf(`{"role":"model","parts":[%s]},{"role":"user","parts":[%s]}`, join(wrap(`{"text":%s}`, says), c), join(r, wrap(`{"text":%s}`, answer)))
		if r != "" {
			said = fmt.Sprintf(`{"role":"model","parts":[%s]},{"role":"user","parts":[%s]}`, join(wrap(`{"text":%s}`, says), c), r)
		}
	}
	m, ok := jsonspan.Find([]byte(body), jsonspan.Span{End: len(body)}, d.List())
	if !ok {
		t.Fatal("no list")
	}
	return body[:m.Value.End-1] + "," + said + body[m.Value.End-1:]
}

// TestRecallBeside: of a reply that calls the tool and a tool of the client's, the client gets
// its own call only; in its next requests the hidden call stands where it stood, with its
// result, and they begin with the same bytes.
func TestRecallBeside(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		for _, ours := range []int{0, 1} {
			body := string(many(20).Render(d, histories.RenderOptions{}))
			calls := slices.Insert([]paretest.ToolCall{{Tool: "Read", Arguments: `{"path":"b.go"}`}, {Tool: "Read", Arguments: `{"path":"c.go"}`}}, ours, paretest.ToolCall{Tool: "pare_recall"})
			records := make(chan *proxy.Record, 9)
			up, url := recalling(t, d, body, wants(paretest.Reply{Text: "I look.", Calls: calls}), func(c *proxy.Config) {
				c.Record = func(r *proxy.Record) { records <- r }
			})
			path, asks := asking(t, d, body, stream)
			_, reply := post(t, url+path, asks, "Authorization", "Bearer one")
			got := hears(t, d, stream, reply)
			if fmt.Sprint(got.calls) != `[Read{"path":"b.go"} Read{"path":"c.go"}]` || got.text != "I look." || len(up.all()) != 1 {
				t.Fatalf("%+v after %d requests", got, len(up.all()))
			}
			if r := <-records; len(r.Recalls) != 1 || !r.Recalls[0].Beside || r.Recalls[0].Answer != "found" {
				t.Errorf("recorded %+v", r.Recalls)
			}
			next := goOn(t, d, asks, got, "and?")
			resp, reply := post(t, url+path, next, "Authorization", "Bearer one")
			if got = hears(t, d, stream, reply); resp.StatusCode != 200 || !strings.HasPrefix(got.text, `It says "line of part `) {
				t.Fatalf("%d, %+v: %s", resp.StatusCode, got, reply)
			}
			second := string(up.last(t).body)
			third := goOn(t, d, next, got, "go on")
			if resp, reply = post(t, url+path, third, "Authorization", "Bearer one"); resp.StatusCode != 200 {
				t.Fatalf("%d: %s", resp.StatusCode, reply)
			}
			if at := strings.Index(second, "pare_recall"); at < 0 || !strings.HasPrefix(string(up.last(t).body), second[:at+300]) {
				t.Error("the requests do not begin alike")
			}
			for _, s := range up.all() {
				if faults, err := oracle.Judge(d.String(), s.body); err != nil || len(faults) > 0 {
					t.Errorf("second opinion: %v, %v", err, faults)
				}
			}
			// Somebody else who sends the same is not given what was hidden.
			post(t, url+path, next, "Authorization", "Bearer two")
			if _, n := asked(mustParse(t, d, up.last(t).body)); n != 0 {
				t.Error("the call of another client was put back")
			}
		}
	})
}

func mustParse(t testing.TB, d wire.Dialect, body []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecallForgotten: without a memory of what was hidden the client's next request is valid
// all the same, also where the hidden call carried the signature.
func TestRecallForgotten(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(20).Render(d, histories.RenderOptions{}))
		up, url := recalling(t, d, body, wants(paretest.Reply{Calls: []paretest.ToolCall{{Tool: "pare_recall"}, {Tool: "Read", Arguments: `{"path":"b.go"}`}}}))
		path, asks := asking(t, d, body, stream)
		_, reply := post(t, url+path, asks)
		next := goOn(t, d, asks, hears(t, d, stream, reply), "and?")
		restarted := front(t, up, func(c *proxy.Config) { c.Policy, c.Recall = cut(t, d, body), &proxy.Recall{} })
		if resp, reply := post(t, restarted.URL+path, next); resp.StatusCode != 200 {
			t.Errorf("%d: %s", resp.StatusCode, reply)
		}
		// Without the tool, too.
		off := front(t, standIn(t, &paretest.Mock{}), func(c *proxy.Config) { c.Policy = &pare.Policy{} })
		if resp, reply := post(t, off.URL+path, next); resp.StatusCode != 200 {
			t.Errorf("%d: %s", resp.StatusCode, reply)
		}
	})
}

// TestRecallNextTurn: after a recall that nobody saw the client goes on with what it has, and
// its request is valid and begins as the one before.
func TestRecallNextTurn(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(20).Render(d, histories.RenderOptions{}))
		up, url := recalling(t, d, body, wants(paretest.Reply{Text: "I look it up.", Calls: []paretest.ToolCall{{Tool: "pare_recall"}}}))
		path, asks := asking(t, d, body, stream)
		_, reply := post(t, url+path, asks)
		got := hears(t, d, stream, reply)
		next := goOn(t, d, asks, got, "thanks")
		if resp, reply := post(t, url+path, next); resp.StatusCode != 200 {
			t.Fatalf("%d: %s", resp.StatusCode, reply)
		}
		first, third := string(up.all()[0].body), string(up.all()[2].body)
		if at := strings.Index(first, "and now?"); first[:at] != third[:at] || !strings.Contains(third, "I look it up.") {
			t.Error("the requests do not begin alike")
		}
	})
}

// TestRecallStable: while a conversation grows, each request begins as the one before it, but
// for the times when the window is trimmed; with the tool as without it.
func TestRecallStable(t *testing.T) {
	for i, d := range recallDialects {
		if i%trial.Stride(3) > 0 {
			continue
		}
		limit := tokensOf(t, d, string(many(20).Render(d, histories.RenderOptions{})))
		breaks := func(r *proxy.Recall) (n int) {
			up := standIn(t, &paretest.Mock{})
			s := front(t, up, func(c *proxy.Config) {
				c.Policy, c.Recall = &pare.Policy{Window: &pare.Window{Tokens: limit, LowPercent: 60}}, r
			})
			last := ""
			for k := 12; k < 44; k++ {
				path, asks := asking(t, d, string(many(k).Render(d, histories.RenderOptions{})), false)
				if resp, reply := post(t, s.URL+path, asks); resp.StatusCode != 200 {
					t.Fatalf("%d: %s", resp.StatusCode, reply)
				}
				sent := string(up.last(t).body)
				// Up to where the history of the request before ends.
				if at := strings.Index(last, `Done.`); at > 0 && !strings.HasPrefix(sent, last[:at-200]) {
					n++
				}
				last = sent
			}
			return n
		}
		with, without := breaks(&proxy.Recall{}), breaks(nil)
		if without == 0 || with > without+1 {
			t.Errorf("%s: the beginning changes %d times with recall, %d times without", d, with, without)
		}
	}
}
