package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
)

// A clock stands until it is set.
type clock struct{ now time.Time }

func (c *clock) conversations() *Conversations {
	return NewConversations(ConversationsOptions{Now: func() time.Time { return c.now }})
}

// TestColdMoments: with a policy that trims early when it pays, a request after a pause that
// is longer than the cache lives is trimmed; on a hot cache that waits. What was decided
// stays decided, at every later request and by every replica.
func TestColdMoments(t *testing.T) {
	rule, err := rules.Hazard{}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	hazard, err := pare.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]*pare.Window{
		"when it pays":          {Tokens: 30_000, LowPercent: 70, ModelCache: true},
		"what is hardly needed": {Tokens: 30_000, LowPercent: 70, ColdRules: hazard},
		"model's own window":    {ModelTokens: true, LowPercent: 70, ColdRules: hazard},
	} {
		t.Run(name, func(t *testing.T) { coldMoments(t, &pare.Policy{Window: w}) })
		if w.ColdRules != nil {
			t.Run(name+", unknown model", func(t *testing.T) { coldMoments(t, &pare.Policy{Window: w, Model: "somebodys-own"}) })
		}
	}
}

func coldMoments(t *testing.T, policy *pare.Policy) {
	p := &provider{refuses: func(string) string { return "" }}
	c := &clock{now: time.Unix(1_000_000, 0)}
	tr := &Transport{Base: p, PlanTime: -1, Policy: policy, Conversations: c.conversations()}
	at := func(pause time.Duration, exchanges int) string {
		t.Helper()
		c.now = c.now.Add(pause)
		got, _ := p.ask(t, tr, "/v1/messages", claude(exchanges))
		return got[0]
	}
	n := 30
	for ; n < 60; n++ {
		if at(time.Minute, n) != claude(n) {
			t.Fatalf("%d: trimmed on a hot cache", n)
		}
	}
	cold := at(6*time.Minute, n)
	if len(cold) >= len(claude(n)) {
		t.Fatal("not trimmed on a cold cache")
	}
	there := &Transport{Base: p, PlanTime: -1, Policy: policy, Conversations: c.conversations()}
	for key, e := range tr.Conversations.all.entries {
		there.Conversations.Observe(key, e.Value.(*lruEntry[conversation]).value.learned)
	}
	before := cold
	for n++; n < 70; n++ {
		got := at(time.Minute, n)
		if common(before, got) < len(before)-2 {
			t.Fatalf("%d: it does not go on from the request before", n)
		}
		if same, _ := p.ask(t, there, "/v1/messages", claude(n)); same[0] != got {
			t.Fatalf("%d: another replica sends something else", n)
		}
		before = got
	}
	// The clock of this process tells nothing where another one has sent requests in between.
	if got := at(time.Hour, n+5); common(before, got) < len(before)-2 {
		t.Error("trimmed although others may have kept the cache hot")
	}
}

// TestLongCache: marks say how long a cache lives.
func TestLongCache(t *testing.T) {
	policy := &pare.Policy{Window: &pare.Window{Tokens: 30_000, LowPercent: 70, ModelCache: true}}
	marked := func(n int) string {
		return strings.Replace(claude(n), `"content":"Begin."`, `"content":[{"type":"text","text":"Begin.","cache_control":{"type":"ephemeral","ttl":"1h"}}]`, 1)
	}
	for pause, cold := range map[time.Duration]bool{6 * time.Minute: false, 59 * time.Minute: false, 61 * time.Minute: true} {
		p := &provider{refuses: func(string) string { return "" }}
		c := &clock{now: time.Unix(1_000_000, 0)}
		tr := &Transport{Base: p, PlanTime: -1, Policy: policy, Conversations: c.conversations()}
		p.ask(t, tr, "/v1/messages", marked(59))
		c.now = c.now.Add(pause)
		if got, _ := p.ask(t, tr, "/v1/messages", marked(60)); (got[0] != marked(60)) != cold {
			t.Errorf("after %v: cold %v", pause, !cold)
		}
	}
}

// TestColdCutIsDeeper: what must be cut on a cold cache is cut deeper.
func TestColdCutIsDeeper(t *testing.T) {
	sent := make(map[time.Duration]int)
	for _, pause := range []time.Duration{time.Minute, 6 * time.Minute} {
		p := &provider{refuses: func(string) string { return "" }}
		c := &clock{now: time.Unix(1_000_000, 0)}
		tr := &Transport{Base: p, PlanTime: -1, Policy: &pare.Policy{Window: &pare.Window{Tokens: 30_000, LowPercent: 70}}, Conversations: c.conversations()}
		n := 70
		for len(p.got) == 0 || len(p.got[0]) == len(claude(n-1)) { // the last one that fits
			c.now = c.now.Add(time.Minute)
			p.ask(t, tr, "/v1/messages", claude(n))
			n++
		}
		p.got = nil
		fresh := &Transport{Base: p, PlanTime: -1, Policy: tr.Policy, Conversations: c.conversations()}
		p.ask(t, fresh, "/v1/messages", claude(n-2))
		c.now = c.now.Add(pause)
		got, _ := p.ask(t, fresh, "/v1/messages", claude(n-1))
		sent[pause] = counts(got[0])
	}
	if sent[6*time.Minute] >= sent[time.Minute] {
		t.Errorf("%v tokens", sent)
	}
	t.Log(sent)
}

// TestUsageTeaches: what a provider has counted of the request before tells when the next
// one is over the window: it is not refused even once, and no request is cut that fits.
func TestUsageTeaches(t *testing.T) {
	const window = 200_000
	refused, cut := 0, 0
	tr := &Transport{PlanTime: -1, Conversations: NewConversations(ConversationsOptions{}), Base: base(func(r *http.Request, body []byte) *http.Response {
		n := counts(string(body)) * 12 / 10 // above what is sure by the estimate alone, below the estimate
		if n > window {
			refused++
			return answer(400, fmt.Sprintf(`{"error":{"message":"prompt is too long: %d tokens > %d maximum"}}`, n, window))
		}
		return answer(200, fmt.Sprintf(`{"usage":{"input_tokens":%d,"output_tokens":5}}`, n))
	})}
	each := counts(claude(11)) - counts(claude(10))
	last := window * 10 / 12 / each // the last one that fits, about
	for n := last - 8; n < last+8; n++ {
		resp, err := tr.RoundTrip(request(claude(n)))
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(err, resp)
		}
		drain(t, resp)
		whole := counts(claude(n)) * 12 / 10
		if resp.Header.Get("Pare-Saved-Tokens") != "" {
			cut++
			if whole <= window {
				t.Errorf("%d: cut, and it has %d tokens", n, whole)
			}
		}
	}
	if refused > 0 || cut == 0 {
		t.Errorf("%d refused, %d cut", refused, cut)
	}
}

// TestWindowIsLargerThanKnown: a provider that has taken more than the window that is known
// is left to say itself when it is too much.
func TestWindowIsLargerThanKnown(t *testing.T) {
	var sent string
	tr := &Transport{PlanTime: -1, Conversations: NewConversations(ConversationsOptions{}), Base: base(func(r *http.Request, body []byte) *http.Response {
		sent = string(body)
		return answer(200, `{"usage":{"input_tokens":250000,"output_tokens":5}}`)
	})}
	n := 560 // above the window by our estimate, and not surely so
	for ; n < 960; n += 100 {
		resp, err := tr.RoundTrip(request(claude(n)))
		if err != nil {
			t.Fatal(err)
		}
		drain(t, resp)
		if sent != claude(n) {
			t.Fatalf("%d: cut", n)
		}
	}
}
