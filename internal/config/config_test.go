package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

const manual = "../../docs/config.md"

// blocks returns the blocks of a language in the manual.
func blocks(t testing.TB, language string) []string {
	t.Helper()
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, part := range strings.Split(string(data), "\n```") {
		if code, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			all = append(all, code+"\n")
		}
	}
	if len(all) == 0 {
		t.Fatalf("no %s in %s", language, manual)
	}
	return all
}

func mustParse(t testing.TB, name, data string) *Config {
	t.Helper()
	c, err := Parse(name, []byte(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return c
}

// TestManual loads every example of the manual, checks it against the schema and runs
// it on a request.
func TestManual(t *testing.T) {
	for _, code := range blocks(t, "toml") {
		c := mustParse(t, "pare.toml", code)
		checkGood(t, c)
		checkRuns(t, c)
	}
	for _, code := range blocks(t, "json") {
		c := mustParse(t, "pare.json", code)
		checkGood(t, c)
		checkRuns(t, c)
		if err := validate(t, []byte(code)); err != nil {
			t.Errorf("schema: %v", err)
		}
	}
}

// checkRuns wants the policy of a configuration to make a plan that leaves nothing to
// refuse, in every dialect. No request here is so long that a model would be asked.
func checkRuns(t testing.TB, c *Config) {
	t.Helper()
	p, err := c.Policy(func(string) string { return "a key" })
	if err != nil {
		t.Fatal(err)
	}
	p.Model = "gpt-4.1" // whose window is known
	for _, d := range wire.Dialects() {
		plan, err := p.Plan(context.Background(), parse(t, histories.MustParse(talk).Render(d, histories.RenderOptions{})))
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		if _, err := plan.Apply(); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// checkGood checks what holds for every good configuration: it survives both
// formats, fits the schema and gives the same rules again.
func checkGood(t testing.TB, c *Config) {
	t.Helper()
	asJSON, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	asTOML, err := c.TOML()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, asJSON); err != nil {
		t.Errorf("schema: %v\n%s", err, asJSON)
	}
	for name, data := range map[string][]byte{"pare.json": asJSON, "pare.toml": asTOML} {
		again := mustParse(t, name, string(data))
		if !reflect.DeepEqual(c, again) {
			t.Errorf("%s: not the same again:\n%s", name, data)
		}
		if got, want := describe(again.Rules()), describe(c.Rules()); got != want || got == "" {
			t.Errorf("%s: the rules become\n%s\nfrom\n%s", name, got, want)
		}
	}
}

func describe(all []pare.Rule) string {
	var b strings.Builder
	for _, r := range all {
		b.WriteString(r.Name + ": " + r.Doc + " after " + strings.Join(r.After, ",") + " before " + strings.Join(r.Before, ",") + "\n")
	}
	return b.String()
}

// schema reads the published schema.
var schema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
})

// validate checks a JSON document against the published schema.
func validate(t testing.TB, data []byte) error {
	t.Helper()
	resolved, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

// TestManualIsComplete wants every name and every function of expressions in the
// manual; every key is wanted by TestManualKeys.
func TestManualIsComplete(t *testing.T) {
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	comments := fieldComments(t, ".")
	env := reflect.TypeFor[env]()
	for i := range env.NumField() {
		if name := env.Field(i).Tag.Get("expr"); name != matcher && !bytes.Contains(data, []byte("| `"+name)) {
			t.Errorf("%s does not explain %s: %s", manual, name, comments["env."+env.Field(i).Name])
		}
	}
	for _, f := range functions {
		if !bytes.Contains(data, []byte("`"+f+"`")) {
			t.Errorf("%s does not list %s", manual, f)
		}
	}
}

// TestStandardRules wants the default to be the standard, and every rule that there is
// to have a table.
func TestStandardRules(t *testing.T) {
	for _, e := range rulelist.All() {
		c := mustParse(t, "pare.toml", "[rules."+e.Name+"]\nenabled = true\n")
		if !slices.ContainsFunc(c.Rules(), func(r pare.Rule) bool { return r.Name == e.Name }) {
			t.Errorf("%s does not run although it has a table", e.Name)
		}
		checkGood(t, c)
	}
	p, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(Default().Rules()), describe(p.Rules()); got != want {
		t.Errorf("the default is\n%s\nthe standard\n%s", got, want)
	}
	checkGood(t, Default())
}

// TestFormats wants the same from both formats.
func TestFormats(t *testing.T) {
	a, err := Load("testdata/good.toml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load("testdata/good.json")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
	checkGood(t, a)
	got := ""
	for _, r := range a.Rules() {
		got += r.Name + " "
	}
	if want := "deduplication poll oversized superseded-writes protect recency "; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if data, err := os.ReadFile("testdata/good.json"); err != nil || validate(t, data) != nil {
		t.Errorf("schema: %v %v", err, validate(t, data))
	}
	body := histories.MustParse(talk).Render(wire.OpenAIChat, histories.RenderOptions{})
	if x, y := result(t, a, body), result(t, b, body); !bytes.Equal(x, y) {
		t.Errorf("the two formats give two results")
	}
}

func result(t *testing.T, c *Config, body []byte) []byte {
	t.Helper()
	p, err := c.Policy(nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(context.Background(), parse(t, body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Apply()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchemaRefuses wants the schema to refuse what can be seen without running
// anything, so that editors say it first.
func TestSchemaRefuses(t *testing.T) {
	for _, bad := range []string{
		`{"keep_recnt": 1}`, `{"keep_recent": "1"}`, `{"keep_recent": -1}`, `{"keep_recent": 1.5}`, `{"repair": {"orphan_call": "stubb"}}`, `{"rules": {"dedup": {}}}`,
		`{"rules": {"recency": {"message": 1}}}`, `{"rules": {"tool-pairing": {}}}`, `{"pin": []}`, `{"pin": {"roles": ["robot"]}}`, `{"tool": [{}]}`,
		`{"tool": [{"name": "x", "lines": -2}]}`, `{"expression": {}}`, `{"expression": [{"name": "a", "when": "failed"}]}`, `{"expression": [{"name": "a", "when": "failed", "action": "x"}]}`, `[]`,
	} {
		if validate(t, []byte(bad)) == nil {
			t.Errorf("the schema takes %s", bad)
		}
		if _, err := Parse("pare.json", []byte(bad)); err == nil {
			t.Errorf("Parse takes %s", bad)
		}
	}
}

// TestTools wants a tool of the configuration to be known to rules and expressions.
func TestTools(t *testing.T) {
	c := mustParse(t, "x.toml", `
keep_recent = 0
[[tool]]
name = "cat"
kind = "read"
path = "target"
[[expression]]
name = "x"
when = 'kind == "read" and path == "a/b.go"'
action = "drop"
`)
	body := histories.MustParse(`user "x" | call c cat {"target":"a/./b.go"} | result c yes | user "y"`).Render(wire.Anthropic, histories.RenderOptions{})
	if out := result(t, c, body); bytes.Contains(out, []byte("b.go")) {
		t.Errorf("%s", out)
	}
}

// TestCleared wants a call whose arguments were cleared to be about the same file still.
func TestCleared(t *testing.T) {
	c := mustParse(t, "x.toml", "keep_recent = 0\n[[expression]]\nname = 'x'\nwhen = 'kind == \"write\" and path == \"a.go\"'\naction = 'clear'\npart = 'arguments'\n")
	drop := mustParse(t, "x.toml", "keep_recent = 0\n[[expression]]\nname = 'x'\nwhen = 'kind == \"write\" and path == \"a.go\"'\naction = 'drop'\n")
	script := histories.MustParse(`user "x" | call c Write a.go content="` + strings.Repeat("text ", 300) + `" | result c "written" | user "y"`)
	for _, d := range wire.Dialects() {
		once := result(t, c, script.Render(d, histories.RenderOptions{}))
		if bytes.Contains(once, []byte("text text")) || !bytes.Contains(once, []byte("written")) {
			t.Errorf("%s: not cleared: %s", d, once)
		}
		if out := result(t, drop, once); bytes.Contains(once, []byte(`"a.go"`)) && bytes.Contains(out, []byte("written")) {
			t.Errorf("%s: a cleared call is about no file: %s", d, out)
		}
	}
}

// TestSpared wants expressions to leave alone what no rule may touch.
func TestSpared(t *testing.T) {
	for script, touched := range map[string]bool{
		`user "x" | call c Bash command=ls | result c "some output"`:                                       true,
		`user "x" | call c TodoWrite todos=1 | result c "some output"`:                                     false,
		`user "x" | call c Bash command=ls | result c "The user said: do not delete my files"`:             false,
		`user "x" | call c Bash command=ls | result c "some output" | call d Bash command=ps`:              true,
		`user "x" | call c Bash command=ls | result c "some output" | user "y" | say "z" | user "and now"`: true,
	} {
		c := mustParse(t, "x.toml", "keep_recent = 0\n[repair]\nkeep_open = true\n[[expression]]\nname = 'x'\nwhen = 'true'\naction = 'drop'\n")
		for _, d := range wire.Dialects() {
			out := result(t, c, histories.MustParse(script).Render(d, histories.RenderOptions{}))
			gone := !bytes.Contains(out, []byte("some output")) && !bytes.Contains(out, []byte("do not delete"))
			if gone != touched {
				t.Errorf("%s: %s: touched %t\n%s", d, script, gone, out)
			}
			if strings.Contains(script, "call d") && !bytes.Contains(out, []byte(`ps`)) {
				t.Errorf("%s: an open call is gone: %s", d, script)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Errorf("a folder was taken")
	}
	large := filepath.Join(t.TempDir(), "large.toml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("# x\n"), maxFile/4+1), 0o600); err != nil {
		t.Fatal(err)
	}
	var all Errors
	if _, err := Load(large); !errors.As(err, &all) {
		t.Errorf("got %v", err)
	}
	for _, empty := range []string{"", "\n", "# nothing\n", "\ufeff", "\ufeffkeep_recent = 10\n"} {
		mustParse(t, "pare.toml", empty)
	}
	mustParse(t, "config", "{}")
	mustParse(t, "config", "keep_recent = 3")
}

// TestHostileFiles wants files that are made to be slow refused at once.
func TestHostileFiles(t *testing.T) {
	var keys, dotted, rows strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&keys, "k%d = 1\n", i)
		fmt.Fprintf(&dotted, "k%d.a = 1\n", i)
	}
	for i := range 1_000 {
		fmt.Fprintf(&rows, "[[expression]]\nname = 'a%d'\nwhen = 'failed'\naction = 'drop'\nafter = ['a%d']\n", i, i+1)
	}
	for name, data := range map[string]string{
		"keys.toml": keys.String(), "dotted.toml": dotted.String(), "rows.toml": rows.String(),
		"deep.toml":   strings.Repeat("a.", 60_000) + "a = 1",
		"header.toml": "[" + strings.Repeat("a.", 60_000) + "a]",
		"list.toml":   "tool = " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"lists.toml":  "tool = " + strings.Repeat("[", 100_000),
		"deep.json":   strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000),
		"list.json":   `{"tool":` + strings.Repeat("[", 60_000) + strings.Repeat("]", 60_000) + "}",
		"glob.toml":   "[pin]\npaths = [" + strings.Repeat("'[',", 30_000) + "]",
	} {
		if len(data) > maxFile {
			t.Errorf("%s is refused by its size", name)
		}
		_, err := Parse(name, []byte(data))
		var all Errors
		if !errors.As(err, &all) || len(all) > maxErrors {
			t.Errorf("%s: %d errors", name, len(all))
		}
	}
}

// TestPipelineOfGo wants a Config that was made wrong in Go to be refused as well.
func TestPipelineOfGo(t *testing.T) {
	minus := -1
	for _, c := range []*Config{
		{Expressions: []Expression{{Name: "a", When: "size", Action: "drop"}}},
		{Expressions: []Expression{{Name: "a", When: "failed", Action: "drop", Switch: Switch{After: []string{"a"}}}}},
		{KeepRecent: &minus},
		{Repair: Repair{OrphanCall: "x"}},
		{Repair: Repair{OrphanResult: "x"}},
		{Standard: Tables{"magic": {}}},
		{Standard: Tables{"recency": {Options: &rules.Oversized{}}}},
		{Standard: Tables{"recency": {Options: rules.Recency{Turns: &minus}}}},
		{Pin: Pin{Paths: []string{"["}}},
		{Tools: []Tool{{}}},
		{Expressions: []Expression{{When: "failed", Action: "drop"}}},
		{Expressions: []Expression{{Name: "a", When: "failed", Action: "explode"}}},
		{Expressions: []Expression{{Name: "a", Action: "drop"}}},
	} {
		var all Errors
		if p, err := c.Pipeline(); p != nil || !errors.As(err, &all) || c.Rules() != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// FuzzParse wants no panic, whatever the bytes, and what is taken to survive both
// formats.
func FuzzParse(f *testing.F) {
	for _, c := range readBad(f) {
		f.Add(strings.HasPrefix(c.name, "pare.json"), []byte(c.input))
	}
	for _, code := range blocks(f, "toml") {
		f.Add(false, []byte(code))
	}
	for _, code := range blocks(f, "json") {
		f.Add(true, []byte(code))
	}
	f.Fuzz(func(t *testing.T, asJSON bool, data []byte) {
		name := "pare.toml"
		if asJSON {
			name = "pare.json"
		}
		c, err := Parse(name, data)
		if err != nil {
			var all Errors
			if !errors.As(err, &all) || len(all) == 0 || c != nil {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		checkGood(t, c)
	})
}
