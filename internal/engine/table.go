package engine

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/wire"
)

// A row is one call: the options that it takes beside those of all, and what it does.
type row struct {
	name  string
	takes []string
	tell  func(*options, *wire.Request, *caller) (Result, error) // nil: it changes the body
}

// Options of all calls, and of those that count, change, choose rules, have limits.
var (
	common   = []string{"as", "profile", "model", "strict"}
	counting = []string{"tokenizer"}
	changing = []string{"orphan_call", "orphan_result", "tokenizer", "config"}
	choosing = []string{"rules", "keep_recent"}
	limiting = []string{"max_tokens", "max_messages", "max_exchanges", "max_turns", "min_keep"}
)

// table has every call once. The C library, WebAssembly, pare lines and the server all ask it.
var table = []row{
	{"fix", slices.Concat(changing, choosing), nil},
	{"fit", slices.Concat(changing, choosing, limiting), nil},
	{"trim", slices.Concat(changing, choosing, limiting), nil}, // the command's name for fit
	{"prune", slices.Concat(changing, choosing), nil},
	{"compact", slices.Concat(changing, []string{"min_keep", "inside", "summary", "max_summary"}), nil},
	{"check", []string{"advice"}, (*options).check},
	{"count", slices.Concat(counting, []string{"by_message"}), (*options).count},
	{"split", []string{"min_keep", "inside", "part"}, (*options).split},
	{"pairs", nil, (*options).pairs},
}

func rowOf(name string) (row, bool) {
	i := slices.IndexFunc(table, func(r row) bool { return r.name == name })
	if i < 0 {
		return row{}, false
	}
	return table[i], true
}

// Calls are the names of all calls.
func Calls() (names []string) {
	for _, r := range table {
		names = append(names, r.name)
	}
	return names
}

// Changes reports whether a call answers with a body that it may have changed.
func Changes(name string) bool {
	r, ok := rowOf(name)
	return ok && r.tell == nil
}

// known are the names of a row's options.
func (r row) known() []string { return slices.Concat(common, r.takes) }

// ParseQuery makes the options of a call of the parameters of a URL, without those that belong to the way it
// is called. A configuration cannot come that way: it may name files and addresses.
func ParseQuery(call string, q url.Values, beside ...string) ([]byte, error) {
	r, ok := rowOf(call)
	if !ok {
		return nil, &Error{Type: "unknown_call", Message: "there is no call " + strconv.Quote(call)}
	}
	known := slices.DeleteFunc(r.known(), func(name string) bool { return name == "config" })
	of := make(map[string]any)
	for name, values := range q {
		if len(values) > 1 {
			return nil, misuse("%s is given %d times", name, len(values))
		}
		if slices.Contains(beside, name) {
			continue
		}
		if !slices.Contains(known, name) {
			return nil, misuse("%s has no parameter %q%s", call, name, hint(suggest.Sentence(name, slices.Concat(known, beside))))
		}
		var err error
		if of[name], err = valueOf(name, values[0]); err != nil {
			return nil, err
		}
	}
	return plain.Marshal(of)
}

// valueOf reads a parameter as its option is written in JSON.
func valueOf(name, text string) (any, error) {
	switch kindOf(name) {
	case "switch":
		on, err := ParseSwitch(name, text)
		return on, err
	case "number":
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, misuse("%s is %q: expected a number from %d on", name, text, least[name])
		}
		return n, nil
	case "list":
		if text == "" {
			return nil, nil
		}
		return strings.Split(text, ","), nil
	}
	return text, nil
}

// ParseSwitch reads a parameter that is on or off; its name alone means on. Clients write True and False, too.
func ParseSwitch(name, text string) (bool, error) {
	if text == "" {
		return true, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, misuse("%s is %q: expected true or false", name, text)
	}
	return on, nil
}
