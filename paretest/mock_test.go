package paretest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

// A zooCase is an incident of the zoo.
type zooCase struct{ corpus.Incident }

func (z *zooCase) body() string { return string(z.Body()) }

func (z *zooCase) path(t testing.TB) string { return pathOf(t, z.Dialect, z.body()) }

func zoo(t testing.TB) (all []zooCase) {
	t.Helper()
	for _, z := range corpus.Zoo(t) {
		all = append(all, zooCase{z})
	}
	return all
}

// pathOf is where a client sends a body of that dialect.
func pathOf(t testing.TB, dialect, body string) string {
	t.Helper()
	var named struct{ Model, ModelID string }
	json.Unmarshal([]byte(body), &named)
	switch dialect {
	case "anthropic":
		return "/v1/messages"
	case "openai-chat":
		return "/v1/chat/completions"
	case "openai-responses":
		return "/v1/responses"
	case "gemini":
		return "/v1beta/models/" + named.Model + ":generateContent"
	case "gemini-interactions":
		return "/v1beta/interactions"
	case "bedrock":
		if named.ModelID == "" {
			named.ModelID = named.Model
		}
		return "/model/" + named.ModelID + "/converse"
	}
	t.Fatalf("no path for %s", dialect)
	return ""
}

func post(m *paretest.Mock, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w
}

// sentence finds what an error says, in whichever shape.
func sentence(t testing.TB, body string) string {
	t.Helper()
	var shape struct {
		Message string
		Error   json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &shape); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if shape.Message != "" {
		return shape.Message
	}
	var inner struct{ Message string }
	if json.Unmarshal(shape.Error, &inner) == nil {
		return inner.Message
	}
	var plain string
	json.Unmarshal(shape.Error, &plain)
	return plain
}

// TestMockZoo: what was refused is refused, in the words of the rule, and what is valid
// is answered.
func TestMockZoo(t *testing.T) {
	refused, accepted := 0, 0
	for _, z := range zoo(t) {
		t.Run(z.ID, func(t *testing.T) {
			w := post(&paretest.Mock{}, z.path(t), z.body())
			if len(z.Expect.Violations) == 0 || !z.Expect.Static || z.Status == "legacy" {
				if w.Code != 200 {
					t.Errorf("status %d: %s", w.Code, w.Body)
				}
				accepted++
				if z.Status == "legacy" && z.Expect.Static {
					if w := post(&paretest.Mock{Strict: true}, z.path(t), z.body()); w.Code != 400 {
						t.Errorf("strict: status %d, want 400", w.Code)
					}
				}
				return
			}
			refused++
			if w.Code != 400 {
				t.Fatalf("status %d, want 400: %s", w.Code, w.Body)
			}
			says := sentence(t, w.Body.String())
			if says == "" {
				t.Fatalf("no sentence in %s", w.Body)
			}
			slugs := slugsOf(says)
			if !slices.ContainsFunc(z.Expect.Violations, func(v struct{ Rule, Path string }) bool { return slugs[v.Rule] }) {
				t.Errorf("%q belongs to %v, want one of %v", says, slugs, z.Expect.Violations)
			}
		})
	}
	if refused < 130 || accepted < 4 {
		t.Errorf("%d refused, %d accepted: the zoo is not whole", refused, accepted)
	}
}

// slugsOf returns the slugs of the rules whose sentence this is.
func slugsOf(says string) map[string]bool {
	found := make(map[string]bool)
	for i, r := range wire.Rules() {
		if patterns()[i].MatchString(says) {
			found[r.Slug] = true
		}
	}
	return found
}

// patterns are those of all rules, in their order.
var patterns = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, r := range wire.Rules() {
		all = append(all, pattern(r))
	}
	return all
})

// pattern is the sentence of a rule with anything in its blanks.
func pattern(r wire.Rule) *regexp.Regexp {
	says := r.Says
	if says == "" {
		says = "{path}: " + r.Doc
	}
	p := regexp.QuoteMeta(says)
	for _, blank := range []string{"ids", "path", "i", "arg"} {
		p = strings.ReplaceAll(p, `\{`+blank+`\}`, ".*")
	}
	return regexp.MustCompile("(?s)^(1 validation error detected: )?" + p + "$")
}

// recorded are the sentences by which refusals are told from each other, and a rule that
// each belongs to.
var recorded = []struct{ says, rule string }{
	{"tool_use.{0,3} ids were found without .{0,3}tool_result", "anthropic/tool-use-without-result"},
	{"unexpected .{0,3}tool_use_id.{0,3} found in .{0,3}tool_result", "anthropic/tool-result-without-use"},
	{`unexpected .{0,3}tool_use_id.{0,3} found in .{0,3}\w+_tool_result`, "anthropic/server-result-without-use"},
	{`was found without a corresponding .{0,3}\w+_tool_result`, "anthropic/server-use-without-result"},
	{"tool_use.{0,3} ids must be unique", "anthropic/duplicate-tool-use-id"},
	{"must have a single result", "anthropic/duplicate-tool-result"},
	{"must start with a thinking block|Expected .{0,3}thinking", "anthropic/thinking-first"},
	{"text content blocks must be non-empty", "anthropic/empty-text"},
	{"text content blocks must contain non-whitespace", "anthropic/whitespace-text"},
	{"does not support assistant message prefill", "anthropic/prefill-unsupported"},
	{"maximum of 4 blocks with cache_control", "anthropic/cache-control-max"},
	{"must be followed by tool messages", "openai-chat/unanswered-call"},
	{`role ['"]tool['"] must be a response to a prece+ding message`, "openai-chat/tool-without-call"},
	{"Duplicate value for 'tool_call_id'", "openai-chat/duplicate-result"},
	{`tool_calls\[\d*\]\.id': string too long`, "openai-chat/id-length"},
	{`No tool output found for [\w ]*call`, "openai-responses/call-without-output"},
	{`No tool call found for [\w ]*output`, "openai-responses/output-without-call"},
	{"without its required following item", "openai-responses/reasoning-without-follower"},
	{"function call turn comes immediately after", "gemini/call-turn-position"},
	{"function response turn comes immediately after", "gemini/response-turn-position"},
	{"number of function response parts", "gemini/response-count"},
	{"missing a .?thought_signature", "gemini/thought-signature-missing"},
	{"toolConfig field must be defined", "bedrock/toolconfig-missing"},
	{"Expected toolResult blocks", "bedrock/missing-result"},
	{"exceeds the number of toolUse", "bedrock/excess-result"},
	{"contain duplicate Ids", "bedrock/duplicate-use"},
	{"Not the same number of function calls and responses", "mistral/call-count"},
	{`Unexpected role '\w+' after role '\w+'`, "mistral/tool-after-user"},
	{"must be passed back to the API", "deepseek/reasoning-content-required"},
	{"reasoning_content is missing", "moonshot/reasoning-content-required"},
	{`\(2013\)`, "minimax/result-not-after-call"},
}

// plainModels are models by whose names nothing but the vendor is known.
var plainModels = map[string]string{
	"anthropic": "claude", "openai-chat": "gpt-5.5", "openai-responses": "gpt-5.5", "gemini": "gemini", "bedrock": "anthropic.claude", "mistral": "mistral-large-latest",
	"deepseek": "deepseek-v4-pro", "template": "gemma", "minimax": "minimax-m2", "moonshot": "kimi-k2.6", "groq": "groq/llama-3.3-70b", "xai": "grok-4", "qwen": "qwen3-max",
}

// requestOf makes the request of a fixture: the path and the body.
func requestOf(t testing.TB, f corpus.Fixture, raw json.RawMessage) (path, body string) {
	t.Helper()
	vendor, _, _ := strings.Cut(f.Rule, "/")
	dialect := vendor
	if _, err := wire.ParseDialect(vendor); err != nil {
		dialect = "openai-chat"
		if strings.Contains(f.Rule, "responses") {
			dialect = "openai-responses"
		}
	}
	d, err := wire.ParseDialect(dialect)
	if err != nil {
		t.Fatal(err)
	}
	body = string(raw)
	if body[0] == '[' {
		body = fmt.Sprintf(`{%q:%s}`, d.List(), body)
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &named); err != nil {
		t.Fatal(err)
	}
	if named["model"] == nil && named["modelId"] == nil {
		body = fmt.Sprintf(`{"model":%q,`, plainModels[vendor]) + body[1:]
	}
	if dialect == "anthropic" && named["max_tokens"] == nil { // nor how long the reply may be
		body = `{"max_tokens":1024,` + body[1:]
	}
	return pathOf(t, dialect, body), body
}

// TestMockRecorded: each recorded sentence is what the history gets that provokes it.
func TestMockRecorded(t *testing.T) {
	all := corpus.Fixtures(t)
	for _, c := range recorded {
		t.Run(strings.ReplaceAll(c.rule, "/", "-"), func(t *testing.T) {
			says := regexp.MustCompile("(?i)" + c.says)
			provoked := false
			for _, f := range all {
				if f.Rule != c.rule || f.Bad == nil {
					continue
				}
				path, body := requestOf(t, f, f.Bad)
				for _, strict := range []bool{false, true} {
					w := post(&paretest.Mock{Strict: strict}, path, body)
					provoked = provoked || w.Code == 400 && says.MatchString(sentence(t, w.Body.String()))
				}
			}
			if !provoked {
				t.Errorf("no fixture of %s gets %q", c.rule, c.says)
			}
		})
	}
}

// TestMockFixtures: what is legal is answered, and what is not is refused.
func TestMockFixtures(t *testing.T) {
	undecidable := []string{
		"anthropic/thinking-prefix-binding", "anthropic/thinking-gap", "anthropic/fallback-turn-echo",
		"openai-responses/item-without-reasoning", "openai-responses/encrypted-content", "gemini/thought-signature-corrupt",
	}
	for i, f := range corpus.Fixtures(t) {
		t.Run(fmt.Sprintf("%d-%s", i, strings.ReplaceAll(f.Rule, "/", "-")), func(t *testing.T) {
			for _, legal := range []json.RawMessage{f.Good, f.Accept} {
				if legal == nil {
					continue
				}
				path, body := requestOf(t, f, legal)
				if w := post(&paretest.Mock{}, path, body); w.Code != 200 {
					t.Errorf("legal: status %d: %s for %s", w.Code, w.Body, body)
				}
			}
			if f.Bad == nil || slices.Contains(undecidable, f.Rule) {
				return
			}
			path, body := requestOf(t, f, f.Bad)
			if w := post(&paretest.Mock{Strict: true}, path, body); w.Code != 400 {
				t.Errorf("bad: status %d: %s for %s", w.Code, w.Body, body)
			}
		})
	}
}
