package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
	"github.com/expr-lang/expr/vm"

	"github.com/pare-llm/pare/internal/suggest"
)

// The bounds of an expression. With no loops, no variables and no way to build a
// longer text out of shorter ones, the cost of an evaluation is at most the number
// of nodes times the bytes of the texts, and for patterns their size times the
// bytes.
const (
	maxExpression = 4096    // bytes; also bounds how deep its parser nests
	maxNodes      = 400     // of its tree
	maxPattern    = 500     // instructions of a compiled pattern
	maxWork       = 1 << 25 // bytes of text times instructions, per evaluation
	maxMemory     = 10_000  // elements of lists that an evaluation may make
)

// functions are the builtins that an expression may call: those that take time and
// space in proportion to their arguments and give the same answer every day.
var functions = []string{
	"abs", "ceil", "float", "floor", "hasPrefix", "hasSuffix", "indexOf", "int", "lastIndexOf", "len", "lower", "max", "min", "round",
	"trim", "trimPrefix", "trimSuffix", "type", "upper",
}

var theFunctions = "the functions are arg, " + strings.Join(functions, ", ")

// matcher is the name that calls of our own pattern matching go by. No expression
// can spell it.
const matcher = "matches "

// A program is a compiled expression and what it looks at.
type program struct {
	code     *vm.Program
	patterns []pattern
	uses     map[string]bool // names it mentions
}

type pattern struct {
	re   *regexp.Regexp
	size int // instructions
}

// A refusal is why an expression is not taken, and at which of its characters.
type refusal struct {
	at            int // in characters
	message, hint string
}

// compile checks types and cost of an expression and makes it ready to run.
func compile(source string) (*program, *refusal) {
	if len(source) > maxExpression {
		return nil, &refusal{0, fmt.Sprintf("an expression of %d bytes is too long", len(source)), fmt.Sprintf("write at most %d bytes", maxExpression)}
	}
	if strings.TrimSpace(source) == "" {
		return nil, &refusal{0, "the expression is empty", `write a condition, such as 'tool == "Bash" and age > 3'`}
	}
	if r := foreseen(source); r != nil {
		return nil, r
	}
	v := &inspector{program: &program{uses: make(map[string]bool)}}
	options := []expr.Option{
		expr.Env(&env{}), expr.AsBool(), expr.WarnOnAny(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins(), expr.DisableIfOperator(), expr.Patch(v),
	}
	for _, f := range functions {
		options = append(options, expr.EnableBuiltin(f))
	}
	code, err := expr.Compile(source, options...)
	switch {
	case v.refusal != nil && (err == nil || v.sure):
		return nil, v.refusal
	case err != nil:
		return nil, explain(err, source)
	}
	v.program.code = code
	return v.program, nil
}

// foreseen refuses by its words what would be refused later with less to say.
func foreseen(source string) *refusal {
	tokens, err := lexer.Lex(file.NewSource(source))
	if err != nil {
		return explain(err, source)
	}
	for i, t := range tokens {
		member := i > 0 && tokens[i-1].Is(lexer.Operator, ".", "?.")
		called := i+1 < len(tokens) && tokens[i+1].Is(lexer.Bracket, "(")
		_, known := builtin.Index[t.Value]
		switch {
		case member:
		case t.Is(lexer.Identifier) && called && known && !slices.Contains(functions, t.Value):
			return &refusal{t.From, fmt.Sprintf("%s() is not available: an expression has no loops, builds no texts and knows no clock", t.Value), theFunctions}
		case t.Is(lexer.Operator, "let"), t.Is(lexer.Operator, ";"):
			return &refusal{t.From, "an expression has no variables", "write one condition"}
		case t.Is(lexer.Operator, ".."):
			return &refusal{t.From, "an expression has no ranges", "write age >= 2 and age <= 5 for age in 2..5"}
		case t.Is(lexer.Operator, "#"):
			return &refusal{t.From, "an expression has no loops", ""}
		case t.Is(lexer.Operator, "="):
			return &refusal{t.From, `"=" does not compare`, "write =="}
		case t.Is(lexer.Identifier, "$env"):
			return &refusal{t.From, "there is no $env here", "write the name alone, such as tool"}
		case t.Is(lexer.Identifier, "AND", "OR", "NOT"):
			return &refusal{t.From, fmt.Sprintf("unknown name %s", t.Value), "write " + strings.ToLower(t.Value)}
		}
	}
	return nil
}

// explain turns an error of the library into a refusal, with a better hint where
// one is known.
func explain(err error, source string) *refusal {
	r := &refusal{message: strings.TrimSpace(err.Error())}
	var at *file.Error
	if errors.As(err, &at) {
		r.at, r.message = at.From, strings.TrimSpace(at.Message)
	}
	if name, ok := strings.CutPrefix(r.message, "unknown name "); ok {
		choices, all := variables(), "the names are "+strings.Join(variables(), ", ")
		if strings.Contains(source, name+"(") {
			choices, all = functions, theFunctions
		}
		if r.hint = all; suggest.Nearest(name, choices) != "" {
			r.hint = pick(name, choices)
		}
	}
	switch {
	case r.message == "unexpected token EOF":
		r.message, r.hint = "the expression ends in the middle", "write what is missing, or take the last operator out"
	case strings.HasPrefix(r.message, "unexpected token "):
		r.message, r.hint = "this cannot stand here: "+strings.TrimPrefix(r.message, "unexpected token "), "join conditions with and, or"
	case strings.Contains(r.message, "mismatched type"):
		r.hint = "compare like with like: numbers without quotes, texts in quotes"
	case strings.Contains(r.message, "maximum allowed nodes"):
		r.message, r.hint = "the expression is too large", fmt.Sprintf("it may have at most %d operators, names and values", maxNodes)
	case strings.HasPrefix(r.message, "expected bool, but got "):
		got := strings.TrimPrefix(r.message, "expected bool, but got ")
		if got == "unknown" || got == "interface {}" {
			got = "something known only when it runs"
		}
		r.message, r.hint = "the expression gives "+got+", not true or false", "compare it with something"
	}
	return r
}

// variables lists what an expression can ask of an exchange.
func variables() []string {
	var all []string
	t := reflect.TypeFor[env]()
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("expr"); name != "" && name != matcher && name != "-" {
			all = append(all, name)
		}
	}
	return all
}

// An inspector walks over the checked tree: it notes what is mentioned, puts our
// own matching in the place of the library's, and refuses what could grow.
type inspector struct {
	program *program
	refusal *refusal
	sure    bool // the refusal does not rest on types, which an error leaves unknown
}

// Visit implements ast.Visitor.
func (v *inspector) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		v.program.uses[n.Value] = true
	case *ast.BinaryNode:
		switch n.Operator {
		case "+":
			v.sum(n)
		case "matches":
			v.match(node, n)
		}
	}
}

func (v *inspector) refuse(n ast.Node, message, hint string) {
	if v.refusal == nil {
		v.refusal = &refusal{n.Location().From, message, hint}
	}
}

// sum refuses to add what may be a text: texts that double are how a short
// expression would fill the memory.
func (v *inspector) sum(n *ast.BinaryNode) {
	for _, side := range []ast.Node{n.Left, n.Right} {
		switch t := side.Type(); {
		case t == nil || t.Kind() == reflect.Interface:
			v.refuse(n, "+ adds numbers, and one side may be anything", "write int(…) or float(…) around it")
		case t.Kind() == reflect.String:
			v.refuse(n, "+ adds numbers; an expression builds no texts", "compare the parts one by one")
		}
	}
}

// match compiles the pattern and counts what it costs.
func (v *inspector) match(node *ast.Node, n *ast.BinaryNode) {
	if t := n.Left.Type(); t != nil && t.Kind() != reflect.String && t.Kind() != reflect.Interface {
		v.refuse(n, fmt.Sprintf("matches looks at texts, and this is %s", t), "compare it with ==, < or >")
		return
	}
	p, ok := n.Right.(*ast.StringNode)
	if !ok {
		v.sure = v.refusal == nil
		v.refuse(n.Right, "the pattern of matches is not a text in quotes", `write it out, such as path matches "_test[.]go$"`)
		return
	}
	re, err := regexp.Compile(p.Value)
	if err != nil {
		v.sure = v.refusal == nil
		v.refuse(n.Right, "bad pattern: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "the syntax is that of Go's regexp package")
		return
	}
	size := instructions(p.Value)
	if size > maxPattern {
		v.refuse(n.Right, fmt.Sprintf("the pattern is too large: %d instructions, and %d are allowed", size, maxPattern), "repeat less in it")
		return
	}
	v.program.patterns = append(v.program.patterns, pattern{re, size})
	ast.Patch(node, &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: matcher},
		Arguments: []ast.Node{n.Left, &ast.IntegerNode{Value: len(v.program.patterns) - 1}},
	})
}

// instructions returns the size of a pattern that compiles.
func instructions(source string) int {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return 0
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0
	}
	return len(prog.Inst)
}
