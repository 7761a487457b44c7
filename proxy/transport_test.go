package proxy_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// TestRequestStaysAsItIs wants what http.RoundTripper promises, and a GetBody that gives
// the repaired body as often as it is asked: SDKs try again with the request that they
// made, transports with the one that they got.
func TestRequestStaysAsItIs(t *testing.T) {
	var sent []string
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		for range 2 {
			body, err := r.GetBody()
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(body)
			body.Close()
			if int64(len(text)) != r.ContentLength {
				t.Errorf("%d bytes, length %d", len(text), r.ContentLength)
			}
			sent = append(sent, string(text))
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		sent = append(sent, string(text))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
	})
	req, err := http.NewRequest("POST", "https://api.anthropic.com/v1/messages", strings.NewReader(errorReader))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X", "y")
	before, length, header := *req, req.ContentLength, req.Header.Clone()
	for range 2 {
		if req.Body, err = req.GetBody(); err != nil {
			t.Fatal(err)
		}
		resp, err := proxy.Middleware(nil)(req, base.RoundTrip)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for _, s := range sent {
		if s != sent[0] || s == errorReader {
			t.Errorf("sent %q", s)
		}
	}
	if len(sent) != 6 || req.ContentLength != length || req.URL != before.URL || len(req.Header) != len(header) {
		t.Error("the request was changed")
	}
}

func TestPackedBodies(t *testing.T) {
	for _, coding := range []string{"gzip", "zstd", "deflate", rawDeflate, "br"} {
		for name, body := range map[string]string{"clean": clean, "broken": errorReader} {
			t.Run(coding+" "+name, func(t *testing.T) {
				packed := pack(t, coding, []byte(body))
				coding, _, _ := strings.Cut(coding, ",")
				u := newUpstream(t, nil)
				s := front(t, u)
				resp, _ := post(t, s.URL+"/v1/messages", string(packed), "Content-Encoding", coding)
				got := u.last(t)
				if name == "clean" {
					if !bytes.Equal(got.body, packed) || got.header.Get("Content-Encoding") != coding {
						t.Errorf("got %q %v", got.body, got.header)
					}
					return
				}
				if resp.Header.Get("Pare-Changes") != "1" || got.header.Get("Content-Encoding") != "" || !strings.Contains(string(got.body), "tool_result") {
					t.Errorf("got %q %v", got.body, got.header)
				}
			})
		}
	}
}

// TestPolicies has what a policy can ask for.
func TestPolicies(t *testing.T) {
	u := newUpstream(t, nil)
	t.Run("off", func(t *testing.T) {
		s := front(t, u, func(c *proxy.Config) { c.Policy = &pare.Policy{Off: true} })
		resp, _ := post(t, s.URL+"/v1/messages", errorReader)
		if string(u.last(t).body) != errorReader || resp.Header.Get("Pare-Changes") != "" {
			t.Error(resp.Header)
		}
	})
	t.Run("window", func(t *testing.T) {
		s := front(t, u, func(c *proxy.Config) { c.Policy = &pare.Policy{Window: &pare.Window{Messages: 5}} })
		post(t, s.URL+"/v1/messages", long(10))
		r, err := wire.Parse(u.last(t).body, wire.Options{})
		if err != nil || len(r.Transcript().Messages()) > 5 {
			t.Error(err, len(r.Transcript().Messages()))
		}
	})
	t.Run("model", func(t *testing.T) {
		s := front(t, u)
		body := long(1500) // about 300,000 tokens, for a window of 200,000
		resp, _ := post(t, s.URL+"/v1/messages", body)
		if got := u.last(t); len(got.body) >= len(body) || resp.Header.Get("Pare-Saved-Tokens") == "" {
			t.Errorf("%d of %d bytes, %v", len(got.body), len(body), resp.Header)
		}
		body = strings.Replace(body, "claude-sonnet-4-5", "claude-opus-4-8", 1)
		if resp, _ = post(t, s.URL+"/v1/messages", body); string(u.last(t).body) != body {
			t.Errorf("a history that fits was changed: %v", resp.Header)
		}
		body = strings.Replace(body, "claude-opus-4-8", "nobody-knows", 1)
		if resp, _ = post(t, s.URL+"/v1/messages", body); string(u.last(t).body) != body {
			t.Errorf("a history for an unknown model was changed: %v", resp.Header)
		}
	})
}

// panicking is a policy whose stubs panic, hanging one whose stubs wait.
func panicking() *pare.Policy {
	return &pare.Policy{Repair: wire.Repair{Stub: func(transcript.Exchange) string { panic("no stub") }}}
}

func hanging(until chan bool) *pare.Policy {
	return &pare.Policy{Repair: wire.Repair{Stub: func(transcript.Exchange) string { <-until; return "late" }}}
}
