package proxy_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// TestRecallFramings: a list that comes element by element, and the events of Claude in the
// framing of AWS, are continued over the rounds, too.
func TestRecallFramings(t *testing.T) {
	for _, c := range []struct {
		d    wire.Dialect
		path string
	}{
		{wire.Gemini, "/v1beta/models/gemini-3.8-pro:streamGenerateContent"},
		{wire.Anthropic, "/model/anthropic.claude-opus-4-6-v1:0/invoke-with-response-stream"},
	} {
		body := string(many(20).Render(c.d, histories.RenderOptions{}))
		up, url := recalling(t, c.d, body, wants(paretest.Reply{Text: "I look it up.", Calls: []paretest.ToolCall{{Tool: "pare_recall"}}}))
		resp, reply := post(t, url+c.path, body)
		if resp.StatusCode != 200 || len(up.all()) != 2 {
			t.Fatalf("%d after %d requests: %s", resp.StatusCode, len(up.all()), reply)
		}
		text := ""
		if c.d == wire.Gemini {
			for _, chunk := range decoded[[]any](t, reply) {
				text += hearsWhole(t, c.d, string(encoded(t, chunk))).text
			}
		} else {
			var all []sent
			for _, f := range frames(t, reply) {
				inner := decoded[struct {
					Bytes []byte
				}](t, string(f.data)).Bytes
				all = append(all, sent{decoded[struct{ Type string }](t, string(inner)).Type, inner})
			}
			var got told
			got.anthropic(t, all)
			text = got.text
		}
		if !strings.HasPrefix(text, `I look it up.It says "line of part `) {
			t.Errorf("%s: %q", c.path, text)
		}
	}
}

// TestRecallDoesNotWait: what the model says passes before it has ended, in every round.
func TestRecallDoesNotWait(t *testing.T) {
	body := string(many(20).Render(wire.Anthropic, histories.RenderOptions{}))
	_, asks := asking(t, wire.Anthropic, body, true)
	m := &paretest.Mock{Reply: wants(paretest.Reply{Text: "I look it up.", Calls: []paretest.ToolCall{{Tool: "pare_recall"}}})}
	heard := make(chan struct{})
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, _ int) {
		whole := httptest.NewRecorder()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		m.ServeHTTP(whole, r)
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		// The rest comes when the client has heard the first words.
		text := whole.Body.String()
		at := strings.Index(text, "text_delta")
		at += strings.Index(text[at:], "\n\n") + 2
		io.WriteString(w, text[:at])
		w.(http.Flusher).Flush()
		<-heard
		io.WriteString(w, text[at:])
	})
	s := front(t, up, func(c *proxy.Config) { c.Policy, c.Recall = cut(t, wire.Anthropic, body), &proxy.Recall{} })
	resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(asks))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all strings.Builder
	buf := make([]byte, 1<<10)
	for rounds := 0; ; {
		n, err := resp.Body.Read(buf)
		all.Write(buf[:n])
		if words := []string{`"text":"I "`, `"text":"It "`}; rounds < 2 && strings.Contains(all.String(), words[rounds]) {
			heard <- struct{}{}
			rounds++
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := hears(t, wire.Anthropic, true, all.String()); !strings.HasPrefix(got.text, "I look it up.It says") {
		t.Errorf("%+v", got)
	}
}

// TestRecallBinds: where thinking is bound to the tools, a request with the tool carries none of
// the past, and the thinking of the round itself goes back with the call.
func TestRecallBinds(t *testing.T) {
	var script strings.Builder
	script.WriteString("user \"fix the build\"\n")
	for i := range 20 {
		fmt.Fprintf(&script, "think \"Thought %d.\" | say \"I look.\" | call r%d Read part%d.go\nresult r%d %s\n", i, i, i, i, strings.Repeat(fmt.Sprintf("line of part %d; ", i), 60))
	}
	script.WriteString("think \"Last.\" | say \"Done.\"\nuser \"and now?\"")
	for _, model := range []string{"claude-opus-5-5", "claude-opus-4-6"} {
		body := string(histories.MustParse(script.String()).Render(wire.Anthropic, histories.RenderOptions{Model: model}))
		up, url := recalling(t, wire.Anthropic, body, wants(paretest.Reply{Thinking: "Fresh.", Calls: []paretest.ToolCall{{Tool: "pare_recall"}}}), func(c *proxy.Config) {
			c.Policy.ProviderEdits.DropThinking = new(bool)
		})
		for _, stream := range []bool{false, true} {
			path, asks := asking(t, wire.Anthropic, body, stream)
			if resp, reply := post(t, url+path, asks); resp.StatusCode != 200 {
				t.Fatalf("%s: %d: %s", model, resp.StatusCode, reply)
			}
			all := up.all()
			first, second := string(all[len(all)-2].body), string(all[len(all)-1].body)
			binds := strings.Contains(model, "5-5")
			if strings.Contains(first, `"type":"thinking"`) == binds || !strings.Contains(second, `"thinking":"Fresh."`) || !strings.Contains(second, `"signature":"`) {
				t.Errorf("%s, stream %v:\n%.2000s", model, stream, first)
			}
		}
	}
}

// TestRecallByCall: what was shortened, and what a rule has cleared, is fetched by the id of the
// call that the note names.
func TestRecallByCall(t *testing.T) {
	whole := strings.Repeat("a long line of output\n", 3000)
	body := string(histories.MustParse("user \"go\"\nsay \"I look.\" | call r1 Read a.go\nresult r1 \"x\"\nsay \"ok\"\nuser \"more\"").Render(wire.Anthropic, histories.RenderOptions{}))
	body = strings.Replace(body, `"content":"x"`, `"content":`+string(encoded(t, whole)), 1)
	answer := ""
	up := standIn(t, &paretest.Mock{Reply: func(r *wire.Request) paretest.Reply {
		if got, n := asked(r); n > 0 {
			answer = got
			return paretest.Reply{Text: "I see."}
		}
		id := ""
		for _, x := range r.Transcript().Exchanges() {
			id = x.CallID
		}
		if !strings.Contains(string(r.Raw()), "left out here by the window, call "+id) {
			return paretest.Reply{Status: http.StatusTeapot, Text: "nothing was shortened"}
		}
		return calls(fmt.Sprintf(`{"handle":%q}`, id))
	}})
	s := front(t, up, func(c *proxy.Config) {
		c.Policy, c.Recall = &pare.Policy{Window: &pare.Window{Tokens: 4000}}, &proxy.Recall{}
	})
	resp, reply := post(t, s.URL+"/v1/messages", body)
	if resp.StatusCode != 200 || answer != whole {
		t.Errorf("%d, %d bytes: %s", resp.StatusCode, len(answer), reply)
	}
}

// TestRecallAfterHealing: a history that the provider found too long is cut, and what was cut
// can be fetched.
func TestRecallAfterHealing(t *testing.T) {
	each(t, func(t *testing.T, d wire.Dialect, stream bool) {
		body := string(many(40).Render(d, histories.RenderOptions{}))
		up := standIn(t, &paretest.Mock{MaxTokens: tokensOf(t, d, body) * 9 / 10, Reply: wants(paretest.Reply{Calls: []paretest.ToolCall{{Tool: "pare_recall"}}})})
		s := front(t, up, func(c *proxy.Config) { c.Recall = &proxy.Recall{} })
		path, asks := asking(t, d, body, stream)
		resp, reply := post(t, s.URL+path, asks)
		if got := hears(t, d, stream, reply); resp.StatusCode != 200 || resp.Header.Get("Pare-Healed") != "overflow" || !strings.HasPrefix(got.text, "It says") {
			t.Errorf("%d, %v: %+v", resp.StatusCode, resp.Header, got)
		}
		if first := up.all()[0].body; string(first) != asks {
			t.Error("the first attempt is not what came")
		}
	})
}

// TestRecallPacked: a provider that packs its reply although it was asked not to is read all
// the same.
func TestRecallPacked(t *testing.T) {
	for i := range 4 {
		stream, brotlied := i%2 == 1, i > 1
		body := string(many(20).Render(wire.Anthropic, histories.RenderOptions{}))
		m := &paretest.Mock{Reply: wants(paretest.Reply{Text: "I look.", Calls: []paretest.ToolCall{{Tool: "pare_recall"}}})}
		up := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, _ int) {
			if got := r.Header.Get("Accept-Encoding"); got != "identity" {
				t.Errorf("asked for %q", got)
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			coding, z := "gzip", io.WriteCloser(gzip.NewWriter(w))
			if brotlied {
				coding, z = "br", brotli.NewWriter(w)
			}
			w.Header().Set("Content-Encoding", coding)
			m.ServeHTTP(packing{w, z}, r)
			z.Close()
		})
		s := front(t, up, func(c *proxy.Config) { c.Policy, c.Recall = cut(t, wire.Anthropic, body), &proxy.Recall{} })
		path, asks := asking(t, wire.Anthropic, body, stream)
		resp, reply := post(t, s.URL+path, asks, "Accept-Encoding", "gzip, br")
		if got := hears(t, wire.Anthropic, stream, reply); resp.Header.Get("Content-Encoding") != "" || !strings.HasPrefix(got.text, "I look.It says") {
			t.Errorf("%v: %+v", resp.Header, got)
		}
	}
}

type packing struct {
	http.ResponseWriter
	z io.Writer
}

func (p packing) Write(b []byte) (int, error) { return p.z.Write(b) }

// TestRecallTogether: many clients at once, some of which go away, get each their own; whatever
// is held for a reply is let go of.
func TestRecallTogether(t *testing.T) {
	body := string(many(20).Render(wire.Anthropic, histories.RenderOptions{}))
	up := standIn(t, &paretest.Mock{Reply: wants(paretest.Reply{Text: "I look.", Calls: []paretest.ToolCall{{Tool: "pare_recall"}}})})
	var mu sync.Mutex
	ended := 0
	s := front(t, up, func(c *proxy.Config) {
		c.Policy, c.Recall = &pare.Policy{Window: &pare.Window{Tokens: tokensOf(t, wire.Anthropic, body) * 3 / 4}}, &proxy.Recall{}
		c.Memory = int64(3 * len(body)) // who finds no room waits for others to let go
		c.Record = func(*proxy.Record) { mu.Lock(); ended++; mu.Unlock() }
	})
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mine := strings.ReplaceAll(body, `"content":"line`, fmt.Sprintf(`"content":"client %02d: line`, i))
			_, asks := asking(t, wire.Anthropic, mine, i%2 == 0)
			resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(asks))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if i%4 == 2 {
				resp.Body.Read(make([]byte, 100)) // and is gone
				return
			}
			raw, err := io.ReadAll(resp.Body)
			if got := hears(t, wire.Anthropic, i%2 == 0, string(raw)); err != nil || !strings.HasPrefix(got.text, fmt.Sprintf(`I look.It says "client %02d: line`, i)) {
				t.Errorf("%d: %v: %+v", i, err, got)
			}
		}()
	}
	wg.Wait()
	// Everybody has let go if there is room for all of it again.
	if resp, _ := post(t, s.URL+"/v1/messages", body); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	mu.Lock()
	defer mu.Unlock()
	if ended == 0 {
		t.Error("nothing was recorded")
	}
}
