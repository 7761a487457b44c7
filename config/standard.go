package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pare-llm/pare/rules"
)

// Repair says how broken histories are mended.
type Repair = rules.PairingOptions

// A Tool says what a tool does and what its arguments mean.
type Tool = rules.Tool

// Standard has the standard rules by name. Nil is a rule that the file does not
// mention.
type Standard struct {
	// Clear what a later call of the same tool returned again.
	Deduplication *Deduplication `json:"deduplication,omitempty"`
	// Clear writes that a later write of the same file replaced.
	SupersededWrites *SupersededWrites `json:"superseded-writes,omitempty"`
	// Clear failed calls that a later success made moot.
	ErrorPurging *ErrorPurging `json:"error-purging,omitempty"`
	// An anchor for the order; what it does is in repair.
	ToolPairing *Plain `json:"tool-pairing,omitempty"`
	// Protect what is new.
	Recency *Recency `json:"recency,omitempty"`
	// Shorten huge results and arguments. It runs if it has a table.
	Oversized *Oversized `json:"oversized,omitempty"`
	// Protect what is pinned; what that is, is in pin.
	Protect *Plain `json:"protect,omitempty"`
}

// The tables of the standard rules: what every rule has, and its own options.
type (
	Deduplication struct {
		Switch
		rules.DeduplicationOptions
	}
	SupersededWrites struct {
		Switch
		rules.SupersededWritesOptions
	}
	ErrorPurging struct {
		Switch
		rules.ErrorPurgingOptions
	}
	Recency struct {
		Switch
		rules.RecencyOptions
	}
	Oversized struct {
		Switch
		rules.OversizedOptions
	}
	// Plain is the table of a rule whose options stand elsewhere.
	Plain struct{ Switch }
)

// A Pin says what must stay, whatever the rules say. Each entry of each list pins
// something of its own.
type Pin struct {
	// The first message of a person, which states the task.
	FirstUser bool `json:"first_user,omitempty"`
	// Messages of these roles: system, user, assistant or tool.
	Roles []string `json:"roles,omitempty" enum:"system,user,assistant,tool"`
	// Exchanges of tools that match one of these globs.
	Tools []string `json:"tools,omitempty"`
	// Exchanges about files that match one of these globs; ** stands for any number of folders.
	Paths []string `json:"paths,omitempty"`
	// Messages in which one of these texts stands.
	Markers []string `json:"markers,omitempty"`
	// Messages by index; negative counts from the end.
	Messages []int `json:"messages,omitempty" min:"-1000000"`
	// Blocks of these kinds.
	Kinds []string `json:"kinds,omitempty" enum:"text,thinking,call,result,server call,server result,media,other"`
}

func (p Pin) empty() bool { return reflect.ValueOf(p).IsZero() }

// elsewhere tells where an option stands that a rule has, but not in its table.
func elsewhere(path, key string) string {
	switch {
	case path == "rules.tool-pairing":
		return "how broken pairs are mended is set in repair"
	case path == "rules.protect":
		return "what is pinned is set in pin"
	case strings.HasPrefix(path, "rules.") && key == "tools":
		return "tools are the same for all rules and are set in tool"
	}
	return ""
}

const exampleTool = `"my_tool"`

// tagsOf returns the tags of a field. Those of the rules' structs are completed with
// what only the rules' code says; ok is false for an option that no table shows,
// because the tools are the same for all rules.
func tagsOf(owner reflect.Type, f reflect.StructField) (tag reflect.StructTag, ok bool) {
	switch {
	case owner == reflect.TypeFor[rules.Scope]() && f.Name == "Tools":
		return "", false
	case owner == reflect.TypeFor[rules.Tool]() && f.Name == "Name":
		return f.Tag + ` required:"\"my_tool\""`, true
	case owner == reflect.TypeFor[rules.Tool]() && f.Name == "Lines":
		return f.Tag + ` min:"-1"`, true
	case owner == reflect.TypeFor[rules.Tool]() && f.Name == "Commands":
		return f.Tag + ` enum:"read,write,edit,search,run,other"`, true
	case owner == reflect.TypeFor[rules.OversizedOptions]() && f.Name == "MaxBytes":
		return f.Tag + ` min:"1024"`, true
	}
	return f.Tag, true
}

// standard makes the standard rules.
func (c *Config) standard(s *source, tools []Tool) []entry {
	t := &c.Standard
	dedup, superseded, purging, oversized := orNew(t.Deduplication), orNew(t.SupersededWrites), orNew(t.ErrorPurging), orNew(t.Oversized)
	pairing, protect := orNew(t.ToolPairing), orNew(t.Protect)
	dedup.Tools, superseded.Tools, purging.Tools, oversized.Tools = tools, tools, tools, tools
	pins := rules.ProtectOptions{
		Roles: c.Pin.Roles, ToolNames: c.Pin.Tools, Paths: c.Pin.Paths, Markers: c.Pin.Markers, Messages: c.Pin.Messages,
		FirstUser: c.Pin.FirstUser, Kinds: c.Pin.Kinds, Tools: tools,
	}
	return []entry{
		makeRule(s, "rules.deduplication", dedup.Switch, true, &dedup.DeduplicationOptions, nil),
		makeRule(s, "rules.superseded-writes", superseded.Switch, true, &superseded.SupersededWritesOptions, nil),
		makeRule(s, "rules.error-purging", purging.Switch, true, &purging.ErrorPurgingOptions, nil),
		makeRule(s, "rules.tool-pairing", pairing.Switch, true, &rules.PairingOptions{}, nil),
		c.recency(s),
		makeRule(s, "rules.oversized", oversized.Switch, t.Oversized != nil, &oversized.OversizedOptions, nil),
		makeRule(s, "rules.protect", protect.Switch, !c.Pin.empty() || t.Protect != nil, &pins, map[string]string{"": "pin", "tool_names": "tools"}),
	}
}

// recency makes the rule that keep_recent is a short way to write.
func (c *Config) recency(s *source) entry {
	r := orNew(c.Standard.Recency)
	if c.KeepRecent != nil {
		switch {
		case r.Messages != nil || r.Turns != nil || r.Exchanges != nil:
			s.failKey("keep_recent", "keep one of the two", "rules.recency says what is recent too")
		case r.Enabled != nil && !*r.Enabled:
			s.failKey("keep_recent", "take it out, or let the rule run", "rules.recency is switched off")
		default:
			r.Messages = c.KeepRecent
		}
	}
	return makeRule(s, "rules.recency", r.Switch, true, &r.RecencyOptions, nil)
}

// orNew copies a table, so that filling in defaults leaves the Config as it is.
func orNew[T any](t *T) T {
	if t == nil {
		return *new(T)
	}
	return *t
}

// makeRule asks a rule's options for the rule and reports all they find wrong. The
// names say how options are called in the file where that differs; that of "" is
// the table they stand in.
func makeRule(s *source, path string, sw Switch, byDefault bool, o rules.Options, names map[string]string) entry {
	e := entry{path: path, sw: sw, byDefault: byDefault}
	table := path
	if t, ok := names[""]; ok {
		table = t
	}
	for {
		rule, err := o.Rule()
		e.rule = rule
		if err == nil || s.full() {
			return e
		}
		message := strings.TrimPrefix(err.Error(), "rule "+rule.Name+": ")
		about, rest, _ := strings.Cut(message, ": ")
		var fields []reflect.Value
		var first string
		for option := range strings.SplitSeq(about, ", ") {
			all := fieldsOf(reflect.TypeOf(o).Elem())
			i := slices.IndexFunc(all, func(f field) bool { return f.key == option })
			if i < 0 {
				s.failKey(table, "", "%s", message)
				return e
			}
			if n, ok := names[option]; ok {
				option = n
			}
			if f := reflect.ValueOf(o).Elem().FieldByIndex(all[i].index); !f.IsZero() {
				fields = append(fields, f)
				if first == "" {
					first = option
				}
			}
		}
		if len(fields) == 0 {
			s.failKey(table, "", "%s", message)
			return e
		}
		if len(fields) == 1 {
			message = rest
		}
		at := culprit(fields[0], message)
		failOption(s, join(table, first), at >= 0, message)
		// Without what was reported, the next error comes to light.
		if f := fields[0]; at >= 0 {
			f.Set(reflect.AppendSlice(f.Slice3(0, at, at), f.Slice(at+1, f.Len())))
			continue
		}
		for _, f := range fields {
			f.SetZero()
		}
	}
}

// culprit finds the element of a list that a message quotes, or -1.
func culprit(f reflect.Value, message string) int {
	if f.Kind() != reflect.Slice || f.Type().Elem().Kind() != reflect.String {
		return -1
	}
	for i := range f.Len() {
		if q := fmt.Sprintf("%q", f.Index(i).String()); strings.Contains(message, q) || f.Index(i).String() == "" && strings.Contains(message, "empty") {
			return i
		}
	}
	return -1
}

// failOption reports what the rules say about an option, at the element of the file
// that they quote if it is about one.
func failOption(s *source, path string, element bool, message string) {
	message, hint, _ := strings.Cut(message, "; ")
	switch {
	case strings.Contains(message, "no glob"):
		hint = "write a glob such as docs/**/*.md; a [ that means itself is written \\["
	case strings.Contains(message, "empty"):
		hint = "take it out"
	case strings.Contains(message, "leave no room"):
		hint = "write less for them, or more for max_bytes"
	}
	if element {
		// The list has lost what was reported before; the file still has it.
		for i, item := range s.itemsOf(path) {
			if item.kind == text && strings.Contains(message, fmt.Sprintf("%q", item.text)) || item.text == "" && strings.Contains(message, "empty") {
				path = join(path, fmt.Sprint(i))
				break
			}
		}
	}
	s.fail(path, hint, "%s", message)
}

func (s *source) itemsOf(path string) []*value {
	if v := s.values[path]; v != nil {
		return v.items
	}
	return nil
}

// buildTools returns the tools that are right and reports what is wrong with the
// others.
func (c *Config) buildTools(s *source) []Tool {
	var good []Tool
	for i, t := range c.Tools {
		path := fmt.Sprintf("tool.%d", i)
		same := func(other Tool) bool { return strings.EqualFold(other.Name, t.Name) }
		_, err := rules.ProtectOptions{Tools: []Tool{t}}.Rule()
		switch {
		case t.Name == "":
			s.fail(path, "write "+s.assign("name", exampleTool), "name is missing")
		case slices.ContainsFunc(c.Tools[:i], same):
			s.fail(join(path, "name"), "say all about it in one table", "%q has a table already", t.Name)
		case len(t.Commands) > 0 && t.Command == "":
			s.failKey(join(path, "commands"), "write "+s.assign("command", `"action"`)+" if that argument is called action", "command is missing, which names the argument that these are values of")
		case err != nil:
			s.fail(path, "", "%s", err.Error()[strings.LastIndex(err.Error(), t.Name+": ")+len(t.Name)+2:])
		default:
			good = append(good, t)
		}
	}
	return good
}

// checkRepair reports what decoding does not see in a Config made in Go.
func (c *Config) checkRepair(s *source) {
	if _, err := c.Repair.Policy(); err != nil {
		name, message, _ := strings.Cut(err.Error(), ": ")
		s.fail(join("repair", name), "", "%s", message)
	}
}
