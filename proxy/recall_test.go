package proxy_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/oracle"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// recallDialects are those in which the tool is offered.
var recallDialects = []wire.Dialect{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini, wire.GeminiInteractions, wire.Bedrock}

var handle = regexp.MustCompile(`; archived as (pare-[0-9a-f]{32})`)

// asking is a body of a dialect, and the path at which it asks for a reply in one piece or
// for a stream.
func asking(t testing.TB, d wire.Dialect, body string, stream bool) (path, asked string) {
	body = strings.Replace(body, `"stream":true`, `"stream":false`, 1) // which renderings of chats have
	path = pathFor(t, d.String(), []byte(body))
	if !stream {
		return path, body
	}
	switch d {
	case wire.Gemini:
		return strings.Replace(path, ":generateContent", ":streamGenerateContent", 1) + "?alt=sse", body
	case wire.Bedrock:
		return path + "-stream", body
	case wire.OpenAIChat:
		body = strings.Replace(body, `"stream":false`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
	default:
		body = `{"stream":true,` + body[1:]
	}
	return path, body
}

// cut is a policy that clears old results of the history of many, and of little else.
func cut(t testing.TB, d wire.Dialect, body string) *pare.Policy {
	return &pare.Policy{Window: &pare.Window{Tokens: tokensOf(t, d, body) * 8 / 10, LowPercent: 70}}
}

// recalling is a proxy with recall in front of a stand-in, whose model does what it is told
// to.
func recalling(t testing.TB, d wire.Dialect, body string, reply func(*wire.Request) paretest.Reply, change ...func(*proxy.Config)) (*upstream, string) {
	up := standIn(t, &paretest.Mock{Reply: reply})
	all := append([]func(*proxy.Config){func(c *proxy.Config) { c.Policy, c.Recall = cut(t, d, body), &proxy.Recall{} }}, change...)
	return up, front(t, up, all...).URL
}

// asked is the last call of the tool in a request, its result, and how many there are.
func asked(r *wire.Request) (result string, n int) {
	t := r.Transcript()
	for _, x := range t.Exchanges() {
		if x.Tool == "pare_recall" && len(x.Results) > 0 {
			result = r.Text(x.Results[0])
			n++
		}
	}
	return result, n
}

// wants is a model that fetches the first thing that is gone, once, then says what it got.
func wants(first paretest.Reply) func(*wire.Request) paretest.Reply {
	return func(r *wire.Request) paretest.Reply {
		if got, n := asked(r); n > 0 {
			return paretest.Reply{Text: fmt.Sprintf("It says %q.", got[:30])}
		}
		reply := first
		for i := range reply.Calls {
			if reply.Calls[i].Tool == "pare_recall" && reply.Calls[i].Arguments == "" {
				h := handle.FindSubmatch(r.Raw())
				if h == nil {
					return paretest.Reply{Status: http.StatusTeapot, Text: "nothing was removed"}
				}
				reply.Calls = append([]paretest.ToolCall(nil), reply.Calls...)
				reply.Calls[i].Arguments = fmt.Sprintf(`{"handle":%q}`, h[1])
			}
		}
		return reply
	}
}

// stops are the reasons with which a reply ends that asks for nothing.
var stops = map[wire.Dialect]string{wire.Anthropic: "end_turn", wire.OpenAIChat: "stop", wire.OpenAIResponses: "completed", wire.Gemini: "STOP", wire.GeminiInteractions: "completed", wire.Bedrock: "end_turn"}

// each runs a test in every dialect, whole and streamed.
func each(t *testing.T, run func(t *testing.T, d wire.Dialect, stream bool)) {
	for _, d := range recallDialects {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", d, stream), func(t *testing.T) { run(t, d, stream) })
		}
	}
}

// TestRecallAlone: the model gets what was removed, and the client one reply, with what was
// said before the call and behind it; the second request is valid, and begins with the
// first.
func TestRecallAlone(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(20).Render(d, histories.RenderOptions{}))
		for _, before := range []string{"", "I look it up."} {
			records := make(chan *proxy.Record, 9)
			up, url := recalling(t, d, body, wants(paretest.Reply{Text: before, Calls: []paretest.ToolCall{{Tool: "pare_recall"}}}), func(c *proxy.Config) {
				c.Record = func(r *proxy.Record) { records <- r }
			})
			path, asks := asking(t, d, body, stream)
			resp, reply := post(t, url+path, asks)
			if resp.StatusCode != 200 || len(up.all()) != 2 {
				t.Fatalf("status %d after %d requests: %s", resp.StatusCode, len(up.all()), reply)
			}
			got := hears(t, d, stream, reply)
			part := handleOf(t, d, body, up.all()[0].body)
			want := fmt.Sprintf(`It says "line of part %d; line of part %[1]d`, part)
			want = want[:len(`It says "`)+30] + `".`
			if before != "" && d == wire.OpenAIChat {
				want = "\n\n" + want // one text is all it has
			}
			if got.text != before+want || got.calls != nil || got.stop != stops[d] {
				t.Errorf("%+v, want %q", got, before+want)
			}
			for _, s := range up.all() {
				if faults, err := oracle.Judge(d.String(), s.body); err != nil || len(faults) > 0 {
					t.Errorf("second opinion: %v, %v", err, faults)
				}
			}
			first, second := up.all()[0].body, up.all()[1].body
			if r, err := wire.Parse(second, wire.Options{Dialect: d}); err != nil || len(r.Check(wire.CheckOptions{})) > len(mustCheck(t, d, first)) {
				t.Errorf("%v, %v", err, r.Check(wire.CheckOptions{}))
			}
			if i := strings.LastIndex(string(first), "and now?"); string(first[:i]) != string(second[:i]) {
				t.Error("the second request does not begin with the first")
			}
			r := <-records
			if len(r.Recalls) != 1 || r.Recalls[0].Answer != "found" || r.Recalls[0].Bytes == 0 || r.Usage.Output <= got.output/2 {
				t.Errorf("recorded %+v, %+v", r.Recalls, r.Usage)
			}
			if n := resp.Header.Get("Pare-Recalls"); !stream && n != "1" {
				t.Errorf("the header says %q", n)
			}
		}
	})
}

// handleOf is the number of the part that the first placeholder in a request stands for.
func handleOf(t testing.TB, d wire.Dialect, body string, sent []byte) int {
	t.Helper()
	r := mustParse(t, d, []byte(body))
	for i, x := range r.Transcript().Exchanges() {
		if id := archive.ID(r.Transcript().Bytes(r.Transcript().Block(x.Results[0]).Span)); id == string(handle.FindSubmatch(sent)[1]) {
			return i
		}
	}
	t.Fatal("the placeholder stands for nothing")
	return 0
}

func mustCheck(t testing.TB, d wire.Dialect, body []byte) []wire.Finding {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return r.Check(wire.CheckOptions{})
}

// TestRecallUnused: a reply that does not call the tool passes byte for byte, and a request
// from which nothing is removed is the one that came.
func TestRecallUnused(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(20).Render(d, histories.RenderOptions{}))
		m := &paretest.Mock{Reply: func(*wire.Request) paretest.Reply {
			return paretest.Reply{Text: "Let me look.", Calls: []paretest.ToolCall{{Tool: "Read", Arguments: `{"path":"a"}`}}}
		}}
		up := standIn(t, m)
		for _, policy := range []*pare.Policy{cut(t, d, body), {}} {
			s := front(t, up, func(c *proxy.Config) { c.Policy, c.Recall = policy, &proxy.Recall{} })
			path, asks := asking(t, d, body, stream)
			_, reply := post(t, s.URL+path, asks)
			if want := direct(m, path, string(up.last(t).body)).Body.String(); reply != want {
				t.Errorf("%s\nwant %s", reply, want)
			}
			offered := strings.Contains(string(up.last(t).body), `"pare_recall"`)
			if policy.Window == nil && string(up.last(t).body) != asks || offered != (policy.Window != nil) {
				t.Errorf("offered: %v; %.300s", offered, up.last(t).body)
			}
		}
	})
}

// TestRecallList: what was dropped without a trace is in the list, by its handle, and can be
// fetched.
func TestRecallList(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(20).Render(d, histories.RenderOptions{}))
		list, got := "", ""
		up := standIn(t, &paretest.Mock{Reply: func(r *wire.Request) paretest.Reply {
			result, n := asked(r)
			switch n {
			case 0:
				return calls(`{"handle":"list"}`)
			case 1:
				list = result
				line := ""
				for l := range strings.Lines(result) {
					if strings.Contains(l, "line of part 0;") {
						line = l
					}
				}
				h, _, _ := strings.Cut(line, " ")
				return calls(fmt.Sprintf(`{"handle":%q}`, h))
			}
			got = result
			return paretest.Reply{Text: "I see."}
		}})
		s := front(t, up, func(c *proxy.Config) {
			c.Policy, c.Recall = &pare.Policy{Window: &pare.Window{Exchanges: 10}}, &proxy.Recall{}
		})
		path, asks := asking(t, d, body, stream)
		resp, reply := post(t, s.URL+path, asks)
		if said := hears(t, d, stream, reply); resp.StatusCode != 200 || said.text != "I see." {
			t.Fatalf("%d: %s", resp.StatusCode, reply)
		}
		if !strings.Contains(list, "call of Read") || strings.Count(got, "line of part 0;") != 60 || strings.Contains(string(up.all()[0].body), "line of part 0;") {
			t.Errorf("list %s\ngot %.300s", list, got)
		}
	})
}
