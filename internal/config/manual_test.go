package config

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestManualKeys wants every key of the schema in the manual, with its type and what it
// does; -update writes the list. A key that need not be given tells its default.
func TestManualKeys(t *testing.T) {
	var schema property
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n| key | is | does |\n| --- | --- | --- |\n")
	n := 0
	var walk func(path string, p property)
	walk = func(path string, p property) {
		inside, list := p, ""
		if p.Items != nil && len(p.Items.Properties) > 0 {
			inside, list = *p.Items, "[]"
		}
		if len(inside.Properties) == 0 {
			n++
			is := typeOf(p)
			if c, _ := rowOf(strings.ReplaceAll(path, "[]", "")); c.isSensitive() {
				is += "; [sensitive](#trust)"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", path, is, strings.ReplaceAll(p.Description, "|", "\\|"))
			return
		}
		for _, o := range inside.Properties {
			required := false
			for _, key := range inside.Required {
				required = required || key == o.key
			}
			at := join(path+list, o.key)
			leaf := len(o.Properties) == 0 && (o.Items == nil || len(o.Items.Properties) == 0)
			if leaf && !required && !strings.Contains(o.Description, "Default: ") {
				t.Errorf("%s: nothing is said of its default: %s", at, o.Description)
			}
			walk(at, o.property)
		}
	}
	walk("", schema)
	if n < 90 {
		t.Errorf("only %d keys", n)
	}
	const begin, end = "<!-- keys -->", "<!-- end of keys -->"
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	was, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the keys", manual)
	}
	b.WriteString("\n")
	if *update {
		if err := os.WriteFile(manual, []byte(head+begin+"\n"+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != "\n"+b.String() {
		t.Errorf("the keys in %s are stale; run go test ./internal/config -run TestManualKeys -update", manual)
	}
}

// typeOf says what a value is, in a word or by its choices.
func typeOf(p property) string {
	names := map[string]string{"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "object": "table", "array": "list"}
	if len(p.Enum) > 0 {
		var all []string
		for _, e := range p.Enum {
			all = append(all, fmt.Sprintf("`%q`", e))
		}
		return strings.Join(all, ", ")
	}
	if p.Items != nil {
		return "list of: " + typeOf(*p.Items)
	}
	var all []string
	for _, k := range p.Type {
		all = append(all, names[k])
	}
	return strings.Join(all, " or ")
}
