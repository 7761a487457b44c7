package histories

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

const everything = `system "be brief" | user "fix ünicode" | think "where?" | say "I look." | call r1 Read a.go | call b1 Bash {"command":"go test"} | result r1 package a | fail b1 exit status 1 | user "and this?" | image`

// TestRenderList shows the messages of a small script in every dialect.
func TestRenderList(t *testing.T) {
	s := MustParse(`user "q" | say "a" | call c1 Read x | result c1 ok | fail c1 no | user "n"`)
	for d, want := range map[wire.Dialect]string{
		wire.Anthropic: `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"ID","name":"Read","input":{"path":"x"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"ID","content":"ok"},{"type":"tool_result","tool_use_id":"ID","content":"no","is_error":true},{"type":"text","text":"n"}]}]`,
		wire.OpenAIChat: `[{"role":"user","content":"q"},{"role":"assistant","content":"a","tool_calls":[{"id":"ID","type":"function","function":{"name":"Read","arguments":"{\"path\":\"x\"}"}}]},` +
			`{"role":"tool","tool_call_id":"ID","content":"ok"},{"role":"tool","tool_call_id":"ID","content":"no"},{"role":"user","content":"n"}]`,
		wire.OpenAIResponses: `[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]},` +
			`{"type":"function_call","call_id":"ID","name":"Read","arguments":"{\"path\":\"x\"}"},{"type":"function_call_output","call_id":"ID","output":"ok"},{"type":"function_call_output","call_id":"ID","output":"no"},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"n"}]}]`,
		wire.Gemini: `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"},{"functionCall":{"id":"ID","name":"Read","args":{"path":"x"}},"thoughtSignature":"SIG"}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"ID","name":"Read","response":{"output":"ok"}}},{"functionResponse":{"id":"ID","name":"Read","response":{"error":"no"}}}]},{"role":"user","parts":[{"text":"n"}]}]`,
		wire.Bedrock: `[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"a"},{"toolUse":{"toolUseId":"ID","name":"Read","input":{"path":"x"}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"ID","content":[{"text":"ok"}]}},{"toolResult":{"toolUseId":"ID","content":[{"text":"no"}],"status":"error"}},{"text":"n"}]}]`,
	} {
		o := RenderOptions{Bare: true}
		got := strings.ReplaceAll(string(s.Render(d, o)), WireID("c1", d, o), "ID")
		if i := strings.Index(got, `"thoughtSignature":"`); i >= 0 {
			start := i + len(`"thoughtSignature":"`)
			got = got[:start] + "SIG" + got[start+strings.IndexByte(got[start:], '"'):]
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", d, got, want)
		}
	}
}

// TestRender: a rendering is valid JSON, the same each time, addressed to the
// model, and its paths lead to the steps.
func TestRender(t *testing.T) {
	s := MustParse(everything)
	for _, d := range wire.Dialects() {
		for _, o := range []RenderOptions{{}, {Bare: true}, {NoIDs: true}, {Model: "mistral-large-latest"}, {Spelling: spellings[1]}} {
			body := s.Render(d, o)
			if !json.Valid(body) || !bytes.Equal(body, s.Render(d, o)) {
				t.Errorf("%s with %+v: not valid, or not the same again: %s", d, o, body)
			}
			root, err := jsontree.Parse(body)
			if err != nil {
				t.Fatal(err)
			}
			for i, path := range s.Paths(d, o) {
				if o.Bare {
					_, path, _ = strings.Cut(path, ".")
				}
				if path != "" && root.At(path) == nil {
					t.Errorf("%s with %+v: nothing at %s for step %d", d, o, path, i)
				}
			}
		}
		if r, err := wire.Parse(s.Render(d, RenderOptions{}), wire.Options{}); err != nil || strings.TrimPrefix(r.Model(), "models/") != DefaultModel(d) {
			t.Errorf("%s: model %q, %v", d, r.Model(), err)
		}
	}
	if body := string(s.Render(wire.Gemini, RenderOptions{NoIDs: true})); strings.Contains(body, `"id":`) {
		t.Errorf("ids in %s", body)
	}
}

func TestMistral(t *testing.T) {
	s := MustParse(`user "q" | call a Read x | call b Read y | result a ok | result b ok`)
	r, err := wire.Parse(s.Render(wire.OpenAIChat, RenderOptions{Model: "mistral-large-latest"}), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found := r.Check(wire.CheckOptions{}); len(found) > 0 || r.Profile.Name != "mistral" {
		t.Errorf("%s: %v", r.Profile.Name, found)
	}
}

// TestIDs: different ids stay different, and short ones fit the providers' rules.
func TestIDs(t *testing.T) {
	o := RenderOptions{Model: "mistral-large-latest"}
	seen := map[string]string{}
	try := func(id string) {
		for _, d := range wire.Dialects() {
			got := WireID(id, d, o)
			key := d.String() + got
			if other, ok := seen[key]; ok && other != id {
				t.Fatalf("%s: %s and %s are both %s", d, id, other, got)
			}
			seen[key] = id
		}
	}
	for i := range len(idAlphabet) {
		try(idAlphabet[i : i+1])
		for j := range len(idAlphabet) {
			try(string([]byte{idAlphabet[i], idAlphabet[j]}))
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		id := make([]byte, 1+r.IntN(8))
		for i := range id {
			id[i] = idAlphabet[r.IntN(len(idAlphabet))]
		}
		try(string(id))
	}
	if got := WireID("--------", wire.OpenAIChat, o); len(got) != 9 {
		t.Errorf("the last id is %s", got)
	}
	for _, id := range []string{"", "functions.f:0", "toolu_0123456789"} {
		if got := WireID(id, wire.Anthropic, o); got != id {
			t.Errorf("%q goes out as %q", id, got)
		}
	}
}

func TestRespell(t *testing.T) {
	const in = `{"b":[1.0,-2e3,{}, [] ],"a":"é\n\u0041\"","é":{"z":null,"y":true},"twice":{"k":1,"b":2,"k":3}}`
	for want, o := range map[string]jsontree.Spelling{
		`{"b":[1.0,-2e3,{},[]],"a":"é\n\u0041\"","é":{"z":null,"y":true},"twice":{"k":1,"b":2,"k":3}}`:                                                                                             {},
		`{"twice":{"k":1,"b":2,"k":3},"é":{"y":true,"z":null},"a":"é\n\u0041\"","b":[1.0,-2e3,{},[]]}`:                                                                                             {Keys: jsontree.KeysReversed},
		`{"a":"\u00e9\n\u0041\"","b":[1.0,-2e3,{},[]],"twice":{"k":1,"b":2,"k":3},"\u00e9":{"y":true,"z":null}}`:                                                                                   {Keys: jsontree.KeysSorted, Escapes: jsontree.EscapeNonASCII},
		"{\n \"b\": [\n  1.0,\n  -2e3,\n  {},\n  []\n ],\n \"a\": \"é\\n\\u0041\\\"\",\n \"é\": {\n  \"z\": null,\n  \"y\": true\n },\n \"twice\": {\n  \"k\": 1,\n  \"b\": 2,\n  \"k\": 3\n }\n}": {Indent: " "},
	} {
		got, err := jsontree.Respell([]byte(in), o)
		if err != nil || string(got) != want {
			t.Errorf("%+v:\ngot  %s, %v\nwant %s", o, got, err, want)
		}
	}
	if got, err := jsontree.Respell([]byte(`{"a":"b\n😀"}`), jsontree.Spelling{Escapes: jsontree.EscapeAll}); string(got) != `{"\u0061":"\u0062\n\ud83d\ude00"}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := jsontree.Respell([]byte(`{"a":`), jsontree.Spelling{}); err == nil {
		t.Error("no error for half a document")
	}
	s := Random(7, GenOptions{})
	body := s.Render(wire.Anthropic, RenderOptions{})
	for _, o := range spellings {
		got, err := jsontree.Respell(body, o)
		var a, b any
		if json.Unmarshal(body, &a) != nil || json.Unmarshal(got, &b) != nil || err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%+v changes the value, %v", o, err)
		}
	}
}

// TestSteps checks that a user's words join results only in dialects that require it.
func TestSteps(t *testing.T) {
	s := MustParse(`user "a" | image | user "b" | say "x" | user "c" | call k f | result k r | user "d"`)
	for d, want := range map[wire.Dialect]string{
		wire.Anthropic:       "0.content.0 0.content.1 0.content.2 1.content.0 2.content 3.content.0 4.content.0 4.content.1",
		wire.OpenAIChat:      "0.content.0 0.content.1 1.content 2.content 3.content 4.tool_calls.0 5 6.content",
		wire.OpenAIResponses: "0.content.0 0.content.1 1.content.0 2.content.0 3.content.0 4 5 6.content.0",
		wire.Gemini:          "0.parts.0 0.parts.1 0.parts.2 1.parts.0 2.parts.0 3.parts.0 4.parts.0 5.parts.0",
		wire.Bedrock:         "0.content.0 0.content.1 0.content.2 1.content.0 2.content.0 3.content.0 4.content.0 4.content.1",
	} {
		paths := slices.Clone(s.Paths(d, RenderOptions{}))
		for i := range paths {
			_, paths[i], _ = strings.Cut(paths[i], ".")
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
