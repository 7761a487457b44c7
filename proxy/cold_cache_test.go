package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/rules"
)

// A cachedTalk is a conversation with a provider that says what it has read from its cache.
type cachedTalk struct {
	t    *testing.T
	c    *clock
	tr   *Transport
	said string // the usage of the next reply
	got  string // the last body that arrived
}

func newCachedTalk(t *testing.T) *cachedTalk {
	t.Helper()
	rule, err := rules.Hazard{}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	hazard, err := pare.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	k := &cachedTalk{t: t, c: &clock{now: time.Unix(1_000_000, 0)}, said: billed(20_000, 1_000)}
	k.tr = &Transport{
		PlanTime: -1, Conversations: k.c.conversations(),
		Policy: &pare.Policy{Window: &pare.Window{ModelTokens: true, LowPercent: 70, ColdRules: hazard}},
		Base: base(func(r *http.Request, body []byte) *http.Response {
			k.got = string(body)
			return answer(200, `{"usage":`+k.said+`}`)
		}),
	}
	return k
}

// billed is the usage of a reply.
func billed(read, written int) string {
	return fmt.Sprintf(`{"input_tokens":5000,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":1}`, read, written)
}

// send sends a request after a pause and reports whether it arrived as it was.
func (k *cachedTalk) send(pause time.Duration, body string) (untouched bool) {
	k.t.Helper()
	k.c.now = k.c.now.Add(pause)
	resp, err := k.tr.RoundTrip(request(body))
	if err != nil {
		k.t.Fatal(err)
	}
	drain(k.t, resp)
	return k.got == body
}

// with is a conversation of so many exchanges with a system prompt of its own.
func with(system string, n int) string {
	return strings.Replace(claude(n), `"messages":`, fmt.Sprintf(`"system":%q,"messages":`, system), 1)
}

// TestClientMadeCold: a client that changes what its requests begin with has made the cache cold itself,
// and what will hardly be needed goes; where it changes that at each request it means nothing.
func TestClientMadeCold(t *testing.T) {
	said := func(i int) string { return strings.Repeat(fmt.Sprintf("line %d of the file. ", i), 40) }
	from60 := func(change func(n int, body string) string) func(int) string {
		return func(n int) string {
			if n < 60 {
				return claude(n)
			}
			return change(n, claude(n))
		}
	}
	tools := `"tools":[{"name":"late","input_schema":{"type":"object"}}],"messages":`
	for name, c := range map[string]struct {
		body func(n int) string
		cold bool
	}{
		"nothing changes":     {claude, false},
		"another prompt":      {from60(func(n int, _ string) string { return with("b", n) }), true},
		"a prompt for each":   {func(n int) string { return with(fmt.Sprint("at ", n), n) }, false},
		"tools are added":     {from60(func(_ int, b string) string { return strings.Replace(b, `"messages":`, tools, 1) }), true},
		"an old one cleared":  {from60(func(_ int, b string) string { return strings.Replace(b, said(2), "cleared", 1) }), true},
		"a later one cleared": {from60(func(_ int, b string) string { return strings.Replace(b, said(50), "cleared", 1) }), false},
		"the newest marked": {func(n int) string {
			newest := fmt.Sprintf(`"tool_use_id":"toolu_%d"`, n-1)
			return strings.Replace(claude(n), newest, newest+`,"cache_control":{"type":"ephemeral"}`, 1)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCachedTalk(t)
			for n := 40; n < 60; n++ {
				if !k.send(time.Minute, c.body(n)) {
					t.Fatalf("%d: changed while the cache was warm", n)
				}
			}
			cold := !k.send(time.Minute, c.body(60))
			if cold != c.cold {
				t.Fatalf("cold %v, want %v", cold, c.cold)
			}
			before := k.got
			for n := 61; n < 66; n++ {
				k.send(time.Minute, c.body(n))
				if cold && common(before, k.got) < len(before)-2 {
					t.Fatalf("%d: it does not go on from the request before", n)
				}
				before = k.got
			}
		})
	}
}

// TestNothingKept: where the provider's replies say that it keeps nothing every request is free.
func TestNothingKept(t *testing.T) {
	k := newCachedTalk(t)
	k.said = billed(0, 0)
	cut := 0
	for n := 40; n < 60; n++ {
		if !k.send(time.Minute, claude(n)) {
			cut++
		}
	}
	if cut < 10 {
		t.Errorf("%d of 20 requests were cut", cut)
	}
	k = newCachedTalk(t)
	k.said = billed(0, 30_000) // written: it is kept from now on
	for n := 40; n < 60; n++ {
		if !k.send(time.Minute, claude(n)) {
			t.Fatalf("%d: cut although the cache was just written", n)
		}
	}
}

// TestDoubt: a cache that was warm after all, as the reply says, is not taken to be cold again.
func TestDoubt(t *testing.T) {
	for said, cold := range map[string]bool{billed(25_500, 500): false, billed(2_000, 24_000): true} {
		k := newCachedTalk(t)
		k.send(time.Minute, claude(3))
		k.said = said
		k.send(10*time.Minute, claude(4)) // nothing to cut yet
		k.said = billed(26_000, 500)
		for n := 5; n < 60; n++ {
			k.send(time.Minute, claude(n))
		}
		if got := !k.send(10*time.Minute, claude(60)); got != cold {
			t.Errorf("the reply said %s: cold %v", said, got)
		}
	}
}

// TestColdMomentIsVoid: when a client has dropped half of its history, what was cold before is another
// request now, and nothing warm is written again for it.
func TestColdMomentIsVoid(t *testing.T) {
	k := newCachedTalk(t)
	for n := 40; n < 50; n++ {
		k.send(time.Minute, claude(n))
	}
	if k.send(10*time.Minute, claude(50)) {
		t.Fatal("not cut on a cold cache")
	}
	k.send(time.Minute, claude(51))
	shortened := func(n int) string { return dropped(claude(n), 3, 71) }
	before := ""
	for n := 52; n < 100; n++ {
		k.send(time.Minute, shortened(n))
		if before != "" && common(before, k.got) < len(before)-2 {
			t.Fatalf("%d: a warm cache is written again", n)
		}
		before = k.got
	}
}

// dropped is a body without some of its messages.
func dropped(body string, from, to int) string {
	all := jsonedit.Elements([]byte(body), "messages")
	return body[:strings.Index(body, string(all[from]))] + body[strings.Index(body, string(all[to])):]
}
