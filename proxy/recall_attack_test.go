package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// calls is a reply that calls the tool.
func calls(arguments string) paretest.Reply {
	return paretest.Reply{Calls: []paretest.ToolCall{{Tool: "pare_recall", Arguments: arguments}}}
}

// TestRecallLoop: a model that asks for ever is answered so often and no more, then it is told
// that there is no more, and then the reply ends.
func TestRecallLoop(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(20).Render(d, histories.RenderOptions{}))
		records := make(chan *proxy.Record, 9)
		up, url := recalling(t, d, body, func(r *wire.Request) paretest.Reply {
			return calls(fmt.Sprintf(`{"handle":%q}`, handle.FindSubmatch(r.Raw())[1]))
		}, func(c *proxy.Config) {
			c.Recall = &proxy.Recall{Rounds: 2}
			c.Record = func(r *proxy.Record) { records <- r }
		})
		path, asks := asking(t, d, body, stream)
		resp, reply := post(t, url+path, asks)
		if resp.StatusCode != 200 || len(up.all()) != 4 {
			t.Fatalf("%d after %d requests: %s", resp.StatusCode, len(up.all()), reply)
		}
		if stream && d == wire.OpenAIResponses {
			reply = strings.TrimSpace(reply)
			reply = hearsEnd(t, reply)
		}
		got := hears(t, d, stream && d != wire.OpenAIResponses, reply)
		if got.calls != nil || got.stop != stops[d] {
			t.Errorf("%+v", got)
		}
		last, _ := asked(mustParse(t, d, up.last(t).body))
		if r := <-records; len(r.Recalls) != 3 || r.Recalls[2].Answer != "limit" || !strings.HasPrefix(last, "No more content") {
			t.Errorf("%+v; the last answer was %q", r.Recalls, last)
		}
	})
}

// hearsEnd is the response in the event that ends a stream.
func hearsEnd(t testing.TB, reply string) string {
	t.Helper()
	all := events(t, reply)
	_, rest, ok := strings.Cut(string(all[len(all)-1].data), `"response":`)
	if !ok {
		t.Fatal("no response in ", reply)
	}
	return strings.TrimSuffix(rest, "}")
}

// TestRecallHuge: what is too long for one reply comes in parts, between characters, and the
// model can go on with it in the next reply.
func TestRecallHuge(t *testing.T) {
	whole := strings.TrimSpace(strings.Repeat("größer ", 2000))
	var script strings.Builder
	script.WriteString("user \"go\"\n")
	for i := range 12 {
		fmt.Fprintf(&script, "say \"I look.\" | call r%d Read a.go\nresult r%d %s\n", i, i, whole)
	}
	script.WriteString("say \"Done.\"\nuser \"and now?\"")
	body := string(histories.MustParse(script.String()).Render(wire.Anthropic, histories.RenderOptions{}))
	var read strings.Builder
	full := false
	_, url := recalling(t, wire.Anthropic, body, func(r *wire.Request) paretest.Reply {
		if got, n := asked(r); n > 0 {
			part, _, more := strings.Cut(got, "\n[pare: these are bytes ")
			if part == "No more content can be fetched in this reply. Go on with what you have." {
				return paretest.Reply{Text: "later"}
			}
			if read.WriteString(part); len(part) > 5001 {
				t.Errorf("%d bytes at once", len(part))
			}
			if full = !more; full {
				return paretest.Reply{Text: "done"}
			}
		}
		return calls(fmt.Sprintf(`{"handle":%q,"offset":%d}`, handle.FindSubmatch(r.Raw())[1], read.Len()))
	}, func(c *proxy.Config) { c.Recall = &proxy.Recall{MaxBytes: 5001} })
	for range 10 {
		if resp, reply := post(t, url+"/v1/messages", body); resp.StatusCode != 200 {
			t.Fatalf("%d: %s", resp.StatusCode, reply)
		}
		if full {
			break
		}
	}
	if read.String() != whole {
		t.Errorf("%d bytes were read of %d", read.Len(), len(whole))
	}
}

// A cupboard has what was removed from sessions, by scope.
type cupboard struct {
	scope, handle string
	err           error
}

func (c cupboard) Recall(_ context.Context, scope, handle string) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	if scope != c.scope || handle != c.handle {
		return nil, fmt.Errorf("recall: %w", archive.ErrNotFound)
	}
	return []byte(`{"type":"text","text":"from long ago"}`), nil
}

// TestRecallStore: a placeholder that the client sends is looked up in its own scope, if the
// handle stands in the conversation. Whatever goes wrong is an answer to the model, and
// never an error to the client.
func TestRecallStore(t *testing.T) {
	h := archive.ID([]byte("x"))
	body := fmt.Sprintf(`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"[pare: result of Read (9 bytes) cleared to fit the window; archived as %s] and?"}]}`, h)
	for _, c := range []struct {
		name, scope, asks, want string
		store                   proxy.Recaller
	}{
		{"own", "me", h, "from long ago", cupboard{scope: "me", handle: h}},
		{"of another scope", "you", h, "Nothing was removed", cupboard{scope: "me", handle: h}},
		{"not in the conversation", "me", archive.ID([]byte("y")), "Nothing was removed", cupboard{scope: "me", handle: archive.ID([]byte("y"))}},
		{"no handle at all", "me", "../../etc/passwd", "Nothing was removed", cupboard{scope: "me", handle: h}},
		{"empty", "me", "", "Nothing was removed", cupboard{scope: "me", handle: h}},
		{"down", "me", h, "cannot be fetched at the moment", cupboard{err: errors.New("connection refused")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := ""
			up := standIn(t, &paretest.Mock{Reply: func(r *wire.Request) paretest.Reply {
				if got, n := asked(r); n > 0 {
					answer = got
					return paretest.Reply{Text: "I see."}
				}
				return calls(fmt.Sprintf(`{"handle":%q}`, c.asks))
			}})
			tr := &proxy.Transport{Recall: &proxy.Recall{Store: c.store}, PlanTime: -1}
			req, _ := http.NewRequestWithContext(proxy.WithScope(t.Context(), c.scope), "POST", up.URL+"/v1/messages", strings.NewReader(body))
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, _ := io.ReadAll(resp.Body)
			reply := string(raw)
			if resp.StatusCode != 200 || !strings.Contains(answer, c.want) || !strings.Contains(reply, "I see.") {
				t.Errorf("%d, %q: %s", resp.StatusCode, answer, reply)
			}
		})
	}
	// Without a store there is nothing to fetch it from, and the request stays as it is.
	up := standIn(t, &paretest.Mock{})
	s := front(t, up, func(conf *proxy.Config) { conf.Recall = &proxy.Recall{} })
	if post(t, s.URL+"/v1/messages", body); string(up.last(t).body) != body {
		t.Errorf("%s", up.last(t).body)
	}
}

// TestRecallRefused: what the provider does not take is not insisted on.
func TestRecallRefused(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(20).Render(d, histories.RenderOptions{}))
		path, asks := asking(t, d, body, stream)
		t.Run("the tool", func(t *testing.T) {
			m := &paretest.Mock{}
			up := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, _ int) {
				if strings.Contains(string(body), `"pare_recall"`) {
					http.Error(w, `{"error":{"message":"this model has no tools"}}`, http.StatusBadRequest)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				m.ServeHTTP(w, r)
			})
			s := front(t, up, func(c *proxy.Config) { c.Policy, c.Recall = cut(t, d, body), &proxy.Recall{} })
			if resp, reply := post(t, s.URL+path, asks); resp.StatusCode != 200 || len(up.all()) != 2 {
				t.Errorf("%d after %d requests: %s", resp.StatusCode, len(up.all()), reply)
			}
		})
		t.Run("the content", func(t *testing.T) {
			up := standIn(t, &paretest.Mock{Reply: func(r *wire.Request) paretest.Reply {
				got, n := asked(r)
				switch {
				case n == 0:
					return calls(fmt.Sprintf(`{"handle":%q}`, handle.FindSubmatch(r.Raw())[1]))
				case strings.HasPrefix(got, "line"):
					return paretest.Reply{Status: 400, Text: "prompt is too long"}
				}
				return paretest.Reply{Text: "So be it: " + got}
			}})
			s := front(t, up, func(c *proxy.Config) { c.Policy, c.Recall = cut(t, d, body), &proxy.Recall{} })
			resp, reply := post(t, s.URL+path, asks)
			if got := hears(t, d, stream, reply); resp.StatusCode != 200 || !strings.HasPrefix(got.text, "So be it: The content is too large") {
				t.Errorf("%d: %+v", resp.StatusCode, got)
			}
		})
		t.Run("the second request", func(t *testing.T) {
			up := standIn(t, &paretest.Mock{Reply: func(r *wire.Request) paretest.Reply {
				if _, n := asked(r); n > 0 {
					return paretest.Reply{Status: 529, Text: "Overloaded"}
				}
				return calls(fmt.Sprintf(`{"handle":%q}`, handle.FindSubmatch(r.Raw())[1]))
			}})
			s := front(t, up, func(c *proxy.Config) { c.Policy, c.Recall = cut(t, d, body), &proxy.Recall{} })
			req, _ := http.NewRequest("POST", s.URL+path, strings.NewReader(asks))
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, err = io.ReadAll(resp.Body)
			if stream && err == nil || !stream && resp.StatusCode != 529 {
				t.Errorf("%d, %v", resp.StatusCode, err)
			}
		})
	})
}

// TestRecallForeign: a client that has a tool of this name keeps it.
func TestRecallForeign(t *testing.T) {
	body := string(many(20).Render(wire.Anthropic, histories.RenderOptions{}))
	body = strings.Replace(body, `"tools":[`, `"tools":[{"name":"pare_recall","input_schema":{"type":"object"}},`, 1)
	up, url := recalling(t, wire.Anthropic, body, func(*wire.Request) paretest.Reply { return calls(`{"handle":"x"}`) })
	_, reply := post(t, url+"/v1/messages", body)
	if !strings.Contains(reply, "pare_recall") || len(up.all()) != 1 || strings.Count(string(up.last(t).body), `"pare_recall"`) != 1 {
		t.Errorf("%s", reply)
	}
}
