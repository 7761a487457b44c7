package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// A schemaKey is a key of the schema that is no table of keys.
type schemaKey struct {
	path  string // such as expression.reason
	lists []string
	property
}

// schemaKeys returns every key of the schema.
func schemaKeys(t *testing.T) []schemaKey {
	t.Helper()
	var schema property
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var all []schemaKey
	var walk func(path string, lists []string, p property)
	walk = func(path string, lists []string, p property) {
		inside := p
		if p.Items != nil && len(p.Items.Properties) > 0 {
			inside, lists = *p.Items, append(slices.Clip(lists), path)
		}
		if len(inside.Properties) == 0 {
			all = append(all, schemaKey{path, lists, p})
		}
		for _, o := range inside.Properties {
			walk(join(path, o.key), lists, o.property)
		}
	}
	walk("", nil, schema)
	return all
}

// rowOf returns the row of classes that decides about a key.
func rowOf(path string) (class, bool) {
	parts := strings.Split(path, ".")
	for n := 1; n <= len(parts); n++ {
		if c, ok := classes[classPath(strings.Join(parts[:n], "."))]; ok {
			return c, true
		}
	}
	return unclassified, false
}

func TestEveryKeyHasAClass(t *testing.T) {
	used := make(map[string]bool)
	for _, k := range schemaKeys(t) {
		c, ok := rowOf(k.path)
		if !ok || c == unclassified {
			t.Errorf("%s has no class: can a cloned repository use it to send, keep, write or say something?", k.path)
		}
		isText := slices.Contains(k.Type, "string") || k.Items != nil && slices.Contains(k.Items.Type, "string")
		hasChoices := len(k.Enum) > 0 || k.Items != nil && len(k.Items.Enum) > 0
		switch last := k.path[strings.LastIndex(k.path, ".")+1:]; {
		case c == toggle && !slices.Contains(k.Type, "boolean"):
			t.Errorf("%s is no boolean", k.path)
		case c == choice && !hasChoices && last != "after" && last != "before": // names of rules
			t.Errorf("%s takes any text", k.path)
		case c == amount && isText && !slices.Contains([]string{"window.tokens", "window.low", "compact.timeout", "stop.above"}, k.path):
			t.Errorf("%s is no number", k.path)
		}
		for path := k.path; path != ""; path = path[:max(strings.LastIndex(path, "."), 0)] {
			used[classPath(path)] = true
		}
	}
	for path := range classes {
		if !used[path] {
			t.Errorf("%s has a class, and is no key", path)
		}
	}
	if c, known := classOf("compact.new", &value{kind: boolean}); known || !c.isSensitive() {
		t.Error("a key without a class is harmless")
	}
}

// sample returns a valid value for a key.
func (k schemaKey) sample() any {
	switch p := k.property; {
	case k.path == "compact.endpoint":
		return "http://127.0.0.1:1"
	case k.path == "compact.by":
		return "endpoint"
	case len(p.Enum) > 0:
		return p.Enum[len(p.Enum)-1]
	case slices.Contains(p.Type, "boolean"):
		return true
	case slices.Contains(p.Type, "integer"):
		return 300
	}
	return "words"
}

// siblings are the keys that a table of a list must have.
var siblings = map[string]map[string]any{
	"expression": {"name": "own", "when": "age > 3", "action": "clear"},
}

// build returns a file with the sensitive keys, or without them.
func build(t *testing.T, keys []schemaKey, with bool) File {
	t.Helper()
	root := make(map[string]any)
	for _, k := range keys {
		at, rest := root, k.path
		if len(k.lists) > 0 {
			list := k.lists[0]
			one, ok := root[list].([]map[string]any)
			if !ok {
				one = []map[string]any{{}}
				for name, v := range siblings[list] {
					one[0][name] = v
				}
				root[list] = one
			}
			at, rest = one[0], strings.TrimPrefix(k.path, list+".")
		}
		if !with {
			continue
		}
		parts := strings.Split(rest, ".")
		for _, part := range parts[:len(parts)-1] {
			if at[part] == nil {
				at[part] = make(map[string]any)
			}
			at = at[part].(map[string]any)
		}
		at[parts[len(parts)-1]] = k.sample()
	}
	raw, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return File{Name: "pare.json", Data: raw}
}

// TestUntrustedFileSetsNothingSensitive sets each sensitive key of the schema in a file that is not
// trusted, and then all of them: the configuration is the same as without them.
func TestUntrustedFileSetsNothingSensitive(t *testing.T) {
	var sensitive []schemaKey
	for _, k := range schemaKeys(t) {
		if c, _ := rowOf(k.path); c.isSensitive() {
			sensitive = append(sensitive, k)
		}
	}
	if len(sensitive) < 10 {
		t.Fatalf("only %d sensitive keys", len(sensitive))
	}
	sets := [][]schemaKey{sensitive}
	for _, k := range sensitive {
		sets = append(sets, []schemaKey{k})
	}
	for _, keys := range sets {
		file := build(t, keys, true)
		without, _, err := Merge(build(t, keys, false))
		if err != nil {
			t.Fatal(err)
		}
		got, ignored, err := Merge(file)
		if err != nil {
			t.Errorf("%s: %v", file.Data, err)
			continue
		}
		if a, b := asJSON(t, got), asJSON(t, without); a != b {
			t.Errorf("%s: the configuration is %s, want %s", file.Data, a, b)
		}
		if len(ignored) != len(keys) {
			t.Errorf("%s: ignored %v, want %d settings", file.Data, ignored, len(keys))
		}
		if len(keys) == len(sensitive) {
			file.Trusted = true
			got, ignored, err := Merge(file)
			if err != nil || len(ignored) > 0 || asJSON(t, got) == asJSON(t, without) {
				t.Errorf("a trusted file: %v, ignored %v", err, ignored)
			}
		}
	}
	for _, text := range []string{"[remember]\n", "[archive]\nfile = \"x\"\n[compact]\nby = \"archive\"\n"} {
		got, _, err := Merge(File{Name: "pare.toml", Data: []byte(text)})
		if err != nil || asJSON(t, got) != "{}\n" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func asJSON(t *testing.T, c *Config) string {
	t.Helper()
	raw, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestHarmlessTextsStayOutOfConversations sets every harmless key that takes any text, in a file
// that is not trusted: none of the texts gets into a request.
func TestHarmlessTextsStayOutOfConversations(t *testing.T) {
	const canary = "canary"
	file := File{Name: "pare.toml", Data: []byte(`"$schema" = "canary"
[pin]
tools = ["canary*"]
paths = ["canary/**"]
markers = ["canary"]
[rules.deduplication]
protect_tools = ["canary*"]
protect_paths = ["canary*"]
[rules.oversized]
max_bytes = 1024
head = 100
tail = 100
[[tool]]
name = "Read"
kind = "read"
path = "canary"
start = "canary-start"
[[tool]]
name = "canary"
kind = "run"
command = "canary"
patch = "canary"
end = "canary"
limit = "canary"
commands = { canary = "read" }
[[expression]]
name = "canary-clear"
when = 'tool != "canary" and index % 3 == 0'
action = "clear"
part = "both"
any_tool = true
[[expression]]
name = "canary-shorten"
when = 'tool != "canary" and index % 3 == 1'
action = "shorten"
head = 10
tail = 10
any_tool = true
[[expression]]
name = "canary-drop"
when = 'tool != "canary" and index % 7 == 5'
action = "drop"
any_tool = true
[[constraint]]
name = "canary-together"
together = { when = 'tool == "canary"', paths = ["canary"], tools = ["canary"], markers = ["canary"] }
`)}
	for _, k := range schemaKeys(t) {
		c, _ := rowOf(k.path)
		last := k.path[strings.LastIndex(k.path, ".")+1:]
		anyText := c == criterion && len(k.Enum) == 0 && (slices.Equal(k.Type, kinds{"string"}) || k.Items != nil && slices.Equal(k.Items.Type, kinds{"string"}) && len(k.Items.Enum) == 0)
		if anyText && !bytes.Contains(file.Data, []byte(last+" = ")) {
			t.Errorf("the file has no %s", k.path)
		}
	}
	for _, window := range []string{"", "[window]\ntokens = 3000\norder = \"priority\"\npriority = [{ tool = \"canary*\", rank = 2 }]\n", "[window]\ntokens = 3000\n[compact]\nmin_keep = 2\n"} {
		c, _, err := Merge(File{Name: "user.toml", Data: []byte(window), Trusted: true}, file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Policy(nil)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.Plan(context.Background(), longRequest(t))
		if err != nil {
			t.Fatal(err)
		}
		out := plan.Result().Raw()
		if len(plan.Changes()) < 5 || bytes.Contains(out, []byte(canary)) {
			t.Errorf("%q: %d changes; the canary is in the request: %v", window, len(plan.Changes()), bytes.Contains(out, []byte(canary)))
		}
	}
}

// longRequest has sixty calls with long results, and a call without one.
func longRequest(t *testing.T) *wire.Request {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4.1","messages":[{"role":"user","content":"go"}`)
	for i := range 60 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"make %d\",\"why\":\"%s\"}"}}]},{"role":"tool","tool_call_id":"c%d","content":"%s"}`,
			i, i, strings.Repeat("a long reason, ", 40), i, strings.Repeat(fmt.Sprintf("line %d of the output\\n", i), 60))
	}
	b.WriteString(`,{"role":"assistant","content":null,"tool_calls":[{"id":"open","type":"function","function":{"name":"Bash","arguments":"{}"}}]},{"role":"user","content":"and now?"}]}`)
	r, err := wire.Parse([]byte(b.String()), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
