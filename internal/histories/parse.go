package histories

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
)

// A NotationError is the place and the reason of an error in a script. Line and Column count
// from one, columns in characters.
type NotationError struct {
	Line, Column int
	Reason       string
}

func (e *NotationError) Error() string {
	return fmt.Sprintf("script:%d:%d: %s", e.Line, e.Column, e.Reason)
}

// Parse reads a script in the notation of the package comment. Its error is a
// *NotationError. A script that parses may still break providers' rules; see
// [Script.Valid].
func Parse(notation string) (Script, error) {
	p := scriptParser{in: notation, bytes: []byte(notation), called: map[string]bool{}}
	for p.err == nil && p.nextStep() {
		p.step()
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.out, nil
}

// MustParse is Parse for scripts in source code; it panics on an error.
func MustParse(notation string) Script {
	s, err := Parse(notation)
	if err != nil {
		panic(err)
	}
	return s
}

type scriptParser struct {
	in     string
	bytes  []byte // in, for the scanner: copied once, not for every value
	pos    int
	out    Script
	called map[string]bool
	err    error
}

// fail records the first error, at byte offset at.
func (p *scriptParser) fail(at int, format string, args ...any) {
	if p.err != nil {
		return
	}
	before := p.in[:at]
	line := strings.Count(before, "\n") + 1
	start := strings.LastIndexByte(before, '\n') + 1
	p.err = &NotationError{line, utf8.RuneCountInString(before[start:]) + 1, fmt.Sprintf(format, args...)}
}

// nextStep moves to the first character of a step.
func (p *scriptParser) nextStep() bool {
	for p.pos < len(p.in) && strings.IndexByte(" \t\r\n|", p.in[p.pos]) >= 0 {
		p.pos++
	}
	return p.pos < len(p.in)
}

// space moves over blanks inside a step.
func (p *scriptParser) space() {
	for p.pos < len(p.in) && strings.IndexByte(" \t\r", p.in[p.pos]) >= 0 {
		p.pos++
	}
}

// atEnd reports whether the step is over.
func (p *scriptParser) atEnd() bool {
	p.space()
	return p.pos == len(p.in) || p.in[p.pos] == '|' || p.in[p.pos] == '\n'
}

// word reads up to the next blank or end of step; "" if there is nothing.
func (p *scriptParser) word() string {
	p.space()
	start := p.pos
	for p.pos < len(p.in) && strings.IndexByte(" \t\r\n|", p.in[p.pos]) < 0 {
		p.pos++
	}
	return p.in[start:p.pos]
}

func (p *scriptParser) step() {
	start := p.pos
	verb := p.word()
	var s Step
	switch verb {
	case "system", "user", "think", "say":
		s.Op = map[string]Op{"system": System, "user": User, "think": Think, "say": Say}[verb]
		if p.atEnd() || p.in[p.pos] != '"' {
			p.fail(p.pos, "%s wants a text in double quotes", verb)
			return
		}
		s.Text = p.quoted()
		if s.Op == System && len(p.out) > 0 {
			p.fail(start, "the system prompt stands first")
		}
	case "image":
		s.Op = Image
	case "call":
		s = p.call()
	case "result", "fail", "orphan":
		s = p.result(verb)
	default:
		p.fail(start, "unknown step %q; the steps are system, user, image, think, say, call, result, fail and orphan", verb)
		return
	}
	if p.err == nil && !p.atEnd() {
		p.fail(p.pos, "expected | or the end of the line behind the %s step", verb)
	}
	p.out = append(p.out, s)
}

func (p *scriptParser) call() Step {
	s := Step{Op: Call, ID: p.name("call", "an id"), Tool: p.name("call", "a tool")}
	s.Args = p.args()
	p.called[s.ID] = true
	return s
}

// name reads a word that must be there.
func (p *scriptParser) name(verb, what string) string {
	if p.atEnd() {
		p.fail(p.pos, "%s wants %s", verb, what)
		return ""
	}
	return p.word()
}

func (p *scriptParser) result(verb string) Step {
	s := Step{Op: Result}
	if verb == "fail" {
		s.Op = Fail
	}
	p.space()
	at := p.pos
	s.ID = p.name(verb, "an id")
	if verb == "orphan" && p.called[s.ID] {
		p.fail(at, "there is a call %s; write result", s.ID)
	}
	if verb != "orphan" && !p.called[s.ID] {
		p.fail(at, "no call %s before it; write orphan for a result without a call", s.ID)
	}
	s.Text = p.text()
	return s
}

// text reads the rest of the step, quoted or not.
func (p *scriptParser) text() string {
	if p.atEnd() {
		return ""
	}
	if p.in[p.pos] == '"' {
		return p.quoted()
	}
	start := p.pos
	for p.pos < len(p.in) && p.in[p.pos] != '|' && p.in[p.pos] != '\n' {
		p.pos++
	}
	return strings.TrimRight(p.in[start:p.pos], " \t\r")
}

// value reads one JSON value and returns its bytes.
func (p *scriptParser) value() []byte {
	start := p.pos
	data := p.bytes[start:]
	var s jsonspan.Scanner
	s.Reset(data, jsonspan.Strict)
	s.Skip()
	if err := s.Err(); err != nil {
		e := err.(*jsonspan.SyntaxError)
		p.fail(start+e.Offset, "%s", e.Reason)
		return nil
	}
	p.pos += s.Offset()
	return data[:s.Offset()]
}

// quoted reads a JSON string.
func (p *scriptParser) quoted() string {
	v := p.value()
	if len(v) < 2 {
		return ""
	}
	return string(jsonspan.Decode(nil, v[1:len(v)-1]))
}

// args reads a call's arguments: an object, or words.
func (p *scriptParser) args() string {
	if p.atEnd() {
		return "{}"
	}
	if p.in[p.pos] == '{' {
		start := p.pos
		v := p.value()
		if err := jsonspan.Valid(v); p.err == nil && err != nil {
			e := err.(*jsonspan.SyntaxError)
			p.fail(start+e.Offset, "%s", e.Reason)
		}
		return string(v)
	}
	args := jsontree.Object()
	for p.err == nil && !p.atEnd() {
		p.argument(args)
	}
	return string(args.Write(nil, jsontree.Spelling{}, 0))
}

// argument reads one word: the path, or key=value.
func (p *scriptParser) argument(args *jsontree.Node) {
	start := p.pos
	for p.pos < len(p.in) && strings.IndexByte(" \t\r\n|=", p.in[p.pos]) < 0 {
		p.pos++
	}
	key, value := p.in[start:p.pos], (*jsontree.Node)(nil)
	switch {
	case p.pos == len(p.in) || p.in[p.pos] != '=':
		key, value = "path", jsontree.Text(key)
	case p.pos+1 < len(p.in) && p.in[p.pos+1] == '"':
		p.pos++
		value = jsontree.Text(p.quoted())
	default:
		p.pos++
		value = scalar(p.word())
	}
	if args.Get(key) != nil {
		p.fail(start, "a second %s", key)
		return
	}
	quoted := jsonspan.AppendQuote(nil, key)
	args.Add(string(quoted[1:len(quoted)-1]), value)
}

// scalar reads a bare word: a number, a boolean or else a text.
func scalar(word string) *jsontree.Node {
	n, err := jsontree.Parse([]byte(word))
	if err == nil && (n.Kind == jsonspan.Number || n.Kind == jsonspan.Bool) {
		return n
	}
	return jsontree.Text(word)
}
