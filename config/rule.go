package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Expression is a rule written in the configuration: what to do with the
// exchanges for which a condition holds.
type Expression struct {
	// Name of the rule, such as old-searches; no other rule may have it.
	Name string `json:"name" required:"\"my-rule\""`
	// The condition, such as 'tool == "Grep" and age > 3'.
	When string `json:"when" required:"'tool == \"Grep\" and age > 3'"`
	// What to do: "clear" puts a placeholder in the place of the result, "shorten" keeps its head and tail, "drop" removes call and result, "protect" keeps both whatever other rules say.
	Action string `json:"action" enum:"clear,shorten,drop,protect" required:"\"clear\""`
	// Why, for receipts and placeholders; the condition if it is not given.
	Reason string `json:"reason,omitempty"`
	// How many of the newest exchanges for which the condition holds are left alone.
	KeepLast int `json:"keep_last,omitempty"`
	// What clear clears: "result" (the default), "arguments" or "both".
	Part string `json:"part,omitempty" enum:"result,arguments,both"`
	// Bytes that shorten keeps of the beginning; 2000 if it is not given.
	Head *int `json:"head,omitempty"`
	// Bytes that shorten keeps of the end; 1000 if it is not given.
	Tail *int `json:"tail,omitempty"`
	Switch
}

const (
	defaultHead = 2000
	defaultTail = 1000
)

// entry compiles the expression.
func (e *Expression) entry(s *source, i int, tools *toolTable) (entry, bool) {
	path := fmt.Sprintf("expression.%d", i)
	if e.Name != "" && !isName(e.Name) {
		s.fail(join(path, "name"), "write small letters, digits and hyphens, such as "+fmt.Sprintf("%q", toName(e.Name)), "%q is no name for a rule", e.Name)
	}
	if e.Part != "" && e.Action != "clear" {
		s.failKey(join(path, "part"), "take it out, or set "+s.assign("action", `"clear"`), "part is about clear only")
	}
	for key, n := range map[string]*int{"head": e.Head, "tail": e.Tail} {
		if n != nil && e.Action != "shorten" {
			s.failKey(join(path, key), "take it out, or set "+s.assign("action", `"shorten"`), "%s is about shorten only", key)
		}
	}
	p, refused := (*program)(nil), (*refusal)(nil)
	if e.When != "" || s.has(join(path, "when")) {
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

// failInside reports what is wrong with a text, at the character inside of it where
// that can be found: escapes and folded lines make the file differ from the text.
func (s *source) failInside(path string, r *refusal) {
	v, ok := s.values[path]
	if !ok || v.kind != text || v.end == 0 {
		s.fail(path, r.hint, "%s", r.message)
		return
	}
	inner := strings.Index(string(s.data[v.at:v.end]), v.text)
	runes := []rune(v.text)
	if inner < 0 || r.at > len(runes) {
		s.fail(path, r.hint, "%s", r.message)
		return
	}
	s.failAt(v.at+inner+len(string(runes[:r.at])), path, r.hint, "%s", r.message)
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
func (e *Expression) prepare(p *program, r *wire.Request, tools *toolTable) (pare.Process, error) {
	t := r.Transcript()
	w := newWalker(p, e.Name, r, tools)
	open := openAtoms(t)
	var chosen []int
	for i, x := range t.Exchanges() {
		if e.Action != "protect" && !settled(t, x, open) {
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

func (e *Expression) reason() string {
	if e.Reason != "" {
		return e.Reason
	}
	return e.When
}

func (e *Expression) vote(b *pare.Ballot, r *wire.Request, x transcript.Exchange) {
	t, why := r.Transcript(), e.reason()
	switch e.Action {
	case "protect":
		b.Protect(t.AtomOf(firstBlock(x)), "%s", why)
	case "drop":
		b.Drop(t.AtomOf(x.Call), "%s", why)
	case "clear":
		if e.Part != "arguments" {
			for _, id := range x.Results {
				e.shrink(b, r, id, "["+e.Name+": result cleared: "+why+"]", why)
			}
		}
		if e.Part == "arguments" || e.Part == "both" {
			e.shrink(b, r, x.Call, "["+e.Name+": arguments cleared: "+why+"]", why)
		}
	case "shorten":
		for _, id := range x.Results {
			says := r.Text(id)
			e.shrink(b, r, id, shorten(says, or(e.Head, defaultHead), or(e.Tail, defaultTail)), why)
		}
	}
}

// shrink votes for a new text only if it is shorter: an edit that saves nothing
// would cost the prompt cache and gain nothing. It also makes a second run over
// its own output say nothing.
func (e *Expression) shrink(b *pare.Ballot, r *wire.Request, id transcript.BlockID, text, why string) {
	if len(text) < r.Transcript().Block(id).Body.Len() && (r.Transcript().Block(id).Kind == transcript.Call || len(text) < len(r.Text(id))) {
		b.Edit(id, text, "%s", why)
	}
}

func or(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// shorten keeps head and tail of a text and says how much is gone. A text that
// would not become shorter comes back as it is.
func shorten(s string, head, tail int) string {
	if len(s) <= head+tail {
		return s
	}
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	out := fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:head], from-head, s[from:])
	if len(out) >= len(s) {
		return s
	}
	return out
}
