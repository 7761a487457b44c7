package dialect_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/histories"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/trial"
)

// eachHistory runs f on random scripts, n of them in make test.
func eachHistory(t *testing.T, n int, o histories.GenOptions, f func(r *rand.Rand, s histories.Script)) {
	t.Helper()
	for seed := range trial.Histories(n) {
		f(rand.New(rand.NewPCG(uint64(seed), 1)), histories.Random(uint64(seed), o))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// one returns a dialect and all ways to render in it, chosen by r.
func one(r *rand.Rand) (dialect.Dialect, histories.RenderOptions) {
	all := dialect.Dialects()
	return all[r.IntN(len(all))], histories.RenderOptions{NoIDs: r.IntN(4) == 0}
}

func TestCleanHistories(t *testing.T) {
	t.Parallel()
	check := func(r *rand.Rand, s histories.Script) {
		histories.CheckClean(t, s)
		histories.CheckDialects(t, s)
		d, _ := one(r)
		histories.CheckAppending(t, s, d)
	}
	eachHistory(t, 600, histories.GenOptions{Turns: 2, Steps: 2}, check)
	eachHistory(t, 20, histories.GenOptions{}, check)
}

func TestBrokenHistories(t *testing.T) {
	t.Parallel()
	eachHistory(t, 800, histories.GenOptions{Turns: 2, Steps: 2}, func(r *rand.Rand, s histories.Script) {
		d, o := one(r)
		broken, did := histories.Break(r, s)
		body := broken.Render(d, o)
		if got, err := dialect.Detect(body); got.Dialect != d {
			t.Errorf("%s is detected as %s, %v", d, got.Dialect, err)
		}
		histories.CheckReading(t, body, dialect.Options{})
		histories.CheckSpelling(t, body, dialect.Options{Dialect: d})
		histories.CheckModes(t, body, dialect.Options{Dialect: d})
		histories.CheckBare(t, body, dialect.Options{Dialect: d})
		histories.CheckRenaming(t, broken, d)
		if t.Failed() {
			t.Logf("%q", did)
		}
	})
}

func TestCorruptBodies(t *testing.T) {
	t.Parallel()
	eachHistory(t, 1000, histories.GenOptions{Turns: 1, Steps: 2}, func(r *rand.Rand, s histories.Script) {
		d, o := one(r)
		body := s.Render(d, o)
		for range 3 {
			var did string
			body, did = histories.Corrupt(r, body)
			histories.CheckReading(t, body, dialect.Options{})
			histories.CheckReading(t, body, dialect.Options{Dialect: d})
			histories.CheckReading(t, body, dialect.Options{Dialect: d, Structural: true})
			histories.CheckModes(t, body, dialect.Options{Dialect: d})
			histories.CheckRepeatedKeys(t, body, dialect.Options{Dialect: d})
			if t.Failed() {
				t.Fatalf("%s: %s", d, did)
			}
		}
	})
}

// TestWrongDialect: a body read as another dialect is nonsense, but sound.
func TestWrongDialect(t *testing.T) {
	t.Parallel()
	eachHistory(t, 300, histories.GenOptions{Turns: 1, Steps: 2}, func(r *rand.Rand, s histories.Script) {
		d, o := one(r)
		o.Bare = true
		body := s.Render(d, o)
		for _, as := range dialect.Dialects() {
			histories.CheckReading(t, body, dialect.Options{Dialect: as})
		}
	})
}

// TestRelationsOnZoo: what holds for made-up histories holds for real incidents,
// and for those damaged once more.
func TestRelationsOnZoo(t *testing.T) {
	for i, z := range corpus.Zoo(t) {
		t.Run(z.ID, func(t *testing.T) { allRelations(t, uint64(i), z.Body()) })
	}
}

// TestRelationsOnFixtures does the same with the examples of the rules.
func TestRelationsOnFixtures(t *testing.T) {
	i := uint64(0)
	for _, f := range corpus.Fixtures(t) {
		for _, body := range [][]byte{f.Bad, f.Good, f.Accept} {
			if body != nil {
				allRelations(t, i, body)
			}
			i++
		}
	}
}

// allRelations checks a body in its own dialect, and damaged versions of it.
func allRelations(t *testing.T, seed uint64, body []byte) {
	t.Helper()
	found, err := dialect.Detect(body)
	if err != nil {
		t.Fatal(err)
	}
	d := found.Dialect
	histories.CheckSpelling(t, body, dialect.Options{Dialect: d})
	histories.CheckBare(t, body, dialect.Options{})
	r := rand.New(rand.NewPCG(seed, 2))
	for range 8 {
		histories.CheckReading(t, body, dialect.Options{})
		histories.CheckReading(t, body, dialect.Options{Dialect: d})
		histories.CheckModes(t, body, dialect.Options{Dialect: d})
		histories.CheckRepeatedKeys(t, body, dialect.Options{Dialect: d})
		body, _ = histories.Corrupt(r, body)
	}
}

// findings returns what is found in a script, as rule and step: the first step
// whose path is the finding's, or the path where there is none.
func findings(t *testing.T, s histories.Script, d dialect.Dialect, o histories.RenderOptions) []string {
	t.Helper()
	r, err := dialect.Parse(s.Render(d, o), dialect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	paths := s.Paths(d, o)
	got := []string{}
	for _, f := range r.Check(dialect.CheckOptions{}) {
		if d == dialect.Bedrock && f.Rule == "role-alternation" {
			continue // what is missing or stands apart makes neighbours there
		}
		at := f.Path
		if i := slices.Index(paths, f.Path); i >= 0 {
			at = fmt.Sprint(i)
		}
		got = append(got, f.Rule+" "+at)
	}
	slices.Sort(got)
	return got
}

// TestIncidents: each way in which histories break is found, by its name and at
// its place, and nothing else is.
func TestIncidents(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         string            // rule and step, counted from 0
		but          map[string]string // where a dialect sees it otherwise
	}{
		{"nothing", `user "q" | call a Read x | result a ok`, "", nil},
		{"a result lost", `user "q" | call a Read x | call b Read y | result b ok | say "so" | user "n"`, "orphan-call 1", nil},
		{"all results lost", `user "q" | call a Read x | call b Read y | user "n"`, "orphan-call 1, orphan-call 2", nil},
		{"a call still open", `user "q" | call a Read x`, "orphan-call 1", nil},
		{"one of two still open", `user "q" | call a Read x | call b Read y | result a ok`, "orphan-call 2", nil},
		{"a call lost", `user "q" | say "I look" | orphan a ok | say "so" | user "n"`, "orphan-result 2", nil},
		{"the whole turn lost", `user "q" | orphan a ok | orphan b ok | say "so" | user "n"`, "orphan-result 1, orphan-result 2", nil},
		{"a window that begins with results", `orphan a ok | say "so" | user "n"`, "orphan-result 0", nil},
		{"one of two calls lost", `user "q" | call b Read y | orphan a ok | result b ok`, "orphan-result 2", nil},
		{"a result twice", `user "q" | call a Read x | result a ok | result a again`, "duplicate-result 3", nil},
		{"a result thrice", `user "q" | call a Read x | result a ok | result a again | result a more`, "duplicate-result 3, duplicate-result 4", nil},
		{"a result again after the talk went on", `user "q" | call a Read x | result a ok | say "so" | user "n" | result a again`, "orphan-result 5", nil},
		{"a call twice", `user "q" | call a Read x | call a Read x | result a ok`, "duplicate-call-id 2",
			map[string]string{"gemini": "orphan-call 2"}}, // it does not mind the id, but counts
		{"a call twice, answered twice", `user "q" | call a Read x | call a Read x | result a ok | result a ok`, "duplicate-call-id 2, duplicate-result 4",
			map[string]string{"gemini": ""}},
		{"a person in between", `user "q" | call a Read x | user "wait" | result a ok`, "displaced-result 3",
			map[string]string{"openai-responses": ""}},
		{"a person between two results", `user "q" | call a Read x | call b Read y | result a ok | user "wait" | result b ok`, "displaced-result 5",
			map[string]string{"openai-responses": ""}},
		{"a result that comes a turn late", `user "q" | call a Read x | user "wait" | say "well" | result a ok`, "displaced-result 4",
			map[string]string{"openai-responses": ""}},
		{"a result that comes behind another exchange", `user "q" | call a Read x | user "n" | call b Read y | result b ok | result a ok`, "displaced-result 5",
			map[string]string{"openai-responses": ""}},
		{"results in another order", `user "q" | call a Read x | call b Read y | result b ok | result a ok`, "", nil},
		{"the id of the result renamed", `user "q" | call a Read x | orphan b ok`, "orphan-call 1, orphan-result 2", nil},
		{"ids from the start again in each turn", `user "q" | call a Read x | result a ok | call a Read y | result a ok | say "so" | user "n" | call a Read z | result a ok`, "", nil},
		{"a reused id, the first unanswered", `user "q" | call a Read x | user "n" | call a Read y | result a ok`, "orphan-call 1",
			map[string]string{"openai-responses": "duplicate-call-id 3, duplicate-result 4, orphan-call 1"}},
		{"an empty text of the model", `user "q" | say "" | user "n"`, "",
			map[string]string{"anthropic": "empty-text 1", "bedrock": "empty-text 1", "gemini-interactions": "empty-text 1"}},
		{"an empty text beside a call", `user "q" | say "" | call a Read x | result a ok`, "",
			map[string]string{"anthropic": "empty-text 1", "bedrock": "empty-text 1", "gemini-interactions": "empty-text 1"}},
		{"an empty text of a person", `user "" | say "a" | user "n"`, "",
			map[string]string{"anthropic": "empty-content messages.0", "bedrock": "empty-text 0", "gemini-interactions": "empty-text 0"}},
		{"thinking that leads nowhere", `user "q" | think "hm" | user "n"`, "", map[string]string{"anthropic": "thinking-last 1", "openai-responses": "reasoning-item-orphan 1"}},
		{"the model has the last word", `user "q" | say "a"`, "", map[string]string{
			"anthropic": "last-role messages.1", "bedrock": "last-role messages.1", "gemini": "last-role contents.1"}},
		{"a failed result without a word", `user "q" | call a Read x | fail a`, "", map[string]string{"anthropic": "empty-error-result 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := histories.MustParse(c.script)
			for _, d := range dialect.Dialects() {
				want, ok := c.but[d.String()]
				if !ok {
					want = c.want
				}
				if got := strings.Join(findings(t, s, d, histories.RenderOptions{}), ", "); got != want {
					t.Errorf("%s: got %q, want %q\n%s", d, got, want, s.Render(d, histories.RenderOptions{Bare: true}))
				}
			}
		})
	}
}

// TestMutations: a mutation of a random history is found exactly where it was.
func TestMutations(t *testing.T) {
	t.Parallel()
	all := map[string]histories.Mutation{}
	for _, m := range histories.Mutations() {
		all[m.Name] = m
	}
	// Each case says what must be found, given the script before and after.
	for name, want := range map[string]func(before, after histories.Script) []string{
		"drop-result": func(before, after histories.Script) []string {
			i := firstDifference(before, after)
			return []string{fmt.Sprintf("orphan-call %d", call(before, i))}
		},
		"drop-call": func(before, after histories.Script) []string {
			i := firstDifference(before, after)
			for j := i + 1; ; j++ {
				if before[j].ID == before[i].ID {
					return []string{fmt.Sprintf("orphan-result %d", j-1)}
				}
			}
		},
		"duplicate-result": func(before, after histories.Script) []string {
			return []string{fmt.Sprintf("duplicate-result %d", slices.IndexFunc(after, func(s histories.Step) bool { return s.Text == "aborted" }))}
		},
		"rename-call": func(before, after histories.Script) []string {
			i := firstDifference(before, after)
			j := i + 1
			for before[j].ID != before[i].ID {
				j++
			}
			return []string{fmt.Sprintf("orphan-call %d", i), fmt.Sprintf("orphan-result %d", j)}
		},
		"rename-result": func(before, after histories.Script) []string {
			i := firstDifference(before, after)
			return []string{fmt.Sprintf("orphan-call %d", call(before, i)), fmt.Sprintf("orphan-result %d", i)}
		},
		"reverse-results": func(before, after histories.Script) []string { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			eachHistory(t, 100, histories.GenOptions{Turns: 3, Steps: 3, UniqueIDs: true, NoThinking: true}, func(r *rand.Rand, s histories.Script) {
				broken, did, ok := all[name].Apply(r, s)
				if !ok || name == "duplicate-result" && strings.Contains(s.String(), "aborted") {
					return
				}
				want := want(s, broken)
				slices.Sort(want)
				for _, d := range dialect.Dialects() {
					if got := findings(t, broken, d, histories.RenderOptions{}); !slices.Equal(got, want) {
						t.Errorf("%s, %s: got %q, want %q\n%s", d, did, got, want, broken)
					}
				}
			})
		})
	}
}

func firstDifference(a, b histories.Script) int {
	for i := range a {
		if i == len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// call returns the step of the call that step i answers.
func call(s histories.Script, i int) int {
	for j := i - 1; ; j-- {
		if s[j].Op == histories.Call && s[j].ID == s[i].ID {
			return j
		}
	}
}

// TestWithoutIDs: on Gemini without ids, pairs are found by name and order.
func TestWithoutIDs(t *testing.T) {
	for script, want := range map[string]string{
		`user "q" | call a Read x | call b Read y | result b ok | result a ok`:         "",
		`user "q" | call a Read x | call b Grep y | result b ok | result a ok`:         "",
		`user "q" | call a Read x | call b Read y | result b ok`:                       "orphan-call 2",
		`user "q" | call a Read x | call b Grep y | result b ok`:                       "orphan-call 1",
		`user "q" | call a Read x | result a ok | result a ok`:                         "duplicate-result 3",
		`user "q" | call a Read x | orphan b ok`:                                       "orphan-call 1, orphan-result 2",
		`user "q" | call a Read x | user "n" | say "so" | user "m"`:                    "orphan-call 1",
		`user "q" | call a Read x | user "n" | say "so" | result a late | user "more"`: "displaced-result 4",
	} {
		s := histories.MustParse(script)
		if got := strings.Join(findings(t, s, dialect.Gemini, histories.RenderOptions{NoIDs: true}), ", "); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
}

// TestStringInput: the one text of a Responses request lies where it is said to.
func TestStringInput(t *testing.T) {
	histories.CheckReading(t, []byte(`{"model":"gpt-5.2","input":"hello"}`), dialect.Options{})
}

// TestForeignBlocks: a block that is no object has a span and a body as well.
func TestForeignBlocks(t *testing.T) {
	for d, body := range map[dialect.Dialect]string{
		dialect.Anthropic:       `{"messages":[{"role":"user","content":[7]}]}`,
		dialect.OpenAIChat:      `{"messages":[{"role":"assistant","content":["x"],"tool_calls":[null]}]}`,
		dialect.OpenAIResponses: `{"input":[{"role":"user","content":[null]}]}`,
		dialect.Gemini:          `{"contents":[{"parts":[""]}]}`,
		dialect.Bedrock:         `{"messages":[{"role":"user","content":[[]]}]}`,
	} {
		histories.CheckReading(t, []byte(body), dialect.Options{Dialect: d})
	}
}

// TestRepeatedKeys: where a key stands twice the last one wins, with all that
// belongs to it.
func TestRepeatedKeys(t *testing.T) {
	for name, c := range map[string]struct {
		d    dialect.Dialect
		body string
	}{
		"chat content, both lists":     {dialect.OpenAIChat, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"content":[{"type":"text","text":"c"}]}]`},
		"chat content, list and text":  {dialect.OpenAIChat, `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}],"content":"c"}]`},
		"chat tool_calls":              {dialect.OpenAIChat, `[{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}],"tool_calls":[{"id":"call_2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_2","content":"x"}]`},
		"chat tool_calls, then null":   {dialect.OpenAIChat, `[{"role":"assistant","content":"a","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}],"tool_calls":null},{"role":"user","content":"x"}]`},
		"chat function":                {dialect.OpenAIChat, `[{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"},"function":{"arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}]`},
		"gemini functionCall":          {dialect.Gemini, `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}},"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{}}}]}]`},
		"gemini functionResponse":      {dialect.Gemini, `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{}},"functionResponse":null}]}]`},
		"bedrock toolUse":              {dialect.Bedrock, `{"toolConfig":{},"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}},"toolUse":null}]},{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[]}}]}]}`},
		"bedrock toolResult":           {dialect.Bedrock, `{"toolConfig":{},"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[]},"toolResult":7}]}]}`},
		"bedrock toolResult, failed":   {dialect.Bedrock, `{"toolConfig":{},"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"text":"x"}],"status":"error"},"toolResult":{"toolUseId":"1","content":[{"text":"x"}]}}]}]}`},
		"anthropic content":            {dialect.Anthropic, `[{"role":"user","content":[{"type":"text","text":""}],"content":"a"}]`},
		"responses content":            {dialect.OpenAIResponses, `[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}],"content":"b"}]`},
		"the list of messages":         {dialect.Anthropic, `{"messages":[{"role":"user","content":""}],"messages":[{"role":"user","content":"a"}]}`},
		"the list of messages, a text": {dialect.OpenAIChat, `{"messages":[{"role":"user","content":""}],"messages":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			histories.CheckReading(t, []byte(c.body), dialect.Options{Dialect: c.d})
			histories.CheckRepeatedKeys(t, []byte(c.body), dialect.Options{Dialect: c.d})
		})
	}
}

// TestEscapedWords: a word is the same word when its letters are escaped.
func TestEscapedWords(t *testing.T) {
	for _, c := range []struct {
		d    dialect.Dialect
		body string
	}{
		{dialect.Bedrock, `{"toolConfig":{},"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"text":"x"}],"status":"error"}}]}]}`},
		{dialect.Bedrock, `{"toolConfig":{},"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{},"type":"server_tool_use"}}]},{"role":"user","content":[{"text":"x"}]}]}`},
		{dialect.OpenAIChat, `[{"role":"function","name":"f","content":"x"}]`},
		{dialect.OpenAIChat, `[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"custom","custom":{"name":"f","input":"x"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]`},
		{dialect.OpenAIResponses, `[{"type":"tool_search_call","call_id":"1","execution":"client"},{"type":"tool_search_output","call_id":"1","execution":"client"}]`},
		{dialect.Anthropic, `{"context_management":{"edits":[{"type":"x"},{"type":"clear_thinking_20251015"}]},"messages":[{"role":"user","content":"a"}]}`},
	} {
		histories.CheckSpelling(t, []byte(c.body), dialect.Options{Dialect: c.d, Profile: ""})
	}
}

// TestReasoningPath: the path of reasoning names the member that holds it.
func TestReasoningPath(t *testing.T) {
	histories.CheckReading(t, []byte(`[{"role":"assistant","reasoning":"hm","content":"a"},{"role":"user","content":"b"}]`), dialect.Options{Dialect: dialect.OpenAIChat})
}

// repeat writes item n times, with # replaced by its number, between head and
// tail.
func repeat(n int, head, item, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(item, "#", strconv.Itoa(i)))
	}
	b.WriteString(tail)
	return b.String()
}

// TestScale: reading and checking thousands of small things takes time by their
// number, whatever they are, in every dialect.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		name string
		d    dialect.Dialect
		body func(n int) string
	}{
		{"chat exchanges", dialect.OpenAIChat, func(n int) string {
			return repeat(n, `[`, `{"role":"assistant","content":null,"tool_calls":[{"id":"call_#","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_#","content":"x"}`, `]`)
		}},
		{"chat orphans", dialect.OpenAIChat, func(n int) string {
			return repeat(n, `[`, `{"role":"tool","tool_call_id":"call_#","content":"x"}`, `]`)
		}},
		{"anthropic exchanges", dialect.Anthropic, func(n int) string {
			return repeat(n, `{"thinking":{"type":"enabled"},"messages":[`, `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"tool_use","id":"t#","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t#"}]}`, `]}`)
		}},
		{"anthropic calls of a program, answered", dialect.Anthropic, func(n int) string {
			return repeat(n, `[{"role":"assistant","content":[`, `{"type":"tool_use","id":"t#","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_x"}}`, `]},`) +
				repeat(n, `{"role":"user","content":[`, `{"type":"tool_result","tool_use_id":"t#"}`, `]}]`)
		}},
		{"anthropic server results that come late", dialect.Anthropic, func(n int) string {
			return repeat(n, `[{"role":"assistant","content":[`, `{"type":"server_tool_use","id":"srvtoolu_#","name":"web_search","input":{}}`, `,{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},`) +
				repeat(n, ``, `{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"srvtoolu_#","content":[]},{"type":"tool_use","id":"t#","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t#"}]}`, `]`)
		}},
		{"anthropic fallbacks", dialect.Anthropic, func(n int) string {
			return repeat(n, `[{"role":"assistant","content":[`, `{"type":"fallback"}`, `]}]`)
		}},
		{"responses exchanges", dialect.OpenAIResponses, func(n int) string {
			return repeat(n, `[`, `{"type":"function_call","call_id":"c#","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c#","output":"x"}`, `]`)
		}},
		{"responses reasoning in a row", dialect.OpenAIResponses, func(n int) string {
			return repeat(n, `[`, `{"type":"reasoning","id":"rs_#","summary":[],"encrypted_content":"x"}`, `]`)
		}},
		{"responses reasoning, then people", dialect.OpenAIResponses, func(n int) string {
			return repeat(n, `[`, `{"type":"reasoning","id":"rs_#","summary":[],"encrypted_content":"x"},{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}`, `]`)
		}},
		{"gemini exchanges", dialect.Gemini, func(n int) string {
			return repeat(n, `[`, `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`, `]`)
		}},
		{"gemini one step", dialect.Gemini, func(n int) string {
			return repeat(n, `[{"role":"model","parts":[`, `{"functionCall":{"name":"f#","args":{}}}`, `]}]`)
		}},
		{"bedrock exchanges", dialect.Bedrock, func(n int) string {
			return repeat(n, `[`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"t#","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t#","content":[]}}]}`, `]`)
		}},
		{"messages of another type", dialect.Anthropic, func(n int) string {
			return repeat(n, `[`, `7`, `]`)
		}},
		{"half surrogates", dialect.Anthropic, func(n int) string {
			return repeat(n, `[{"role":"user","content":[`, `{"type":"text","text":"\ud83d"}`, `]}]`)
		}},
		{"keys twice", dialect.Anthropic, func(n int) string {
			return repeat(n, `[`, `{"role":"user","content":"a","content":"b"}`, `]`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trial.Linear(t, c.name, 12_000, func(n int) func() {
				raw := []byte(c.body(n))
				return func() {
					r, err := dialect.Parse(raw, dialect.Options{Dialect: c.d})
					if err != nil {
						t.Fatal(err)
					}
					r.Check(dialect.CheckOptions{Strict: true, Advice: true})
				}
			})
		})
	}
}
