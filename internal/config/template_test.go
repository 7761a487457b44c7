package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// setting is a line of the template that says something once its # is gone.
var setting = regexp.MustCompile(`(?m)^#(\[|[a-z_]+ = )`)

// alternative is an option that the template shows in place of another, or with another
// value of it.
var alternative = regexp.MustCompile(`(?m)^# (?:In place of ([\w ]+)|With (\w+)( = .+)): (.*)$`)

func TestTemplateCommentedOutIsTheDefault(t *testing.T) {
	got, err := Parse("pare.toml", Template())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, Default()) {
		t.Errorf("%+v", got)
	}
}

// TestTemplateIsForUsers: what pare init writes is read by people who need not know Go.
func TestTemplateIsForUsers(t *testing.T) {
	for _, word := range []string{"Nil", "nil", "zero value", "struct", "pointer"} {
		if regexp.MustCompile(`\b` + word + `\b`).Match(Template()) {
			t.Errorf("the template says %q", word)
		}
	}
}

func TestTemplateUncommentedIsRight(t *testing.T) {
	text := setting.ReplaceAll(Template(), []byte("$1"))
	if _, err := Parse("pare.toml", text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := alternative.FindAllSubmatch(Template(), -1)
	if len(all) != len(conditions) {
		t.Fatalf("%d alternatives, want %d", len(all), len(conditions))
	}
	remove := func(text []byte, keys string) []byte {
		return regexp.MustCompile(`(?m)^(`+keys+`) = .*$`).ReplaceAll(text, nil)
	}
	for _, m := range all {
		if len(m[2]) == 0 {
			text := remove(text, strings.ReplaceAll(string(m[1]), " and ", "|"))
			checkAlternative(t, bytes.Replace(text, m[0], m[4], 1), m[0])
			continue
		}
		// All that goes with another value goes with it at once; what goes with the
		// first value only is taken out.
		key, value := string(m[2]), string(m[3])
		text := remove(text, map[string]string{"action": "part", "order": "low"}[key]+"|-")
		text = regexp.MustCompile(`(?m)^`+key+` = .*$`).ReplaceAll(text, []byte(key+value))
		for _, other := range all {
			if bytes.Equal(m[2], other[2]) {
				text = bytes.Replace(text, other[0], other[4], 1)
			}
		}
		checkAlternative(t, text, m[0])
	}
}

func checkAlternative(t *testing.T, text, remark []byte) {
	t.Helper()
	if _, err := Parse("pare.toml", text); err != nil {
		t.Errorf("%s: %v", remark, err)
	}
}

// TestTemplateHasEveryOption walks the schema without the code of the template.
func TestTemplateHasEveryOption(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	text := string(Template())
	n := 0
	var walk func(path string, node map[string]any)
	walk = func(path string, node map[string]any) {
		if items, ok := node["items"].(map[string]any); ok {
			node = items
		}
		inside, ok := node["properties"].(map[string]any)
		if _, short := samples[path]; !ok || short {
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
	for path := range samples {
		if key := path[strings.LastIndexByte(path, '.')+1:]; !strings.Contains(text, key+" = "+samples[path]+"\n") {
			t.Errorf("there is an example for %s, and no such option", path)
		}
	}
}

// TestTemplateHasTheDefaults prunes with everything that is on by default written out,
// and wants what comes of no file at all.
func TestTemplateHasTheDefaults(t *testing.T) {
	text := setting.ReplaceAllString(string(Template()), "$1")
	for _, table := range []string{"[window]", "[compact]", "[archive]", "[rules.oversized]", "[[tool]]", "[[expression]]", "[[constraint]]"} { // they add something
		at := strings.Index(text, table)
		end := len(text)
		if i := strings.Index(text[at+1:], "\n["); i >= 0 {
			end = at + 1 + i
		}
		text = text[:at] + text[end:]
	}
	written, err := Parse("pare.toml", []byte(text))
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
		got, want := result(t, written, raw), result(t, Default(), raw)
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
