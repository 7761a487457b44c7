package proxy

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A provider refuses some requests and remembers all of them.
type provider struct {
	refuses func(body string) string // what it says; "": it accepts
	got     []string
	header  []http.Header
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	return base(func(r *http.Request, body []byte) *http.Response {
		p.got, p.header = append(p.got, string(body)), append(p.header, r.Header)
		if said := p.refuses(string(body)); said != "" {
			return answer(400, fmt.Sprintf(`{"error":{"message":%q}}`, said))
		}
		return answer(200, `{}`)
	}).RoundTrip(r)
}

// ask sends a body and returns what the provider was sent for it, and the reply.
func (p *provider) ask(t *testing.T, tr *Transport, path, body string, header ...string) ([]string, *http.Response) {
	t.Helper()
	p.got, p.header = nil, nil
	req := httptest.NewRequest(http.MethodPost, addressOf(path), strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return p.got, resp
}

// counts is how many tokens a provider makes of a body: fewer than we estimate.
func counts(body string) int {
	r, err := wire.Parse([]byte(body), wire.Options{Dialect: wire.Anthropic})
	if err != nil {
		return 0
	}
	return r.Tokens(tokens.For("").Reading(tokens.O200k()))
}

// tooLong refuses bodies of more than so many tokens.
func tooLong(most int) func(string) string {
	return func(body string) string {
		if n := counts(body); n > most {
			return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, most)
		}
		return ""
	}
}

// common is how many bytes two requests begin with.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// TestOverflowIsRemembered: a conversation that has passed what its provider takes is
// refused once. Later requests fit from the start, go on from each other, and are the same
// from every replica.
func TestOverflowIsRemembered(t *testing.T) {
	p := &provider{refuses: tooLong(counts(claude(100)))}
	here := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
	if got, _ := p.ask(t, here, "/v1/messages", claude(90)); len(got) != 1 || got[0] != claude(90) {
		t.Fatalf("%d attempts for what fits", len(got))
	}
	if got, resp := p.ask(t, here, "/v1/messages", claude(105)); len(got) != 2 || resp.StatusCode != 200 || resp.Header.Get("Pare-Healed") != refusal.Overflow {
		t.Fatalf("%d attempts, %v", len(got), resp.Header)
	}
	there := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
	for key, e := range here.Conversations.all.entries {
		there.Conversations.Observe(key, e.Value.(*lruEntry[conversation]).value.learned)
	}
	before := ""
	for n := 106; n < 130; n++ {
		got, resp := p.ask(t, here, "/v1/messages", claude(n))
		if len(got) != 1 || resp.StatusCode != 200 || len(got[0]) >= len(claude(n)) {
			t.Fatalf("%d: %d attempts, %v", n, len(got), resp.Header)
		}
		if same, _ := p.ask(t, there, "/v1/messages", claude(n)); len(same) != 1 || same[0] != got[0] {
			t.Fatalf("%d: another replica sends something else", n)
		}
		if before != "" && n < 120 && common(before, got[0]) < len(before)-2 {
			t.Errorf("%d: only %d of %d bytes are those of the request before", n, common(before, got[0]), len(before))
		}
		before = got[0]
	}
	if got, _ := p.ask(t, here, "/v1/messages", claude(80)); len(got) != 1 || got[0] != claude(80) {
		t.Error("a request of the same conversation that fits was changed")
	}
}

// thinker is a conversation with thinking in its turns.
func thinker(signature string, turns int, more ...string) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":3000,"messages":[{"role":"user","content":"hi"}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"%s%d="},{"type":"text","text":"ok %d"}]},{"role":"user","content":"go on"}`, signature, i, i)
	}
	for i, s := range more {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"%s"},{"type":"text","text":"more %d"}]},{"role":"user","content":"go on"}`, s, i)
	}
	return b.String() + `]}`
}

// TestPoisonIsRemembered: a history with thinking of another account is refused once. What
// the provider thinks later stays.
func TestPoisonIsRemembered(t *testing.T) {
	p := &provider{refuses: func(body string) string {
		if strings.Contains(body, "Bad") {
			return "messages.1.content.0: Invalid `signature` in `thinking` block"
		}
		return ""
	}}
	tr := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
	if got, resp := p.ask(t, tr, "/v1/messages", thinker("Bad", 3)); len(got) != 2 || resp.Header.Get("Pare-Healed") != "thinking-signature-missing" {
		t.Fatal(len(got), resp.Header)
	}
	got, resp := p.ask(t, tr, "/v1/messages", thinker("Bad", 3, "Good1=", "Good2="))
	if len(got) != 1 || resp.StatusCode != 200 || !strings.Contains(got[0], "Good1=") || !strings.Contains(got[0], "Good2=") || resp.Header.Get("Pare-Receipt") == "" {
		t.Error(len(got), resp.Header, got)
	}
	// Nothing is known of others, nor by those of another scope.
	if got, _ := p.ask(t, tr, "/v1/messages", strings.Replace(thinker("Good", 3), `"hi"`, `"hello"`, 1)); len(got) != 1 || !strings.Contains(got[0], "Good2=") {
		t.Error(len(got), got)
	}
	req := httptest.NewRequest(http.MethodPost, "http://host/v1/messages", strings.NewReader(thinker("Bad", 3)))
	p.got = nil
	if _, err := tr.RoundTrip(req.WithContext(WithScope(req.Context(), "another"))); err != nil || len(p.got) != 2 {
		t.Error(err, len(p.got))
	}
}

// TestLessonsChangeNothingClean: what was learned for a rule leaves a request alone in which
// the rule finds nothing.
func TestLessonsChangeNothingClean(t *testing.T) {
	p := &provider{refuses: func(string) string { return "" }}
	tr := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
	body := claude(5)
	o := planBody(t.Context(), []byte(body), planInput{policy: Default(), conversations: tr.Conversations, upstream: "host"})
	for _, l := range []Learned{{Rules: []string{"orphan-call"}}, {Rules: []string{"thinking-altered"}, Thinking: 3}, {Rules: []string{refusal.Overflow}, Limit: 100_000}, {Rules: []string{refusal.Overflow}, Messages: 1000}} {
		tr.Conversations.learn(o.conversationKey, l)
		if got, _ := p.ask(t, tr, "/v1/messages", body); len(got) != 1 || got[0] != body {
			t.Errorf("%+v: changed", l)
		}
	}
	if o.conversationKey == "" || tr.Conversations.size() != 1 {
		t.Error(o.conversationKey, tr.Conversations.size())
	}
}

// TestKeys: a conversation is known again by its beginning, wherever its cache marks are.
func TestKeys(t *testing.T) {
	key := func(body string) string {
		return planBody(t.Context(), []byte(body), planInput{policy: Default(), conversations: NewConversations(ConversationsOptions{}), upstream: "u"}).conversationKey
	}
	first := key(claude(3))
	marked := strings.Replace(claude(3), `"name":"read"`, `"name":"read","cache_control":{"type":"ephemeral"}`, 1)
	switch {
	case first == "" || key(claude(4)) != first || key(marked) != first:
		t.Error("it is not known again")
	case key(strings.Replace(claude(3), "toolu_0", "toolu_x", 2)) == first, key(strings.Replace(claude(3), "Begin.", "Start.", 1)) == first, key(strings.Replace(claude(3), "sonnet", "opus", 1)) == first:
		t.Error("another one is taken for it")
	case key(claude(0)) != "":
		t.Error("it has not begun")
	}
}

func TestConversationsForget(t *testing.T) {
	now := time.Unix(0, 0)
	c := NewConversations(ConversationsOptions{Most: 100, Life: time.Hour, Now: func() time.Time { return now }})
	for i := range 1000 {
		c.learn(fmt.Sprint(i), Learned{Limit: i + 1})
		c.learned("0") // used, so it stays
	}
	if c.size() != 100 || c.learned("0").Limit != 1 || c.learned("500").Limit != 0 || c.learned("999").Limit != 1000 {
		t.Error(c.size(), c.learned("0"), c.learned("500"), c.learned("999"))
	}
	now = now.Add(61 * time.Minute)
	if c.learned("0").Limit != 0 {
		t.Error("it is not forgotten")
	}
}

// A shelved notes what is put on a shelf.
type shelved map[string]int

func (s shelved) Put(key string, _ Learned) { s[key]++ }

func TestShelfHearsNews(t *testing.T) {
	now, s := time.Unix(0, 0), shelved{}
	c := NewConversations(ConversationsOptions{Life: 4 * time.Hour, Now: func() time.Time { return now }, Store: s})
	c.learn("a", Learned{Limit: 10})
	c.learn("a", Learned{Limit: 10})
	c.Observe("b", Learned{Limit: 10})
	if s["a"] != 1 || s["b"] != 0 {
		t.Error(s)
	}
	now = now.Add(2 * time.Hour) // half of its life is over
	c.learned("a")
	c.learned("a")
	if s["a"] != 2 {
		t.Error("what is used is not put on the shelf again", s)
	}
}

// TestJoin: lessons can be joined in any order, and again.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() (l Learned) {
		for _, r := range []string{"a", "b", refusal.Overflow} {
			if rng.IntN(2) == 0 {
				l.Rules = append(l.Rules, r)
			}
		}
		l.Limit, l.Messages, l.Thinking = rng.IntN(3)*rng.IntN(100), rng.IntN(3)*rng.IntN(100), rng.IntN(100)
		l.Profile = []string{"", "openai", "mistral"}[rng.IntN(3)]
		return l
	}
	for range 1000 {
		a, b, c := random(), random(), random()
		if x, y := a.join(b).join(c), c.join(b).join(a).join(b); !x.equal(y) {
			t.Fatalf("%+v, %+v", x, y)
		}
		if x := a.join(a); !x.equal(a) && len(a.Rules) > 0 {
			t.Fatalf("%+v, %+v", x, a)
		}
	}
}
