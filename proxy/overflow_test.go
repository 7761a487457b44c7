package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// vagueSentences are what providers say of a request that is too long, without a figure.
var vagueSentences = map[wire.Dialect]string{
	wire.Anthropic:          `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`,
	wire.OpenAIChat:         `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
	wire.OpenAIResponses:    `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`,
	wire.Gemini:             `{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed","status":"INVALID_ARGUMENT"}}`,
	wire.GeminiInteractions: `{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed","status":"INVALID_ARGUMENT"}}`,
	wire.Bedrock:            `{"message":"Input is too long for requested model."}`,
}

// narrow is an upstream that takes so many bytes, and does not say how many.
func narrow(t testing.TB, d wire.Dialect, most int) *upstream {
	return newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		if len(body) > most {
			w.WriteHeader(400)
			io.WriteString(w, vagueSentences[d])
			return
		}
		io.WriteString(w, `{"ok":true}`)
	})
}

// grown is a history of so many exchanges in a dialect, in the middle of the model's work, and
// where it is sent. A longer one begins with a shorter one.
func grown(t testing.TB, d wire.Dialect, exchanges int) (path, body string) {
	script := many(exchanges)
	raw := script[:len(script)-2].Render(d, histories.RenderOptions{})
	return pathFor(t, d.String(), raw), string(raw)
}

// messagesOf is the list of messages of a body.
func messagesOf(t testing.TB, d wire.Dialect, body []byte) (all []string) {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Transcript().Messages() {
		all = append(all, string(r.Transcript().Bytes(m.Span)))
	}
	return all
}

// begin is how many messages two bodies begin with alike.
func begin(a, b []string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// TestRetriesShrinkWithoutALimitInTheError: however far over the limit a history is, and although the
// provider names no figure, a few requests later it is answered at the first attempt. None is
// sent more than twice, and each attempt is smaller than the one that was refused before.
func TestRetriesShrinkWithoutALimitInTheError(t *testing.T) {
	for i, d := range wire.Dialects() {
		for j, over := range []float64{1.05, 1.2, 2, 5, 20} {
			if (i+j)%trial.Stride(5) > 0 {
				continue
			}
			t.Run(fmt.Sprint(d, " ", over), func(t *testing.T) {
				_, whole := grown(t, d, 60)
				most := int(float64(len(whole)) / over)
				u := narrow(t, d, most)
				s := front(t, u)
				refused := len(whole) * 2 // the least body that was
				answered := 0
				for n := 60; n < 70; n++ {
					path, body := grown(t, d, n)
					had := len(u.all())
					resp, _ := post(t, s.URL+path, body)
					sent := u.all()[had:]
					if len(sent) > 2 {
						t.Errorf("%d exchanges were sent %d times", n, len(sent))
					}
					for i, b := range sent {
						if n > 60 && len(b.body) >= refused {
							t.Errorf("%d exchanges, attempt %d: %d bytes, and %d were refused before", n, i, len(b.body), refused)
						}
						if len(b.body) > most {
							refused = min(refused, len(b.body))
						}
					}
					if resp.StatusCode == 200 {
						answered++
					} else if over <= 2 || n >= 63 {
						t.Errorf("%d exchanges: %s", n, resp.Status)
					}
				}
				n := len(u.all())
				if n > 10+4 {
					t.Errorf("10 requests were sent %d times", n)
				}
				t.Logf("%d of 10 requests are answered, with %d attempts", answered, n)
			})
		}
	}
}

// TestLearnedLimitsApplyToLaterRequests: what two refusals have taught is known to the next process.
func TestLearnedLimitsApplyToLaterRequests(t *testing.T) {
	path, body := grown(t, wire.Bedrock, 60)
	u := narrow(t, wire.Bedrock, len(body)/10)
	shelf := shelved{}
	known := func() func(*proxy.Config) {
		c := proxy.NewConversations(proxy.ConversationsOptions{Store: shelf})
		for key, l := range shelf {
			c.Observe(key, l)
		}
		return func(conf *proxy.Config) { conf.Conversations = c }
	}
	last := 2 * len(body)
	for range 4 {
		resp, _ := post(t, front(t, u, known()).URL+path, body)
		if resp.StatusCode == 200 {
			return
		}
		if now := len(u.last(t).body); now > last/2 {
			t.Errorf("%d bytes were sent behind %d", now, last)
		} else {
			last = now
		}
	}
	t.Error("nothing was learned")
}

type shelved map[string]proxy.Learned

func (s shelved) Put(key string, l proxy.Learned) { s[key] = l }

// TestRemovedContentStaysRemoved: behind a heal requests begin with what the one before them
// sent, until the history has grown by as much as the low mark leaves.
func TestRemovedContentStaysRemoved(t *testing.T) {
	policies := []*pare.Policy{nil, {}, {Window: &pare.Window{ModelTokens: true, LowPercent: 50}}}
	for i, d := range wire.Dialects() {
		for j, over := range []float64{1.05, 2} {
			if (i+j)%trial.Stride(2) > 0 {
				continue
			}
			_, whole := grown(t, d, 60)
			u := narrow(t, d, int(float64(len(whole))/over))
			s := front(t, u, func(c *proxy.Config) { c.Policy = policies[(i+j)%len(policies)] })
			var before []string
			changed, since := 0, 100 // how often the beginning has changed, and how many requests ago
			for n := 57; n < 82; n++ {
				path, body := grown(t, d, n)
				if resp, answer := post(t, s.URL+path, body); resp.StatusCode != 200 {
					t.Fatalf("%s %g: %s %s", d, over, resp.Status, answer)
				}
				now := messagesOf(t, d, u.last(t).body)
				since++
				if begin(before, now) < len(before) {
					if since < 3 {
						t.Errorf("%s %g: the beginning changes at %d exchanges, and has %d before", d, over, n, since)
					}
					changed, since = changed+1, 0
				}
				before = now
			}
			if changed > 6 {
				t.Errorf("%s %g: the beginning changes %d times in 25 requests", d, over, changed)
			}
		}
	}
}

// pictures is a history of so many pictures, each of so many bytes.
func pictures(n, bytes int) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"look at them"}`)
	data := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", bytes/24)
	for i := range n {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"shot","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]}]}`, i, i, data)
	}
	b.WriteString(`]}`)
	return b.String()
}

// TestRequestFitsALimitOfBytes: a body that has more bytes than its provider takes is cut to what it
// takes: before it is sent, where that is known; at the second attempt, where the provider says
// so; and with halves, where it does not. Later requests begin there.
func TestRequestFitsALimitOfBytes(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		most       int
		status     int
		says       string
		first      int // attempts of the first request
		over       float64
	}{
		{"known", "/v1/messages", 32 << 20, 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 1, 1.2},
		{"told", "/v1/messages", 2_000_000, 413, `Request body is larger than 2 MB`, 2, 3},
		{"told with 400", "/v1/messages", 2_000_000, 400, `Request payload size exceeds the limit: 2000000 bytes.`, 2, 3},
		{"untold", "/v1/messages", 2_000_000, 413, `<html>413 Request Entity Too Large</html>`, 2, 1.8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.most > 10<<20 {
				trial.Long(t, "sends more than the 32 MB that Anthropic takes")
			}
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				if len(body) > tt.most {
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.says)
					return
				}
				io.WriteString(w, `{"ok":true}`)
			})
			s := front(t, u)
			size := int(tt.over * float64(tt.most) / 20)
			for n := 20; n < 22; n++ {
				had := len(u.all())
				resp, answer := post(t, s.URL+tt.path, pictures(n, size))
				sent := u.all()[had:]
				got := sent[len(sent)-1].body
				if resp.StatusCode != 200 || n == 20 && len(sent) != tt.first || n > 20 && len(sent) != 1 {
					t.Fatalf("%d pictures: %s after %d attempts: %s %v", n, resp.Status, len(sent), answer, resp.Header)
				}
				if len(got) > tt.most || len(got) < tt.most/3 || !strings.Contains(string(got), "look at them") {
					t.Errorf("%d pictures: %d bytes of %d are sent", n, len(got), tt.most)
				}
				if saved := resp.Header.Get("Pare-Saved-Tokens"); len(saved) > 6 { // a picture has some 1,000 at most
					t.Errorf("saved %s tokens", saved)
				}
			}
		})
	}
}

// TestRequestFitsALimitOfMessages: a list that is longer than the provider takes is cut to what it
// takes.
func TestRequestFitsALimitOfMessages(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"a"}`)
	for range 50_001 {
		b.WriteString(`,{"role":"assistant","content":"b"},{"role":"user","content":"c"}`)
	}
	b.WriteString(`]}`)
	u := standIn(t, &paretest.Mock{})
	resp, answer := post(t, front(t, u).URL+"/v1/messages", b.String())
	if resp.StatusCode != 200 || len(u.all()) != 1 {
		t.Errorf("%s after %d attempts: %.200s", resp.Status, len(u.all()), answer)
	}
}
