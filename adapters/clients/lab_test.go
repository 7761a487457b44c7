package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A turn is a step of a conversation, whatever the API: "user", "say", "call" or "result".
type turn struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
	Text string `json:"text,omitempty"`
}

// The histories that every client sends.
var (
	normal = []turn{{"user", "", "look at a.go"}, {"say", "", "I look."}, {"call", "abcdefgh1", "a.go"}, {"result", "abcdefgh1", "package a // <é>"}, {"say", "", "It is empty."}, {"user", "", "thanks"}}
	// poisoned has lost the result of a call, as after a crash.
	poisoned = []turn{{"user", "", "look at a.go"}, {"call", "abcdefgh1", "a.go"}, {"user", "", "go on"}}
	// stray has lost the call of a result, as after a careless cut.
	stray = []turn{{"user", "", "look at a.go"}, {"say", "", "I did."}, {"result", "abcdefgh1", "package a"}, {"say", "", "It is empty."}, {"user", "", "go on"}}
)

// long is a history that does not fit a small window.
func long() []turn {
	all := []turn{{"user", "", "look at all parts"}}
	for i := range 30 {
		id := fmt.Sprintf("abcdef%03d", i)
		all = append(all, turn{"call", id, fmt.Sprintf("part%d.go", i)}, turn{"result", id, strings.Repeat(fmt.Sprintf("line of part %d; ", i), 50)})
	}
	return append(all, turn{"say", "", "Done."}, turn{"user", "", "and now?"})
}

// A client sends a history to the API at base and returns what the model says.
type client func(t *testing.T, base string, history []turn, stream bool) (string, error)

// A lab is a stand-in, once alone and once behind the proxy.
type lab struct {
	direct, through   string // where they listen
	alone, behind     *recording
	healed, unchanged func() int
}

// A recording is what a stand-in was sent.
type recording struct {
	mu sync.Mutex
	bytes.Buffer
}

func (r *recording) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Buffer.Write(p)
}

// take returns what was sent since the last time, requests about histories only.
func (r *recording) take(t *testing.T) []paretest.Recorded {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []paretest.Recorded
	for d := json.NewDecoder(&r.Buffer); d.More(); {
		var one paretest.Recorded
		if err := d.Decode(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	r.Reset()
	return all
}

// newLab starts the stand-ins and the proxy.
func newLab(t *testing.T, m *paretest.Mock, change ...func(*proxy.Config)) *lab {
	t.Helper()
	start := func() (*httptest.Server, *recording) {
		r := new(recording)
		s := httptest.NewUnstartedServer(&paretest.Mock{Strict: m.Strict, MaxTokens: m.MaxTokens, Reply: m.Reply, RequireKey: true, Record: r})
		s.Config.Protocols = bothProtocols()
		s.Start()
		t.Cleanup(s.Close)
		return s, r
	}
	l := &lab{}
	alone, ra := start()
	behind, rb := start()
	l.direct, l.alone, l.behind = alone.URL, ra, rb
	c := proxy.Config{Upstreams: map[string]proxy.Upstream{}}
	for _, name := range []string{"anthropic", "openai", "gemini", "bedrock"} {
		u, err := proxy.ParseUpstream(name + "=" + behind.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.Upstreams[name] = u
	}
	var mu sync.Mutex
	healed, unchanged := 0, 0
	c.Record = func(r *proxy.Record) {
		mu.Lock()
		defer mu.Unlock()
		if r.Healed != "" {
			healed++
		}
		if len(r.Changes) == 0 {
			unchanged++
		}
	}
	l.healed = func() int { mu.Lock(); defer mu.Unlock(); return healed }
	l.unchanged = func() int { mu.Lock(); defer mu.Unlock(); return unchanged }
	for _, f := range change {
		f(&c)
	}
	p := httptest.NewUnstartedServer(proxy.New(c))
	p.Config.Protocols = bothProtocols()
	p.Start()
	t.Cleanup(p.Close)
	l.through = p.URL
	return l
}

// volatile are headers that differ from one request to the next without a proxy, too, and
// Connection, which is about one connection only.
var volatile = []string{"Connection", "Amz-Sdk-Invocation-Id", "X-Amz-Date", "X-Client-Request-Id", "X-Claude-Code-Session-Id", "Traceparent", "Session_id", "Session-Id", "Thread-Id",
	"X-Codex-Window-Id", "X-Codex-Turn-Metadata", "X-Session-Affinity", "X-Session-Id", "X-Opencode-Session", "X-Opencode-Request", "Baggage", "Sentry-Trace"}

// sameRequests wants the same requests on both ways, byte for byte.
func sameRequests(t *testing.T, direct, through []paretest.Recorded) {
	t.Helper()
	if len(direct) != len(through) {
		t.Errorf("%d requests without the proxy, %d with it", len(direct), len(through))
		return
	}
	for i := range direct {
		a, b := direct[i], through[i]
		if a.Method != b.Method || a.Path != b.Path {
			t.Errorf("%s %s is %s %s behind the proxy", a.Method, a.Path, b.Method, b.Path)
		}
		if !bytes.Equal(a.Body, b.Body) {
			t.Errorf("%s: another body behind the proxy:\n%s\n%s", a.Path, a.Body, b.Body)
		}
		if ha, hb := headers(a), headers(b); !slices.Equal(ha, hb) {
			t.Errorf("%s: other headers behind the proxy:\n%q\n%q", a.Path, ha, hb)
		}
	}
}

// headers are those of a request as sorted lines, without what is volatile.
func headers(r paretest.Recorded) []string {
	var all []string
	for name, values := range r.Header {
		if !slices.Contains(volatile, name) {
			all = append(all, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(all)
	return all
}

// size is how many tokens the largest of the requests has.
func size(t *testing.T, all []paretest.Recorded) (most int) {
	t.Helper()
	for _, r := range all {
		d, model := wire.ParseURL(r.Path)
		if d == wire.Auto {
			continue
		}
		req, err := wire.Parse(r.Body, wire.Options{Dialect: d, Model: model})
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, req.Tokens(tokens.For(req.Model())))
	}
	if most == 0 {
		t.Fatal("nothing was sent")
	}
	return most
}

// try lets a client do what clients do, without the proxy and through it. Without it the
// poisoned history is refused in the words that are given.
func try(t *testing.T, c client, poisoned []turn, refused string) {
	for _, stream := range []bool{false, true} {
		t.Run(map[bool]string{false: "whole", true: "stream"}[stream], func(t *testing.T) {
			l := newLab(t, &paretest.Mock{})
			// Normal use: the same bytes, the same answer.
			said, err := c(t, l.direct, normal, stream)
			if err != nil || said == "" {
				t.Fatalf("without the proxy: %q, %v", said, err)
			}
			if got, err := c(t, l.through, normal, stream); err != nil || got != said {
				t.Fatalf("through the proxy: %q, %v, want %q", got, err, said)
			}
			sameRequests(t, l.alone.take(t), l.behind.take(t))

			// A poisoned history: refused, and through the proxy repaired and answered.
			if said, err := c(t, l.direct, poisoned, stream); err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("poisoned, without the proxy: %q, %v", said, err)
			}
			if said, err := c(t, l.through, poisoned, stream); err != nil || said == "" {
				t.Errorf("poisoned, through the proxy: %q, %v", said, err)
			}

			// A history that is too long: refused, and through the proxy healed.
			l.alone.take(t)
			if _, err := c(t, l.direct, long(), stream); err != nil {
				t.Fatal(err)
			}
			most := size(t, l.alone.take(t)) * 9 / 10
			l = newLab(t, &paretest.Mock{MaxTokens: most})
			if said, err := c(t, l.direct, long(), stream); err == nil {
				t.Errorf("too long, without the proxy: %q", said)
			}
			if said, err := c(t, l.through, long(), stream); err != nil || said == "" {
				t.Errorf("too long, through the proxy: %q, %v", said, err)
			}
			if l.healed() != 1 {
				t.Errorf("%d healed", l.healed())
			}
		})
	}
}
