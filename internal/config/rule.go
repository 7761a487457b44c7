package config

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Expression is a rule written in the configuration: what to do with the
// exchanges for which a condition holds. Many goroutines may read it.
type Expression struct {
	// Name of the rule, such as old-searches; no other rule may have it.
	Name string `json:"name" required:"\"my-rule\""`
	// The condition, such as 'tool == "Grep" and age > 3'.
	When string `json:"when" required:"'tool == \"Grep\" and age > 3'"`
	// What to do: "clear" puts a placeholder in the place of the result, "shorten" keeps its head and tail, "drop" removes call and result, "protect" keeps both whatever other rules say.
	Action string `json:"action" enum:"clear,shorten,drop,protect" required:"\"clear\""`
	// Why, for receipts and placeholders. Default: the condition.
	Reason string `json:"reason,omitempty"`
	// How many of the newest exchanges for which the condition holds are left alone. Default: 0.
	KeepLast int `json:"keep_last,omitempty"`
	// What clear clears: "result", "arguments" or "both". Default: result.
	Part string `json:"part,omitempty" enum:"result,arguments,both"`
	// Touch also the tools that hold plans, tasks, skills and questions, which are left alone otherwise. Default: false.
	AnyTool bool `json:"any_tool,omitempty"`
	// Bytes that shorten keeps of the beginning. Default: 2000.
	Head *int `json:"head,omitempty"`
	// Bytes that shorten keeps of the end. Default: 1000.
	Tail *int `json:"tail,omitempty"`
	Switch
}

const (
	defaultHead = 2000
	defaultTail = 1000
)

// entry compiles the expression.
func (e *Expression) entry(s *source, i int, tools []Tool) (entry, bool) {
	path := fmt.Sprintf("expression.%d", i)
	s.checkGiven(path, reflect.ValueOf(e).Elem())
	s.checkName(path, e.Name)
	s.choose(join(path, "action"), e.Action, "clear", "shorten", "drop", "protect")
	s.choose(join(path, "part"), e.Part, "result", "arguments", "both")
	if e.Part != "" && e.Action != "clear" {
		s.failKey(join(path, "part"), "remove it, or set "+s.assign("action", `"clear"`), "part is about clear only")
	}
	for i, n := range []*int{e.Head, e.Tail} {
		if key := []string{"head", "tail"}[i]; n != nil && e.Action != "shorten" {
			s.failKey(join(path, key), "remove it, or set "+s.assign("action", `"shorten"`), "%s is about shorten only", key)
		}
	}
	p, refused := (*program)(nil), (*refusal)(nil)
	if v := s.values[join(path, "when")]; e.When != "" || v != nil && v.kind == text {
		if p, refused = compile(e.When); refused != nil {
			s.failInside(join(path, "when"), refused)
		}
	}
	rule := pare.Rule{
		Name: e.Name,
		Doc:  e.Action + " where " + e.When,
		Prepare: func(r *wire.Request) (pare.Process, error) {
			return e.prepare(p, r, tools)
		},
	}
	return entry{rule: rule, path: path, sw: e.Switch, byDefault: true}, e.Name != ""
}

// checkGiven reports what a table of the file must have. A value of the wrong type
// was reported when it was read.
func (s *source) checkGiven(path string, of reflect.Value) {
	for _, f := range fieldsOf(of.Type()) {
		example := f.tag.Get("required")
		if example == "" || of.FieldByIndex(f.index).String() != "" {
			continue
		}
		switch v := s.values[join(path, f.key)]; {
		case v == nil:
			s.fail(path, "write "+s.assign(f.key, example), "%s is missing", f.key)
		case v.kind == text && v.text == "" && f.key == "name":
			s.fail(join(path, f.key), "write "+s.assign(f.key, example), "a rule needs a name")
		}
	}
}

// checkName reports a name that no rule can have.
func (s *source) checkName(path, name string) {
	if name != "" && !isName(name) {
		s.fail(join(path, "name"), "write small letters, digits and hyphens, such as "+fmt.Sprintf("%q", toName(name)), "%q is no name for a rule", name)
	}
}

// failInside reports what is wrong with a text, at the character inside of it where
// that can be found: escapes and folded lines make the file differ from the text.
func (s *source) failInside(path string, r *refusal) {
	v, ok := s.values[path]
	if !ok || v.kind != text || v.end == 0 {
		s.fail(path, r.hint, "%s", r.message)
		return
	}
	inner := strings.Index(string(v.doc.data[v.at:v.end]), v.text)
	runes := []rune(v.text)
	if inner < 0 || r.at > len(runes) {
		s.fail(path, r.hint, "%s", r.message)
		return
	}
	s.failAt(place{v.doc, v.at + inner + len(string(runes[:r.at]))}, path, r.hint, "%s", r.message)
}

func isName(s string) bool {
	return s == toName(s) && len(s) <= 64
}

// toName turns a text into a name.
func toName(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, s)
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if name = strings.Trim(name, "-"); name == "" {
		return "my-rule"
	}
	return name[:min(len(name), 64)]
}

// prepare evaluates the condition on every exchange before anything is voted on,
// so that an error leaves no half of a decision behind.
func (e *Expression) prepare(p *program, r *wire.Request, tools []Tool) (pare.Process, error) {
	t := r.Transcript()
	w := newWalker(p, e.Name, r, tools)
	open := openAtoms(t)
	spared := make(map[string]bool) // by tool
	var chosen []int
	for i, x := range t.Exchanges() {
		if _, known := spared[x.Tool]; !known {
			spared[x.Tool] = !e.AnyTool && rulesx.Protected(x.Tool)
		}
		if e.Action != "protect" && (spared[x.Tool] || !settled(t, x, open)) {
			continue
		}
		yes, err := w.holds(i)
		if err != nil {
			return nil, err
		}
		if yes {
			chosen = append(chosen, i)
		}
	}
	chosen = chosen[:max(0, len(chosen)-e.KeepLast)]
	if len(chosen) == 0 {
		return nil, nil
	}
	return func(b *pare.Ballot) {
		for _, i := range chosen {
			e.vote(b, r, t.Exchanges()[i])
		}
	}, nil
}

// openAtoms marks the atoms that hold a call which may still be running.
func openAtoms(t *transcript.Transcript) []bool {
	open := make([]bool, len(t.Atoms()))
	for _, x := range t.Exchanges() {
		if x.Call != transcript.NoBlock && x.State != transcript.Whole {
			open[t.AtomOf(x.Call)] = true
		}
	}
	return open
}

// settled reports whether an exchange is over, and ours to judge: the provider's
// own tools pair inside the assistant's turn, with results that it signs.
func settled(t *transcript.Transcript, x transcript.Exchange, open []bool) bool {
	return x.State == transcript.Whole && !x.Server && !open[t.AtomOf(x.Call)]
}

// reason is the text for receipts.
func (e *Expression) reason() string {
	if e.Reason != "" {
		return e.Reason
	}
	return e.When
}

func (e *Expression) vote(b *pare.Ballot, r *wire.Request, x transcript.Exchange) {
	t, why := r.Transcript(), e.reason()
	if e.Action == "protect" {
		b.Protect(t.AtomOf(firstBlock(x)), "%s", why)
		return
	}
	result := x.Results[0] // a whole exchange has one
	says := r.Text(result)
	if dialect.PersonSpeaks([]byte(says)) {
		return
	}
	switch e.Action {
	case "drop":
		b.Drop(t.AtomOf(x.Call), "%s", why)
	case "clear":
		if e.Part != "arguments" && !strings.HasPrefix(says, mark) {
			e.shrink(b, result, says, e.placeholder("result", x, len(says)))
		}
		args := string(wire.Arguments(t, x.Call))
		if note, _ := wire.Argument(t, x.Call, "note"); (e.Part == "arguments" || e.Part == "both") && !strings.HasPrefix(note, mark) && !strings.HasPrefix(args, mark) {
			e.shrink(b, x.Call, args, e.placeholder("arguments", x, len(args)))
		}
	case "shorten":
		e.shrink(b, result, says, e.shorten(says, x))
	}
}

// mark is how everything begins that a rule put in the place of something; the
// standard rules know it too, and take it as proof of nothing.
const mark = "[pare: "

// placeholder returns the text that replaces a part of an exchange. The name and the condition
// of the rule are not in it, because they can be words of a file that the user does not trust.
func (e *Expression) placeholder(part string, x transcript.Exchange, size int) string {
	why := " by a rule"
	if e.Reason != "" {
		why = ": " + e.Reason
	}
	return fmt.Sprintf("%s%s of %s (%d bytes)%s cleared%s]", mark, part, x.Tool, size, named(x), why)
}

func named(x transcript.Exchange) string {
	if x.CallID == "" {
		return ""
	}
	return ", call " + x.CallID
}

// shrink votes for a new text only if it is shorter: an edit that saves nothing
// would cost the prompt cache and gain nothing.
func (e *Expression) shrink(b *pare.Ballot, id transcript.BlockID, old, text string) {
	if len(text) < len(old) {
		b.Edit(id, text, "%s", e.reason())
	}
}

// room is more than the marker takes, so what was shortened once is short enough.
const room = 256

// shorten keeps head and tail of a text and says how much is gone. A text that is
// hardly longer comes back as it is.
func (e *Expression) shorten(says string, x transcript.Exchange) string {
	head, tail := or(e.Head, defaultHead), or(e.Tail, defaultTail)
	if len(says) <= head+tail+room {
		return says
	}
	for head > 0 && !utf8.RuneStart(says[head]) {
		head--
	}
	from := len(says) - tail
	for from < len(says) && !utf8.RuneStart(says[from]) {
		from++
	}
	marker := fmt.Sprintf("%s%d of %d bytes left out here by a rule%s]", mark, from-head, len(says), named(x))
	if len(marker) > room-2 {
		marker = marker[:room-8] + "…]" // an id can have any length
		marker = strings.ToValidUTF8(marker, "")
	}
	return says[:head] + "\n" + marker + "\n" + says[from:]
}

func or(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}
