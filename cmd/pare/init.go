package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pare-llm/pare/config"
	"github.com/pare-llm/pare/internal/source"
)

type initCmd struct {
	File  string `arg:"" optional:"" help:"The file to write, or - for standard output. Default: pare.toml in this folder."`
	Force bool   `short:"f" help:"Replace the file if there is one."`
}

// Help is the page's first paragraph.
func (c *initCmd) Help() string {
	return `For example:

    pare init                     write pare.toml in this folder
    pare init ~/pare.toml
    pare init - | less            only look at it

The file has every option, with its default and a line that says what it does. All of it
is commented out, so that it changes nothing until you take a # away. prune, trim,
replay and view use the pare.toml of the folder in which they are run.`
}

func (c *initCmd) run(w *world) int {
	name := c.File
	if name == "" {
		name = configName
	}
	text := configTemplate()
	if name == source.Stdin {
		return w.say(text)
	}
	if _, err := os.Lstat(name); err == nil && !c.Force {
		return w.fail(name+" is there already", "give another name, or --force to replace it; pare rules --check "+name+" tells whether it is right")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.fail("write "+name+": "+failure(err).Message, "")
	}
	if err := w.files.WriteFile(name, text); err != nil {
		return w.fail(err.Error(), writeHint(err, false))
	}
	fmt.Fprintf(w.stdout, "%s\n", plain(name))
	fmt.Fprintf(w.stderr, "      take the # away from what you want to change, then see what runs: pare rules %s\n", quoted(name))
	return statusClean
}

// A property is a part of the schema of the configuration. What the schema does not
// know of a property, its default, is in its description.
type property struct {
	Type        string
	Description string
	Enum        []string
	Items       *property
	Properties  optionList
	Required    []string
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

// examples are the values shown where there is no default that could be written down:
// the option has none, or it depends on another.
var examples = map[string]string{
	"repair.stub":          `"The outcome of this call is unknown: no result was recorded."`,
	"rules.oversized.head": "8192",
	"rules.oversized.tail": "4096",
	"tool.name":            `"fs_cat"`,
	"tool.kind":            `"read"`,
	"tool.lines":           "2000",
	"expression.name":      `"old-searches"`,
	"expression.when":      `'kind == "search" and age > 3'`,
	"expression.action":    `"clear"`,
	"expression.reason":    `"searches of three turns ago"`,
	"constraint.name":      `"edits-need-the-plan"`,
	"constraint.keep":      `{ tools = ["Edit"] }`,
	"constraint.needs":     `{ paths = ["PLAN.md"] }`,
	"constraint.together":  `{ paths = ["parser.go", "parser_test.go"] }`,
}

// conditions are options that do not go with all others, and when they are right.
var conditions = map[string]string{
	"rules.recency.messages":  "In place of keep_recent",
	"rules.recency.turns":     "In place of keep_recent",
	"rules.recency.exchanges": "In place of keep_recent",
	"expression.head":         `With action = "shorten"`,
	"expression.tail":         `With action = "shorten"`,
	"constraint.together":     "In place of keep and needs",
}

// configTemplate writes every option of the schema as a comment. A # with no space
// behind it is one to take away; what follows "# " is for reading.
func configTemplate() []byte {
	var schema property
	if err := json.Unmarshal(config.Schema, &schema); err != nil {
		panic(err) // it is ours
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `#:schema %s

# How pare mends and prunes histories. Everything here is as it is without this file; to
# change something, take away the # in front of it and of the [table] it stands in.
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

const schemaAddress = "https://github.com/pare-llm/pare/raw/main/config/pare.schema.json"

// parted separates the keys of a table from the tables in it, which TOML wants last. A
// table that has an example fits a line.
func parted(all optionList, path string) (keys, tables optionList) {
	for _, m := range all {
		if _, short := examples[path+m.key]; short {
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

// defaults are the ways in which a description tells a default.
var defaults = []*regexp.Regexp{
	regexp.MustCompile(`Default: ([\w-]+)[.,]`),
	regexp.MustCompile(`; (\d+) if it is not given`),
	regexp.MustCompile(`"([\w-]+)" \(the default\)`),
}

// value is the default of an option or, where that cannot be written, an example.
func (m *option) value(path string) string {
	if v, ok := examples[path]; ok {
		return v
	}
	said := ""
	for _, d := range defaults {
		if found := d.FindStringSubmatch(m.Description); found != nil && said == "" {
			said = found[1]
		}
	}
	switch m.Type {
	case "array":
		return "[]"
	case "object":
		return "{}"
	case "boolean":
		if said == "true" || m.key == "enabled" {
			return "true"
		}
		return "false"
	case "integer":
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
