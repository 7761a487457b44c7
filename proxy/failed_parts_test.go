package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// faultyRules are rules that fail in every way, each after it has voted.
func faultyRules(t testing.TB) map[string]*pare.Pipeline {
	t.Helper()
	all := map[string]*pare.Pipeline{}
	add := func(name string, prepare func(*wire.Request) (pare.Process, error)) {
		p, err := pare.Compile(append(rules.Standard(), pare.Rule{Name: name, Prepare: prepare})...)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = p
	}
	dropAll := func(b *pare.Ballot) {
		for a := range 3 {
			b.Drop(0, "vote %d of a rule that fails", a)
		}
	}
	add("prepare-panics", func(*wire.Request) (pare.Process, error) { panic("no idea") })
	add("prepare-errs", func(*wire.Request) (pare.Process, error) { return nil, errors.New("no idea") })
	add("vote-panics", func(*wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) { dropAll(b); panic(errors.New("no idea")) }, nil
	})
	add("no-text", func(*wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) { dropAll(b); b.Edit(0, "half \xe2\x82", "cut") }, nil
	})
	// It compiles: what an argument is is known only when it runs.
	conf, err := config.Parse("pare.toml", []byte("[[expression]]\nname = \"fails\"\nwhen = 'int(args.path) > 3'\naction = \"clear\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if all["fails"], err = conf.Pipeline(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFailedRuleIsLeftOut: in every dialect a broken request is repaired whichever way
// a rule fails, and is what it is without that rule; header, record and log name it, the log once.
func TestFailedRuleIsLeftOut(t *testing.T) {
	script := histories.MustParse("user \"fix it\"\ncall w1 Write a.go\nresult w1 ok\ncall w2 Write a.go\nuser \"and now?\"")
	for name, pipeline := range faultyRules(t) {
		for _, d := range wire.Dialects() {
			body := string(script.Render(d, histories.RenderOptions{}))
			path := pathFor(t, d.String(), []byte(body))
			for _, prune := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", d, " ", prune), func(t *testing.T) {
					var said bytes.Buffer
					var last *proxy.Record
					send := func(p *pare.Policy) (*http.Response, string) {
						u := standIn(t, &paretest.Mock{})
						s := front(t, u, func(c *proxy.Config) {
							c.Policy, c.Prune, c.Log = p, prune, slog.New(slog.NewTextHandler(&said, nil))
							c.Record = func(r *proxy.Record) { last = r }
						})
						post(t, s.URL+path, body)
						resp, _ := post(t, s.URL+path, body)
						return resp, string(u.last(t).body)
					}
					_, want := send(&pare.Policy{Rules: without(t, pipeline, name)})
					said.Reset()
					resp, got := send(&pare.Policy{Rules: pipeline})
					if resp.StatusCode != 200 || got != want || got == body {
						t.Errorf("%s %v\nsent %s\nwant %s", resp.Status, resp.Header, got, want)
					}
					if h := resp.Header.Get("Pare-Faults"); h != "rule "+name || resp.Header.Get("Pare-Skipped") != "" {
						t.Error(resp.Header)
					}
					if len(last.Faults) != 1 || last.Faults[0] != "rule "+name {
						t.Error(last.Faults)
					}
					if n := strings.Count(said.String(), "rule "+name+" failed, and is left out"); n != 1 {
						t.Errorf("said %d times: %s", n, said.String())
					}
				})
			}
		}
	}
}

// without is a pipeline without one of its rules.
func without(t testing.TB, p *pare.Pipeline, name string) *pare.Pipeline {
	t.Helper()
	var left []pare.Rule
	for _, r := range p.Rules() {
		if r.Name != name {
			left = append(left, r)
		}
	}
	p, err := pare.Compile(left...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTooLargeRequestIsRetriedWithoutFailedRule: a rule that fails keeps no request from being made to fit, nor
// from being healed.
func TestTooLargeRequestIsRetriedWithoutFailedRule(t *testing.T) {
	for name, pipeline := range faultyRules(t) {
		for _, limit := range []int{0, 6000} { // known, and told by the provider
			u := standIn(t, &paretest.Mock{MaxTokens: 6000})
			s := front(t, u, func(c *proxy.Config) {
				c.Policy = &pare.Policy{Rules: pipeline, Window: &pare.Window{ModelTokens: limit == 0, Tokens: limit}}
			})
			resp, answer := post(t, s.URL+"/v1/messages", string(many(60).Render(wire.Anthropic, histories.RenderOptions{})))
			if resp.StatusCode != 200 || resp.Header.Get("Pare-Faults") != "rule "+name {
				t.Errorf("%s, %d: %s %v %s", name, limit, resp.Status, resp.Header, answer)
			}
		}
	}
}

// TestFailedPartsOfAPolicyAreLeftOut: whatever of a policy fails, the repair is done, and it is named.
func TestFailedPartsOfAPolicyAreLeftOut(t *testing.T) {
	summarize := func(context.Context, pare.Removed) (pare.Summary, error) {
		return pare.Summary{}, errors.New("no words")
	}
	for part, p := range map[string]*pare.Policy{
		"sink":               {Sink: func(pare.Event) { panic("no drain") }},
		"stub":               panicking(),
		"counter":            {Counter: func(string) (wire.Counter, error) { panic("no vocabulary") }},
		"a part of planning": {Counter: func(string) (wire.Counter, error) { return nil, errors.New("no vocabulary") }, Compact: &pare.Compactor{Summarize: summarize}},
	} {
		u := newUpstream(t, nil)
		s := front(t, u, func(c *proxy.Config) { c.Policy = p })
		resp, _ := post(t, s.URL+"/v1/messages", errorReader)
		if r, err := pare.Parse(u.last(t).body); err != nil || len(r.Check(wire.CheckOptions{})) > 0 || resp.Header.Get("Pare-Faults") != part {
			t.Errorf("%s: %v", part, resp.Header)
		}
	}
}

// fullArchive is an archive that has no room, and panics if it is to.
type fullArchive struct{ panics bool }

func (a fullArchive) Put(context.Context, ...archive.Item) error {
	if a.panics {
		panic("no room")
	}
	return errors.New("no room")
}

// TestArchiveFails: what is too large is made to fit, by the rules, too, while the archive cannot be
// written, whichever other part fails.
func TestArchiveFails(t *testing.T) {
	rule := faultyRules(t)["vote-panics"]
	for _, c := range []struct {
		named string
		p     pare.Policy
	}{
		{"archive", pare.Policy{Archive: fullArchive{}}},
		{"archive", pare.Policy{Archive: fullArchive{panics: true}}},
		{"archive, rule vote-panics", pare.Policy{Archive: fullArchive{}, Rules: rule}},
		{"sink, archive", pare.Policy{Archive: fullArchive{}, Sink: func(pare.Event) { panic("no drain") }}},
	} {
		u := standIn(t, &paretest.Mock{MaxTokens: 6000})
		s := front(t, u, func(conf *proxy.Config) {
			c.p.Window = &pare.Window{Tokens: 6000}
			conf.Policy = &c.p
		})
		resp, answer := post(t, s.URL+"/v1/messages", string(many(60).Render(wire.Anthropic, histories.RenderOptions{})))
		if resp.StatusCode != 200 || resp.Header.Get("Pare-Faults") != c.named || resp.Header.Get("Pare-Skipped") != "" {
			t.Errorf("%s: %s %v %s", c.named, resp.Status, resp.Header, answer)
		}
	}
}

// TestPanickingCallbacksLoseNoRequest: no callback ends a request, let alone the program; the log
// names each once.
func TestPanickingCallbacksLoseNoRequest(t *testing.T) {
	var mu sync.Mutex
	var said bytes.Buffer
	u := newUpstream(t, nil)
	s := front(t, u, func(c *proxy.Config) {
		c.Record = func(*proxy.Record) { panic("no paper") }
		c.Begun = func(*proxy.Record) { panic("no paper") }
		c.Planned = func(string, *wire.Request, *pare.Plan) { panic("no paper") }
		c.Secret = func(*http.Request, string) (string, bool) { panic("no paper") }
		c.Conversations = proxy.NewConversations(proxy.ConversationsOptions{Store: badShelf{}})
		c.Log = slog.New(slog.NewTextHandler(lockedWriter{&mu, &said}, nil))
	})
	for range 2 {
		for _, body := range []string{clean, errorReader} {
			resp, answer := post(t, s.URL+"/v1/messages", body)
			if resp.StatusCode != 200 || answer != `{"ok":true}` {
				t.Errorf("%s %s", resp.Status, answer)
			}
		}
		now := time.Now().UTC()
		signed := "AWS4-HMAC-SHA256 Credential=AKID/" + now.Format("20060102") + "/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
		if resp, _ := post(t, s.URL+"/model/m/converse", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, "Authorization", signed, "X-Amz-Date", now.Format("20060102T150405Z")); resp.StatusCode != 200 {
			t.Error(resp.Status)
		}
		u.answer = func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
			if len(body) > 30_000 {
				w.WriteHeader(400)
				io.WriteString(w, `{"error":{"message":"prompt is too long"}}`)
				return
			}
			io.WriteString(w, `{"ok":true}`)
		}
	}
	if resp, _ := post(t, s.URL+"/v1/messages", long(60)); resp.StatusCode != 200 { // a lesson for the shelf
		t.Error(resp.Status)
	}
	s.Close()
	mu.Lock()
	for _, part := range []string{"Record", "Begun", "Planned", "Secret", "Store.Put"} {
		if n := strings.Count(said.String(), `"callback `+part+` failed, and is left out"`); n != 1 {
			t.Errorf("%s is named %d times: %s", part, n, said.String())
		}
	}
	mu.Unlock()
}

type badShelf struct{}

func (badShelf) Put(string, proxy.Learned) { panic("no shelf") }

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// TestPanickingTransportLosesNoRequest: a client that uses a transport, or the middleware, gets its
// reply, and the end of it, whatever a callback does.
func TestPanickingTransportLosesNoRequest(t *testing.T) {
	u := newUpstream(t, nil)
	tr := &proxy.Transport{
		PlanTime: -1, Record: func(*proxy.Record) { panic("no paper") }, Begun: func(*proxy.Record) { panic("no paper") },
		Planned: func(string, *wire.Request, *pare.Plan) { panic("no paper") },
	}
	for name, do := range map[string]func(*http.Request) (*http.Response, error){
		"transport":  (&http.Client{Transport: tr}).Do,
		"middleware": func(r *http.Request) (*http.Response, error) { return proxy.Middleware(tr)(r, http.DefaultClient.Do) },
	} {
		req, err := http.NewRequest("POST", u.URL+"/v1/messages", strings.NewReader(errorReader))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := do(req)
		if err != nil {
			t.Fatal(name, err)
		}
		if answer, err := io.ReadAll(resp.Body); err != nil || string(answer) != `{"ok":true}` {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
		resp.Body.Close()
		if resp.Header.Get("Pare-Faults") != "callback Begun" {
			t.Errorf("%s: %v", name, resp.Header)
		}
	}
}
