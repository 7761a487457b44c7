package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/rules"
)

// Tables are those of the standard rules, by name. A rule that the file does not
// mention has none.
type Tables map[string]*Table

// A Table says whether a rule runs and when, and has its options. Many goroutines may
// read it.
type Table struct {
	Switch
	// Options are a pointer to those of the rule's type, such as *rules.Recency. Nil is
	// the default, and right for a rule whose options stand elsewhere in the file.
	Options rulelist.Options
}

// MarshalJSON writes switch and options as one object.
func (t *Table) MarshalJSON() ([]byte, error) {
	first, err := json.Marshal(t.Switch)
	if err != nil || t.Options == nil {
		return first, err
	}
	second, err := json.Marshal(t.Options)
	switch {
	case err != nil:
		return nil, err
	case len(first) == len("{}"):
		return second, nil
	case len(second) == len("{}"):
		return first, nil
	}
	return slices.Concat(bytes.TrimSuffix(first, []byte("}")), []byte(","), second[1:]), nil
}

// homes are the tables in which options stand that are not in that of their rule.
var homes = map[string]string{"protect": "pin"}

// elsewhere tells where an option stands that a rule has, but not in its table.
func elsewhere(path, key string) string {
	switch {
	case path == "rules.protect":
		return "what is pinned is set in pin"
	case path == "window" && strings.HasPrefix(key, "max_"): // as flags are called
		return pick(strings.TrimPrefix(key, "max_"), []string{"tokens", "messages", "exchanges", "turns"})
	case path == "rules" && key == alwaysOn:
		return "pairs stay whole without a rule; how broken ones are repaired is set in repair"
	case strings.HasPrefix(path, "rules.") && (key == "tools" || key == "table"):
		return "tools are the same for all rules and are set in tool"
	}
	return ""
}

// newTable returns the table of a rule with nothing in it.
func newTable(e rulelist.Entry) *Table {
	if homes[e.Name] != "" {
		return &Table{}
	}
	return &Table{Options: e.Options()}
}

// parts are the structs that hold what a table of the file says.
func (t *Table) parts() []reflect.Value {
	all := []reflect.Value{reflect.ValueOf(&t.Switch).Elem()}
	if t.Options != nil {
		all = append(all, reflect.ValueOf(t.Options).Elem())
	}
	return all
}

func ruleNames() []string {
	var names []string
	for _, e := range rulelist.All() {
		names = append(names, e.Name)
	}
	return names
}

// decodeRules reads the tables of the rules that there are.
func (s *source) decodeRules(v *value, into *Tables, path string) {
	out := make(Tables)
	for _, m := range v.members {
		at := join(path, m.key)
		e, ok := rulelist.Named(m.key)
		if !ok {
			if s.full() {
				break // hints take time
			}
			s.unknown("rule", path, m.key, ruleNames())
			continue
		}
		t := newTable(e)
		if s.wants(m.value, table, at, "") {
			s.decodeTable(m.value, at, t.parts()...)
		}
		out[m.key] = t
	}
	if len(out) > 0 {
		*into = out
	}
}

// options returns a copy of what the file says of a rule, so that filling in what
// stands elsewhere leaves the Config as it is.
func (c *Config) options(e rulelist.Entry) rulelist.Options {
	o := e.Options()
	if t := c.Standard[e.Name]; t != nil && t.Options != nil {
		from := reflect.Indirect(reflect.ValueOf(t.Options))
		copied := reflect.New(from.Type())
		copied.Elem().Set(from)
		o = copied.Interface().(rulelist.Options)
	}
	switch o := o.(type) {
	case *rules.Protect:
		o.Selection = c.Pin
	case *rules.Recency:
		if o.Messages == nil && o.Turns == nil && o.Exchanges == nil {
			o.Messages = c.KeepRecent
		}
	}
	return o
}

// runs tells whether a rule runs if no switch says so: a standard one, and one that
// the file has something to say about.
func (c *Config) runs(e rulelist.Entry) bool {
	return e.Standard || c.Standard[e.Name] != nil || homes[e.Name] == "pin" && !reflect.ValueOf(c.Pin).IsZero()
}

// standard makes the standard rules.
func (c *Config) standard(s *source, tools []Tool, windowed bool) []entry {
	c.checkRecent(s)
	for _, name := range sortedNames(c.Standard) {
		if _, ok := rulelist.Named(name); !ok {
			s.unknown("rule", "rules", name, ruleNames())
		}
	}
	var all []entry
	for _, e := range rulelist.All() {
		made := entry{path: "rules." + e.Name, byDefault: c.runs(e) && !(windowed && c.silent(e))}
		if t := c.Standard[e.Name]; t != nil {
			made.sw = t.Switch
		}
		o := c.options(e)
		if got, want := reflect.TypeOf(o), reflect.TypeOf(e.Options()); got != want {
			s.fail(made.path, "", "these are options of another rule: %s, not %s", got.Elem(), want.Elem())
			continue
		}
		shareTools(o, tools)
		at := made.path
		if home := homes[e.Name]; home != "" {
			at = home
		}
		rule, err := o.Rule()
		s.failOptions(at, err)
		made.rule = rule
		all = append(all, made)
	}
	return all
}

func sortedNames(t Tables) []string {
	var names []string
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checkRecent reports what keep_recent, which is a short way to write an option of
// recency, does not go with.
func (c *Config) checkRecent(s *source) {
	t := c.Standard["recency"]
	if c.KeepRecent == nil || t == nil {
		return
	}
	o, _ := t.Options.(*rules.Recency)
	switch {
	case o != nil && (o.Messages != nil || o.Turns != nil || o.Exchanges != nil):
		s.failKey("keep_recent", "keep one of the two", "rules.recency says what is recent too")
	case t.Enabled != nil && !*t.Enabled:
		s.failKey("keep_recent", "remove it, or let the rule run", "rules.recency is switched off")
	}
}

// toolTable is the type of the option that is the same for all rules.
var toolTable = reflect.TypeFor[[]rules.Tool]()

// shareTools gives the tools of the file to a rule that asks for any.
func shareTools(o rulelist.Options, tools []Tool) {
	v := reflect.ValueOf(o).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Type == toolTable {
			v.FieldByIndex(f.Index).Set(reflect.ValueOf(tools))
		}
	}
}

// failOptions reports what a rule says is wrong with its options, at the place of
// each in the file.
func (s *source) failOptions(table string, err error) {
	all, _ := err.(rules.OptionErrors)
	for _, e := range all {
		if path := join(table, e.Option); !s.failed(path) {
			s.fail(path, e.Expected, "%s", e.Problem)
		}
	}
}

// buildTools returns the tools that are right and reports what is wrong with the
// others.
func (c *Config) buildTools(s *source) []Tool {
	var good []Tool
	for i, t := range c.Tools {
		path := fmt.Sprintf("tool.%d", i)
		if s.checkTool(t, path, c.Tools[:i]) {
			good = append(good, t)
		}
	}
	return good
}

// checkTool reports what is wrong with a tool, and whether it is right.
func (s *source) checkTool(t Tool, path string, before []Tool) bool {
	switch {
	case t.Name == "":
		s.fail(path, "write "+s.assign("name", `"my_tool"`), "name is missing")
		return false
	case slices.ContainsFunc(before, func(other Tool) bool { return strings.EqualFold(other.Name, t.Name) }):
		s.fail(join(path, "name"), "say all about it in one table", "%q has a table already", t.Name)
		return false
	case len(t.Commands) > 0 && t.Command == "":
		s.failKey(join(path, "commands"), "write "+s.assign("command", `"action"`)+" if that argument is called action", "command is missing, which names the argument that these are values of")
		return false
	}
	_, err := rulesx.Compile(rules.Selection{Table: []Tool{t}})
	all, _ := err.(rules.OptionErrors)
	for _, e := range all {
		if at := join(path, strings.TrimPrefix(e.Option, "table.0.")); !s.failed(at) {
			s.fail(at, e.Expected, "%s", e.Problem)
		}
	}
	return err == nil
}
