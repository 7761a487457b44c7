package config

import (
	"slices"
	"strconv"
	"strings"
)

// A class is the kind of power that a setting gives to the author of the file. A file that the
// user does not trust keeps its harmless settings and loses the sensitive ones. The zero value
// is for keys without a class, which are sensitive.
type class uint8

const (
	unclassified class = iota

	// Sensitive: the setting can send, keep or write data, or choose words of a conversation.
	address   // a host that gets the conversation
	secret    // an environment variable whose value is sent
	sending   // how and whether a conversation is sent to a configured address
	filePath  // a file that is written
	recording // conversations are kept, deleted, or made readable in other conversations
	prose     // text that becomes part of a conversation

	// Harmless: the setting selects among things that Pare does in any case.
	toggle    // true or false
	amount    // a count, size, share or time
	choice    // one of a fixed set of words, or the name of a rule
	criterion // an expression, glob, name or text that is only compared with the conversation
	inert     // nothing reads the value
)

func (c class) isSensitive() bool { return c < toggle }

// classes has the class of every key of the schema. Rules share their options, so a * stands
// for the name of a rule. A row for a table is for everything in it, and for its presence.
var classes = map[string]class{
	"$schema":     inert,
	"enabled":     toggle,
	"tokenizer":   choice,
	"keep_recent": amount,

	"repair.orphan_call":   choice,
	"repair.orphan_result": choice,
	"repair.keep_open":     toggle,
	"repair.stub":          prose,

	"check.strict": toggle,
	"check.advice": toggle,

	"window.tokens":        amount,
	"window.messages":      amount,
	"window.exchanges":     amount,
	"window.turns":         amount,
	"window.min_keep":      amount,
	"window.low":           amount,
	"window.cache":         toggle,
	"window.cold":          toggle,
	"window.order":         choice,
	"window.priority.tool": criterion,
	"window.priority.rank": amount,
	"window.unpin":         choice,
	"window.recent":        amount,
	"window.allow_tiny":    toggle,
	"window.unmarked":      toggle,

	"provider.thinking":      choice,
	"provider.clear_results": toggle,

	"compact.by":          sending,
	"compact.endpoint":    address,
	"compact.api":         sending,
	"compact.model":       sending,
	"compact.key_env":     secret,
	"compact.plain_http":  sending,
	"compact.min_keep":    amount,
	"compact.inside":      toggle,
	"compact.above":       amount,
	"compact.max_summary": amount,
	"compact.timeout":     amount,
	"compact.fold_task":   toggle,
	"compact.conserve":    amount,

	"archive":  filePath,
	"remember": recording, // few days, or few megabytes, delete conversations

	"stop.above": amount,

	"rules.*.enabled":       toggle,
	"rules.*.after":         choice,
	"rules.*.before":        choice,
	"rules.*.mode":          choice,
	"rules.*.min_bytes":     amount,
	"rules.*.exact_only":    toggle,
	"rules.*.keep_edits":    toggle,
	"rules.*.protect_tools": criterion,
	"rules.*.protect_paths": criterion,
	"rules.*.keep_last":     amount,
	"rules.*.messages":      amount,
	"rules.*.turns":         amount,
	"rules.*.exchanges":     amount,
	"rules.*.max_bytes":     amount,
	"rules.*.head":          amount,
	"rules.*.tail":          amount,
	"rules.*.results_only":  toggle,
	"rules.*.arrival":       toggle,
	"rules.*.read_bytes":    amount,

	"pin.first_user": toggle,
	"pin.roles":      choice,
	"pin.tools":      criterion,
	"pin.paths":      criterion,
	"pin.markers":    criterion,
	"pin.messages":   amount,
	"pin.kinds":      choice,

	"tool.name":     criterion,
	"tool.kind":     choice,
	"tool.command":  criterion,
	"tool.commands": criterion,
	"tool.path":     criterion,
	"tool.patch":    criterion,
	"tool.start":    criterion,
	"tool.end":      criterion,
	"tool.limit":    criterion,
	"tool.lines":    amount,

	"expression.name":      criterion,
	"expression.when":      criterion,
	"expression.action":    choice,
	"expression.reason":    prose,
	"expression.keep_last": amount,
	"expression.part":      choice,
	"expression.any_tool":  toggle,
	"expression.head":      amount,
	"expression.tail":      amount,
	"expression.enabled":   toggle,
	"expression.after":     choice,
	"expression.before":    choice,

	"constraint.name":     criterion,
	"constraint.enabled":  toggle,
	"constraint.keep":     criterion,
	"constraint.needs":    criterion,
	"constraint.together": criterion,
}

// harmlessValues are values of sensitive keys that send, keep and write nothing.
var harmlessValues = map[string]string{"compact.by": "extract"}

// A Setting is a key of a file with its value. Many goroutines may read it.
type Setting struct {
	File  string
	Line  int    // from 1
	Key   string // such as expression.0.reason
	Value string // as in TOML
}

// Sensitive returns the settings of a file that count only if the user trusts the file. The
// error is an [Errors].
func Sensitive(f File) ([]Setting, error) {
	doc := newDocument(f)
	root, err := doc.parse()
	if err != nil {
		return nil, err
	}
	_, sensitive := doc.withhold(root, "")
	return sensitive, doc.validateTypes(root)
}

// withhold returns the table without its sensitive settings, and these settings.
func (d *document) withhold(v *value, path string) (*value, []Setting) {
	rest, withheld := &value{kind: v.kind, doc: v.doc, at: v.at, end: v.end}, []Setting(nil)
	for _, m := range v.members {
		at := join(path, m.key)
		c, isClassified := classOf(at, m.value)
		switch {
		case isClassified && !c.isSensitive():
			rest.add(m.key, m.at, m.value)
		case !isClassified && m.value.kind == table:
			inner, more := d.withhold(m.value, at)
			withheld = append(withheld, more...)
			rest.addRest(m, inner)
		case !isClassified && m.value.hasTables():
			inner := &value{kind: list, doc: m.value.doc, at: m.value.at, end: m.value.end}
			for i, item := range m.value.items {
				one, more := d.withhold(item, join(at, strconv.Itoa(i)))
				inner.items, withheld = append(inner.items, one), append(withheld, more...)
			}
			rest.add(m.key, m.at, inner)
		default:
			withheld = append(withheld, d.settings(m, at)...)
		}
	}
	return rest, withheld
}

// settings returns the settings of a key: those of its table, if it has one with keys.
func (d *document) settings(m member, path string) []Setting {
	if m.value.kind != table || len(m.value.members) == 0 {
		line, _ := d.position(m.at)
		return []Setting{{File: d.name, Line: line, Key: path, Value: m.value.toml()}}
	}
	var all []Setting
	for _, inner := range m.value.members {
		all = append(all, d.settings(inner, join(path, inner.key))...)
	}
	return all
}

// hasTables reports whether v is a list of tables.
func (v *value) hasTables() bool {
	return v.kind == list && !slices.ContainsFunc(v.items, func(item *value) bool { return item.kind != table })
}

// toml returns the value as TOML writes it in one line.
func (v *value) toml() string {
	switch v.kind {
	case table:
		if len(v.members) == 0 {
			return "{}"
		}
		var all []string
		for _, m := range v.members {
			all = append(all, m.key+" = "+m.value.toml())
		}
		return "{ " + strings.Join(all, ", ") + " }"
	case list:
		var all []string
		for _, item := range v.items {
			all = append(all, item.toml())
		}
		return "[" + strings.Join(all, ", ") + "]"
	case text:
		return strconv.Quote(v.text)
	case integer:
		return strconv.FormatInt(v.integer, 10)
	case decimal:
		return number(v.decimal)
	}
	return strconv.FormatBool(v.boolean)
}

// classOf returns the class of the key at a path, such as rules.recency.after. A table whose
// keys have rows has no class.
func classOf(path string, v *value) (c class, isClassified bool) {
	c, isClassified = classes[classPath(path)]
	if harmless, ok := harmlessValues[path]; ok && v.kind == text && v.text == harmless {
		c = choice
	}
	return c, isClassified
}

// classPath returns the path without the numbers of list items, with * for the name of a rule.
func classPath(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), isInt)
	if len(parts) > 1 && parts[0] == "rules" {
		parts[1] = "*"
	}
	return strings.Join(parts, ".")
}
