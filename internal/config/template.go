package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A property is a part of the schema of the configuration. What the schema does not
// know of a property, its default, is in its description.
type property struct {
	Type        kinds
	Description string
	Enum        []string
	Items       *property
	Properties  optionList
	Required    []string
}

// kinds is the types that a value may have; the schema writes one without a list.
type kinds []string

func (k *kinds) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, (*[]string)(k))
	}
	*k = make(kinds, 1)
	return json.Unmarshal(raw, &(*k)[0])
}

// An optionList is the properties of a table in the order of the schema.
type optionList []option

type option struct {
	key string
	property
}

func (m *optionList) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		one := option{key: key.(string)}
		if err := dec.Decode(&one.property); err != nil {
			return err
		}
		*m = append(*m, one)
	}
	return nil
}

// samples are the values shown where there is no default that could be written down:
// the option has none, or it depends on another.
var samples = map[string]string{
	"repair.stub":                `"The outcome of this call is unknown: no result was recorded."`,
	"window.tokens":              `"model"`,
	"window.messages":            "100",
	"window.exchanges":           "50",
	"window.turns":               "20",
	"window.low":                 `"50%"`,
	"window.priority":            `[{ tool = "Read*", rank = -1 }]`,
	"compact.endpoint":           `"https://api.openai.com"`,
	"compact.model":              `"gpt-5-mini"`,
	"compact.key_env":            `"OPENAI_API_KEY"`,
	"archive.file":               `"removed.jsonl"`,
	"rules.oversized.max_bytes":  "16384",
	"rules.oversized.read_bytes": "40960",
	"rules.oversized.head":       "8192",
	"rules.oversized.tail":       "4096",
	"tool.name":                  `"fs_cat"`,
	"tool.kind":                  `"read"`,
	"tool.lines":                 "2000",
	"expression.name":            `"old-searches"`,
	"expression.when":            `'kind == "search" and age > 3'`,
	"expression.action":          `"clear"`,
	"expression.reason":          `"searches of three turns ago"`,
	"constraint.name":            `"edits-need-the-plan"`,
	"constraint.keep":            `{ tools = ["Edit"] }`,
	"constraint.needs":           `{ paths = ["PLAN.md"] }`,
	"constraint.together":        `{ paths = ["parser.go", "parser_test.go"] }`,
}

// conditions are options that do not go with all others, and when they are right.
var conditions = map[string]string{
	"rules.recency.messages":  "In place of keep_recent",
	"rules.recency.turns":     "In place of keep_recent",
	"rules.recency.exchanges": "In place of keep_recent",
	"window.priority":         `With order = "priority"`,
	"compact.endpoint":        `With by = "endpoint"`,
	"compact.api":             `With by = "endpoint"`,
	"compact.model":           `With by = "endpoint"`,
	"compact.key_env":         `With by = "endpoint"`,
	"compact.plain_http":      `With by = "endpoint"`,
	"expression.head":         `With action = "shorten"`,
	"expression.tail":         `With action = "shorten"`,
	"constraint.together":     "In place of keep and needs",
}

// Template returns a pare.toml with every option, its default and what it does, all of
// it commented out: it changes nothing. A # with no space behind it is one to take
// away; what follows "# " is for reading.
func Template() []byte {
	var schema property
	if err := json.Unmarshal(Schema, &schema); err != nil {
		panic(err) // it is ours
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `#:schema %s

# How pare repairs, prunes and trims histories. Everything here is as it is without this file; to
# change something, remove the # in front of it and of the [table] it stands in.
# pare rules shows what runs then. All about it: docs/config.md

`, schemaAddress)
	keys, tables := parted(schema.Properties, "")
	for _, k := range keys {
		if !strings.HasPrefix(k.key, "$") { // that is for JSON; the first line does it here
			k.write(&b, "")
		}
	}
	for _, t := range tables {
		t.table(&b, t.key)
	}
	return b.Bytes()
}

const schemaAddress = "https://github.com/pare-llm/pare/raw/main/internal/config/pare.schema.json"

// parted separates the keys of a table from the tables in it, which TOML wants last. A
// table that has an example fits a line.
func parted(all optionList, path string) (keys, tables optionList) {
	for _, m := range all {
		if _, short := samples[path+m.key]; short {
			keys = append(keys, m)
			continue
		}
		if len(m.Properties) > 0 || m.Items != nil && len(m.Items.Properties) > 0 {
			tables = append(tables, m)
			continue
		}
		keys = append(keys, m)
	}
	return keys, tables
}

// table writes a table, those in it below.
func (m *option) table(b *bytes.Buffer, path string) {
	inside, head := m.Properties, "["+path+"]"
	if m.Items != nil {
		inside, head = m.Items.Properties, "[["+path+"]]"
	}
	keys, tables := parted(inside, path+".")
	fmt.Fprintf(b, "\n# %s\n", m.Description)
	if len(keys) > 0 {
		fmt.Fprintf(b, "#%s\n\n", head)
	}
	for _, k := range keys {
		k.write(b, path+".")
	}
	for _, t := range tables {
		t.table(b, path+"."+t.key)
	}
}

// write writes one option.
func (m *option) write(b *bytes.Buffer, table string) {
	fmt.Fprintf(b, "# %s\n", m.Description)
	assignment := m.key + " = " + m.value(table+m.key)
	if when, ok := conditions[table+m.key]; ok {
		fmt.Fprintf(b, "# %s: %s\n\n", when, assignment)
		return
	}
	fmt.Fprintf(b, "#%s\n\n", assignment)
}

// aDefault is how a description tells a default that can be written down.
var aDefault = regexp.MustCompile(`Default: ([\w-]+)[.,]`)

// value is the default of an option or, where that cannot be written, an example.
func (m *option) value(path string) string {
	if v, ok := samples[path]; ok {
		return v
	}
	said := ""
	if found := aDefault.FindStringSubmatch(m.Description); found != nil {
		said = found[1]
	}
	switch m.Type[0] {
	case "array":
		return "[]"
	case "object":
		return "{}"
	case "boolean":
		if said == "true" || m.key == "enabled" {
			return "true"
		}
		return "false"
	case "integer", "number":
		if said == "" || strings.Trim(said, "0123456789") != "" {
			return "0"
		}
		return said
	}
	if len(m.Enum) > 0 && !slices.Contains(m.Enum, said) || said == "none" {
		said = ""
	}
	return fmt.Sprintf("%q", said)
}
