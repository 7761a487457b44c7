package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pare-llm/pare/config"
	"github.com/pare-llm/pare/wire"
)

// setting is a line of the template that says something once its # is gone.
var setting = regexp.MustCompile(`(?m)^#(\[|[a-z_]+ = )`)

// alternative is an option that the template shows in place of another, or with another
// value of it.
var alternative = regexp.MustCompile(`(?m)^# (?:In place of ([\w ]+)|With (\w+)( = .+)): (.*)$`)

func TestTemplateCommentedOutIsTheDefault(t *testing.T) {
	got, err := config.Parse("pare.toml", configTemplate())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, config.Default()) {
		t.Errorf("%+v", got)
	}
}

func TestTemplateUncommentedIsRight(t *testing.T) {
	text := setting.ReplaceAll(configTemplate(), []byte("$1"))
	if _, err := config.Parse("pare.toml", text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := alternative.FindAllSubmatch(configTemplate(), -1)
	if len(all) != len(conditions) {
		t.Fatalf("%d alternatives, want %d", len(all), len(conditions))
	}
	for _, m := range all {
		others := strings.ReplaceAll(string(m[1])+string(m[2]), " and ", "|")
		other := regexp.MustCompile(`(?m)^(` + others + `) = .*$`)
		if len(m[2]) > 0 {
			text := regexp.MustCompile(`(?m)^part = .*$`).ReplaceAll(text, nil) // goes with clear
			checkAlternative(t, other.ReplaceAll(text, []byte("$1"+string(m[3]))), m[0], m[4])
			continue
		}
		checkAlternative(t, other.ReplaceAll(text, nil), m[0], m[4])
	}
}

func checkAlternative(t *testing.T, text, remark, option []byte) {
	t.Helper()
	if _, err := config.Parse("pare.toml", bytes.Replace(text, remark, option, 1)); err != nil {
		t.Errorf("%s: %v", remark, err)
	}
}

// TestTemplateHasEveryOption walks the schema without the code of the template.
func TestTemplateHasEveryOption(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(config.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	text := string(configTemplate())
	n := 0
	var walk func(path string, node map[string]any)
	walk = func(path string, node map[string]any) {
		if items, ok := node["items"].(map[string]any); ok {
			node = items
		}
		inside, ok := node["properties"].(map[string]any)
		if _, short := examples[path]; !ok || short {
			n++
			table, key := "", path
			if i := strings.LastIndexByte(path, '.'); i >= 0 {
				table, key = path[:i], path[i+1:]
			}
			part := text
			if table != "" {
				_, part, _ = strings.Cut(text, "["+table+"]")
				part, _, _ = strings.Cut(part, "\n#[")
			}
			if !strings.Contains(part, "\n#"+key+" = ") && conditions[path] == "" && key != "$schema" {
				t.Errorf("%s is missing", path)
			}
			return
		}
		for key, child := range inside {
			walk(strings.TrimPrefix(path+"."+key, "."), child.(map[string]any))
		}
	}
	walk("", schema)
	if n < 60 {
		t.Errorf("only %d options were found in the schema", n)
	}
	for path := range examples {
		if key := path[strings.LastIndexByte(path, '.')+1:]; !strings.Contains(text, key+" = "+examples[path]+"\n") {
			t.Errorf("there is an example for %s, and no such option", path)
		}
	}
}

// TestTemplateHasTheDefaults prunes with everything that is on by default written out,
// and wants what comes of no file at all.
func TestTemplateHasTheDefaults(t *testing.T) {
	text := setting.ReplaceAllString(string(configTemplate()), "$1")
	for _, table := range []string{"[rules.oversized]", "[[tool]]", "[[expression]]", "[[constraint]]"} { // they add something
		at := strings.Index(text, table)
		end := len(text)
		if i := strings.Index(text[at+1:], "\n["); i >= 0 {
			end = at + 1 + i
		}
		text = text[:at] + text[end:]
	}
	written, err := config.Parse("pare.toml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	files, err := filepath.Glob("../../examples/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	changed := 0
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, want := prunedBy(t, written, raw), prunedBy(t, config.Default(), raw)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: with the defaults written out\n%s\nwithout a file\n%s", name, got, want)
		}
		if !bytes.Equal(want, raw) {
			changed++
		}
	}
	if changed == 0 {
		t.Error("nothing was pruned, so nothing is shown")
	}
}

func prunedBy(t *testing.T, c *config.Config, raw []byte) []byte {
	t.Helper()
	p, err := c.Pipeline()
	if err != nil {
		t.Fatal(err)
	}
	r, err := wire.Parse(raw, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(r, c.Options())
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Apply()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
