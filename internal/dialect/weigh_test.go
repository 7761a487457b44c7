package dialect_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
)

var estimator = tokens.For("claude-sonnet-4-5")

func parsed(t testing.TB, d dialect.Dialect, body string) *dialect.Request {
	t.Helper()
	r, err := dialect.Parse([]byte(body), dialect.Options{Dialect: d})
	if err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	return r
}

// png is a picture of a size, with so many bytes of noise behind its header, as base64.
func png(width, height, noise int) string {
	head := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	head = binary.BigEndian.AppendUint32(head, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	head = append(head, 8, 2, 0, 0, 0)
	rnd := rand.New(rand.NewPCG(1, 1))
	for range noise {
		head = append(head, byte(rnd.Uint32()))
	}
	return base64.StdEncoding.EncodeToString(head)
}

// Every place in which a request may hold base64; %s is where it stands.
var pictured = []struct {
	name string
	d    dialect.Dialect
	body string
}{
	{"user", dialect.Anthropic, `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]}`},
	{"order", dialect.Anthropic, `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":[{"source":{"data":"%s","media_type":"image/png","type":"base64"},"type":"image"}]}]}`},
	{"result", dialect.Anthropic, `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Shot","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]}]}`},
	{"user", dialect.OpenAIChat, `{"model":"gpt-5.2","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}`},
	{"result", dialect.OpenAIChat, `{"model":"gpt-5.2","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Shot","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}`},
	{"user", dialect.OpenAIResponses, `{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%s"}]}]}`},
	{"result", dialect.OpenAIResponses, `{"model":"gpt-5.2","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"a","name":"Shot","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"data:image/png;base64,%s"}]}]}`},
	{"computer", dialect.OpenAIResponses, `{"model":"gpt-5.2","input":[{"role":"user","content":"q"},{"type":"computer_call","id":"cu_1","call_id":"a","action":{"type":"screenshot"},"pending_safety_checks":[],"status":"completed"},{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,%s"}}]}`},
	{"generated", dialect.OpenAIResponses, `{"model":"gpt-5.2","input":[{"role":"user","content":"q"},{"type":"image_generation_call","id":"ig_1","status":"completed","result":"%s"},{"role":"user","content":"n"}]}`},
	{"user", dialect.Gemini, `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"%s"}}]}]}`},
	{"snake case", dialect.Gemini, `{"contents":[{"role":"user","parts":[{"inline_data":{"mime_type":"image/png","data":"%s"}}]}]}`},
	{"result", dialect.Gemini, `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"Shot","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Shot","response":{"output":"see"},"parts":[{"inlineData":{"mimeType":"image/png","data":"%s"}}]}}]}]}`},
	{"user", dialect.Bedrock, `{"modelId":"amazon.nova-pro-v1:0","messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"%s"}}}]}]}`},
	{"result", dialect.Bedrock, `{"modelId":"amazon.nova-pro-v1:0","messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"Shot","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"image":{"format":"png","source":{"bytes":"%s"}}}]}}]}]}`},
}

// TestPicturesAreNotText: a picture of a megabyte costs what its width and height say,
// wherever it stands, and as much as a small file of the same size.
func TestPicturesAreNotText(t *testing.T) {
	small, large, wide := png(640, 480, 30), png(640, 480, 1<<20), png(1500, 1500, 30)
	for _, c := range pictured {
		t.Run(c.d.String()+" "+c.name, func(t *testing.T) {
			none := parsed(t, c.d, fmt.Sprintf(c.body, png(1, 1, 0))).Tokens(estimator)
			n := parsed(t, c.d, fmt.Sprintf(c.body, large)).Tokens(estimator)
			if n > 3000 {
				t.Fatalf("%d tokens: the base64 is counted as text", n)
			}
			if s := parsed(t, c.d, fmt.Sprintf(c.body, small)).Tokens(estimator); s != n {
				t.Errorf("%d tokens as a small file, %d as a large one", s, n)
			}
			if got, want := n-none, estimator.Image(640, 480)-estimator.Image(1, 1); got != want {
				t.Errorf("the picture costs %d more than a dot, want %d", got, want)
			}
			if w := parsed(t, c.d, fmt.Sprintf(c.body, wide)).Tokens(estimator); w <= n {
				t.Errorf("a larger picture costs %d, the smaller one %d", w, n)
			}
		})
	}
}

// TestOtherMedia: documents, recordings and what is opaque are not counted as text.
func TestOtherMedia(t *testing.T) {
	data := strings.Repeat("JVBERi0xLjcKJeLjz9MK", 10_000) // 200 KB
	for _, c := range []struct {
		name string
		d    dialect.Dialect
		body string
		most int
	}{
		{"document", dialect.Anthropic, `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"%s"}}]}]}`, 40_000},
		{"fetched", dialect.Anthropic, `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_fetch","input":{}},{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_fetch_result","url":"https://e.org","content":{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"%s"}}}}]},{"role":"user","content":"n"}]}`, 40_000},
		{"file", dialect.OpenAIChat, `{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,%s"}}]}]}`, 40_000},
		{"sound", dialect.OpenAIChat, `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"mp3","data":"%s"}}]}]}`, 5000},
		{"file", dialect.OpenAIResponses, `{"input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,%s"}]}]}`, 40_000},
		{"sound", dialect.Gemini, `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"audio/mp3","data":"%s"}}]}]}`, 5000},
		{"document", dialect.Bedrock, `{"messages":[{"role":"user","content":[{"document":{"format":"pdf","name":"a","source":{"bytes":"%s"}}}]}]}`, 40_000},
		{"film", dialect.Bedrock, `{"messages":[{"role":"user","content":[{"video":{"format":"mp4","source":{"bytes":"%s"}}}]}]}`, 5000},
	} {
		n := parsed(t, c.d, fmt.Sprintf(c.body, data)).Tokens(estimator)
		if text := estimator.Count([]byte(data)); n > c.most || n > text/2 {
			t.Errorf("%s %s: %d tokens, as text it would be %d", c.d, c.name, n, text)
		}
	}
	// Redacted thinking is thinking, not a document.
	r := parsed(t, dialect.Anthropic, `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"`+strings.Repeat("EmwKAhgB", 60)+`"},{"type":"text","text":"s"}]},{"role":"user","content":"n"}]}`)
	if n := dialect.BlockTokens(r, estimator, 1); n < 40 || n > 480 {
		t.Errorf("480 bytes of redacted thinking cost %d tokens", n)
	}
	// A document that is text is counted as what it says.
	words := strings.Repeat("words and more ", 400)
	r = parsed(t, dialect.Anthropic, `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"`+words+`"}}]}]}`)
	if n, want := dialect.BlockTokens(r, estimator, 0), estimator.Count([]byte(words)); n < want || n > want+20 {
		t.Errorf("a document of text costs %d, its words %d", n, want)
	}
}

// TestEverythingIsCounted: system prompt, tool definitions, arguments, results and texts
// all count, each at least as much as its words.
func TestEverythingIsCounted(t *testing.T) {
	long := strings.Repeat("a b c d e f g h ", 50)
	words := estimator.Count([]byte(long))
	script := func(system, user, args, result string) histories.Script {
		return histories.MustParse(fmt.Sprintf(`system "s %s" | user "q %s" | call a Read {"path":"p %s"} | result a "r %s" | user "n"`, system, user, args, result))
	}
	for _, d := range dialect.Dialects() {
		tokens := func(s histories.Script) int {
			return parsed(t, d, string(s.Render(d, histories.RenderOptions{}))).Tokens(estimator)
		}
		least := tokens(script("", "", "", ""))
		for name, s := range map[string]histories.Script{
			"system": script(long, "", "", ""), "user": script("", long, "", ""), "arguments": script("", "", long, ""), "result": script("", "", "", long),
		} {
			if got := tokens(s) - least; got < words*9/10 || got > words*11/10+8 {
				t.Errorf("%s: a longer %s costs %d more, its words are %d", d, name, got, words)
			}
		}
	}
	for d, c := range map[dialect.Dialect][2]string{
		dialect.Anthropic:       {`{"messages":[{"role":"user","content":"q"}]%s}`, `,"tools":[{"name":"R","description":"%s","input_schema":{"type":"object"}}]`},
		dialect.OpenAIChat:      {`{"messages":[{"role":"user","content":"q"}]%s}`, `,"tools":[{"type":"function","function":{"name":"R","description":"%s","parameters":{"type":"object"}}}]`},
		dialect.OpenAIResponses: {`{"input":[{"role":"user","content":"q"}]%s}`, `,"tools":[{"type":"function","name":"R","description":"%s","parameters":{"type":"object"}}]`},
		dialect.Gemini:          {`{"contents":[{"role":"user","parts":[{"text":"q"}]}]%s}`, `,"tools":[{"functionDeclarations":[{"name":"R","description":"%s"}]}]`},
		dialect.Bedrock:         {`{"messages":[{"role":"user","content":[{"text":"q"}]}]%s}`, `,"toolConfig":{"tools":[{"toolSpec":{"name":"R","description":"%s","inputSchema":{"json":{"type":"object"}}}}]}`},
	} {
		bare := parsed(t, d, fmt.Sprintf(c[0], "")).Tokens(estimator)
		with := parsed(t, d, fmt.Sprintf(c[0], fmt.Sprintf(c[1], long))).Tokens(estimator)
		if with-bare < words {
			t.Errorf("%s: a tool costs %d, its description alone is %d", d, with-bare, words)
		}
	}
}

// TestTokensAddUp: a request is its head, its frames and its blocks, and a message more
// is never less.
func TestTokensAddUp(t *testing.T) {
	eachHistory(t, 300, histories.GenOptions{}, func(rnd *rand.Rand, s histories.Script) {
		if rnd.IntN(2) == 0 {
			s, _ = histories.Break(rnd, s)
		}
		d := dialect.Dialects()[rnd.IntN(5)]
		r := parsed(t, d, string(s.Render(d, histories.RenderOptions{})))
		sum := dialect.HeadTokens(r, estimator)
		for i, m := range r.Transcript().Messages() {
			one := dialect.FrameTokens(estimator)
			for b := m.First; b < m.End; b++ {
				n := dialect.BlockTokens(r, estimator, b)
				if n < 0 || n == 0 && r.Transcript().Block(b).Body.Len() > 20 && r.Transcript().Block(b).Kind != transcript.Other {
					t.Fatalf("%s: %s costs %d: %s", d, r.Path(b), n, r.Transcript().Bytes(r.Transcript().Block(b).Span))
				}
				one += n
			}
			if got := dialect.MessageTokens(r, estimator, i); got != one {
				t.Fatalf("%s: message %d costs %d, its parts %d", d, i, got, one)
			}
			sum += one
		}
		if got := r.Tokens(estimator); got != sum {
			t.Fatalf("%s: %d tokens, the parts are %d", d, got, sum)
		}
		more, _, err := dialect.Rewrite(r, nil, nil, dialect.Insertion{Before: len(r.Transcript().Messages()), Role: transcript.User, Text: "and this"})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := r.Tokens(estimator), more.Tokens(estimator); b <= a {
			t.Fatalf("%s: %d tokens, with a message more %d", d, a, b)
		}
		longer := append(s[:len(s):len(s)], histories.Step{Op: histories.User, Text: "and that, too"})
		if a, b := r.Tokens(estimator), parsed(t, d, string(longer.Render(d, histories.RenderOptions{}))).Tokens(estimator); b <= a {
			t.Fatalf("%s: %d tokens, with another step %d", d, a, b)
		}
	})
}

// TestSpellingCosts: the same words cost the same, however they are written.
func TestSpellingCosts(t *testing.T) {
	s := histories.MustParse(`system "größer, naïve, 設定 🚀" | user "où est-ce? ファイル \"x\"" | think "je réfléchis" | say "voilà → ✓" | call a Read a.go | result a "é\n\t設定 \\ 🚀" | user "merci"`)
	for _, d := range dialect.Dialects() {
		want := parsed(t, d, string(s.Render(d, histories.RenderOptions{}))).Tokens(estimator)
		for name, o := range map[string]jsontree.Spelling{
			"escaped": {Escapes: jsontree.EscapeNonASCII}, "indented": {Indent: "\t"}, "sorted": {Keys: jsontree.KeysSorted}, "reversed": {Keys: jsontree.KeysReversed},
		} {
			got := parsed(t, d, string(s.Render(d, histories.RenderOptions{Spelling: o}))).Tokens(estimator)
			// What the model sees as JSON (tools, arguments, Gemini's responses) is counted as
			// it is written.
			if slack := map[bool]int{true: 40, false: 0}[name != "escaped" || d == dialect.Gemini]; got < want-slack || got > want+slack+want/2*min(slack, 1) {
				t.Errorf("%s: %s costs %d, as it came %d", d, name, got, want)
			}
		}
	}
}

// TestSaidTokens: what an edit is said to cost is what the block costs when it is done.
func TestSaidTokens(t *testing.T) {
	texts := []string{"[pare: cleared]", "two\nlines \"quoted\" \\ and é 設定", strings.Repeat("long words ", 300)}
	args := []string{`{"path":"a.go"}`, `{"path":"é \"q\"","n":[1,2,{"x":null}]}`, "not an object"}
	for _, d := range dialect.Dialects() {
		s := histories.MustParse(`user "q" | say "s" | call a Read one | result a out-one | call b Read two | fail b exit-1 | user "n"`)
		r := parsed(t, d, string(s.Render(d, histories.RenderOptions{})))
		for b := range r.Transcript().Blocks() {
			id := transcript.BlockID(b)
			blk := r.Transcript().Block(id)
			say := texts
			if blk.Kind == transcript.Call {
				say = args
			}
			if !dialect.Editable(r, id) {
				continue
			}
			for _, text := range say {
				next, _, err := dialect.Rewrite(r, nil, []dialect.BlockEdit{{Block: id, Text: text}})
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Equal(next.Raw(), r.Raw()) {
					t.Fatalf("%s: %s is not edited", d, r.Path(id))
				}
				if got, want := dialect.SaidTokens(r, estimator, id, text), dialect.BlockTokens(next, estimator, id); got != want {
					t.Errorf("%s: %s (%s) saying %.40q is said to cost %d and costs %d", d, r.Path(id), blk.Kind, text, got, want)
				}
			}
		}
	}
}
