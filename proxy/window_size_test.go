package proxy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestLeastIsNotAboveTheTruth: over recorded sessions, what is said to be the least that a
// request can have is never more than it has in a public vocabulary. So no request is cut
// that fits. How many would be, were estimates taken as they are, is logged.
func TestLeastIsNotAboveTheTruth(t *testing.T) {
	trial.Long(t, "counts the corpus in every vocabulary")
	models := []string{"gpt-5", "gpt-4", "gemini-3-pro", "deepseek-chat"}
	seen, worst := 0, make(map[string]float64)
	for i, b := range corpus.Sessions(t) {
		r, err := wire.Parse(b.Raw, wire.Options{})
		if err != nil || i%3 > 0 && !trial.Soak() {
			continue
		}
		truth := r.Tokens(tokens.For("gpt-5").Reading(tokens.O200k()))
		if truth < 10_000 {
			continue
		}
		seen++
		for _, model := range models {
			e := tokens.For(model)
			n := tally.Of(r, e, false)
			if least := leastTokens(&n, e, r.Raw()); least > truth {
				t.Errorf("%s, %s: at least %d of %d", model, b.Name, least, truth)
			}
			worst[model] = max(worst[model], float64(n.Tokens)/float64(truth))
		}
	}
	t.Logf("%d requests; the highest estimates are so many times the truth: %v", seen, worst)
	if seen < 15 {
		t.Errorf("only %d requests", seen)
	}
}

// chat is a history for a model of OpenAI whose window has room for 128,000 tokens.
func chat(exchanges int) string {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4o","messages":[{"role":"user","content":"Begin."}`)
	for i := range exchanges {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"f%d\"}"}}]},{"role":"tool","tool_call_id":"call_%d","content":"%s"}`,
			i, i, i, strings.Repeat(fmt.Sprintf("const value%d: Record<string, number> = { alpha: 1, beta: 2 };\\n", i), 20))
	}
	b.WriteString(`]}`)
	return b.String()
}

// TestFitsAsSoonAsItIsOver: a history that is over the window by the model's own vocabulary
// is made to fit before anybody refuses it; one that is over by an estimate only is not.
func TestFitsAsSoonAsItIsOver(t *testing.T) {
	const window = 128_000
	size := func(n int) (estimate, exact int) {
		r, err := wire.Parse([]byte(chat(n)), wire.Options{Dialect: wire.OpenAIChat})
		if err != nil {
			t.Fatal(err)
		}
		e := tokens.For("gpt-4o")
		return r.Tokens(e), r.Tokens(e.Reading(tokens.O200k()))
	}
	_, each := size(1)
	if estimate, exact := size(window * 96 / 100 / each); estimate <= window || exact >= window {
		t.Fatalf("estimated %d, exact %d", estimate, exact)
	}
	var sent []byte
	tr := &Transport{PlanTime: -1, Base: base(func(r *http.Request, body []byte) *http.Response {
		sent = body
		return answer(200, `{}`)
	})}
	for _, tt := range []struct {
		name  string
		share int // of the window, in hundredths
		cut   bool
	}{{"over by an estimate only", 96, false}, {"over", 106, true}} {
		t.Run(tt.name, func(t *testing.T) {
			body := chat(window * tt.share / 100 / each)
			resp, err := tr.RoundTrip(httptest.NewRequest(http.MethodPost, "http://host/v1/chat/completions", strings.NewReader(body)))
			if err != nil || (string(sent) != body) != tt.cut || (resp.Header.Get("Pare-Saved-Tokens") != "") != tt.cut {
				t.Error(err, len(sent), len(body), resp.Header)
			}
			if r, err := wire.Parse(sent, wire.Options{Dialect: wire.OpenAIChat}); err != nil || r.Tokens(tokens.For("gpt-4o").Reading(tokens.O200k())) > window {
				t.Error(err, "it does not fit")
			}
		})
	}
}

// TestOnlyKnownWindowsCut: a request that is larger than the window of its model's family is sent
// as it came if the window of that very model is not known, also on a cold cache.
func TestOnlyKnownWindowsCut(t *testing.T) {
	rule, err := rules.Hazard{}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	hazard, err := pare.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]*pare.Policy{
		"default": nil,
		"cold":    {Window: &pare.Window{ModelTokens: true, LowPercent: 10, ColdRules: hazard}},
		"cache":   {Window: &pare.Window{ModelTokens: true, LowPercent: 10, ModelCache: true}},
	}
	words := `{"model":"MODEL","messages":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"`+strings.Repeat("Keep these words. ", 100)+`"},{"role":"assistant","content":"Yes."},`, 600), `,{"role":"assistant","content":"Yes."},`) + `]}`
	for model, cut := range map[string]bool{
		"gpt-4o": true, "openai/gpt-4o-2024-11-20": true,
		"gpt-4o-next": false, "kimi-k9": false, "kimi-k3": false, "deepseek-flash": false, "glm-5.9": false, "minimax-m4": false,
		"grok-4.8": false, "claude-sonnet-4-9": false, "our-own": false,
	} {
		for name, policy := range policies {
			body := strings.Replace(words, "MODEL", model, 1)
			var sent []byte
			tr := &Transport{PlanTime: -1, Policy: policy, Base: base(func(r *http.Request, body []byte) *http.Response {
				sent = body
				return answer(200, `{}`)
			})}
			if policy != nil {
				c := &clock{now: time.Unix(1_000_000, 0)}
				tr.Conversations = c.conversations()
			}
			_, err := tr.RoundTrip(httptest.NewRequest(http.MethodPost, "http://host/v1/chat/completions", strings.NewReader(body)))
			if err != nil || (string(sent) != body) != cut {
				t.Errorf("%s, policy %s: %v, %d of %d bytes", model, name, err, len(sent), len(body))
			}
		}
	}
}

// TestLongWindow: a model that has a longer window for those who ask is not cut to the
// shorter one.
func TestLongWindow(t *testing.T) {
	body := claude(1500)
	var sent []byte
	tr := &Transport{PlanTime: -1, Base: base(func(r *http.Request, body []byte) *http.Response {
		sent = body
		return answer(200, `{}`)
	})}
	for header, cut := range map[string]bool{"context-1m-2025-08-07": false, "prompt-caching-2024-07-31": true} {
		req := httptest.NewRequest(http.MethodPost, "http://host/v1/messages", strings.NewReader(body))
		req.Header.Set("Anthropic-Beta", "files-api-2025-04-14,"+header)
		if _, err := tr.RoundTrip(req); err != nil || (string(sent) != body) != cut {
			t.Errorf("%s: %v, %d of %d bytes", header, err, len(sent), len(body))
		}
	}
}

func TestForeign(t *testing.T) {
	for text, want := range map[string]bool{
		"plain text, all of it Latin": false, "a naïve guest of a café, which is but a little": false, "совсем другое письмо": true,
		`\u0441\u043e\u0432\u0441\u0435\u043c`: true, `caf\u00e9 and the rest of a line`: false,
	} {
		if isNonLatin([]byte(strings.Repeat(text, 10))) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
