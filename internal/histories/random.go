package histories

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
)

// GenOptions limits the scripts of [Random]. The zero value allows everything.
type GenOptions struct {
	Turns      int  // number of turns of a person; 0: one to six
	Steps      int  // tool steps per turn at most; 0: six, and now and then a long loop
	NoThinking bool // no think steps
	NoImages   bool // no image steps
	UniqueIDs  bool // no id is used in two turns
}

// Random returns a valid script that looks like a coding agent at work: it reads, writes and
// searches the same few files repeatedly, calls tools in parallel, fails and retries, thinks,
// and gets pictures. Ids often repeat from turn to turn, and texts contain characters that
// break careless code. The same seed and options give the same script.
func Random(seed uint64, o GenOptions) Script {
	g := generator{r: rand.New(rand.NewPCG(seed, 0x70617265)), o: o, version: map[string]int{}}
	if g.chance(3) {
		g.add(Step{Op: System, Text: g.prose()})
	}
	// Some clients count calls from zero in every turn.
	g.reuse = !o.UniqueIDs && g.chance(3)
	turns := o.Turns
	if turns == 0 {
		turns = 1 + g.r.IntN(6)
	}
	for t := range turns {
		g.turn(t == turns-1)
	}
	return g.out
}

type generator struct {
	r       *rand.Rand
	o       GenOptions
	out     Script
	version map[string]int // of each file, by writes
	reuse   bool
	calls   int
}

func (g *generator) add(s Step) { g.out = append(g.out, s) }

// chance is true once in n times.
func (g *generator) chance(n int) bool { return g.r.IntN(n) == 0 }

func pick[T any](g *generator, from ...T) T { return from[g.r.IntN(len(from))] }

// turn appends the words of a person and the work of the model. The last turn may end with
// results or with the person's words.
func (g *generator) turn(last bool) {
	if g.chance(12) {
		g.add(Step{Op: User, Text: g.prose()})
	}
	if g.chance(8) && !g.o.NoImages {
		g.add(Step{Op: Image})
	}
	g.add(Step{Op: User, Text: g.prose()})
	if g.chance(10) && !g.o.NoImages {
		g.add(Step{Op: Image})
	}
	most := g.o.Steps
	if most == 0 {
		most = 6
		if g.chance(20) {
			most = 40
		}
	}
	steps := g.r.IntN(most + 1)
	for range steps {
		g.toolStep()
	}
	if last && (steps > 0 || g.chance(2)) {
		return
	}
	g.think(4)
	g.add(Step{Op: Say, Text: g.prose()})
	if last {
		g.add(Step{Op: User, Text: g.prose()})
	}
}

func (g *generator) think(oneIn int) {
	if !g.o.NoThinking && g.chance(oneIn) {
		g.add(Step{Op: Think, Text: g.prose()})
	}
}

// toolStep is one assistant turn with calls, and their results.
func (g *generator) toolStep() {
	g.think(3)
	if g.chance(3) {
		g.add(Step{Op: Say, Text: g.prose()})
	}
	if g.reuse {
		g.calls = 0
	}
	var asked []Step
	for range 1 + max(0, g.r.IntN(6)-3) {
		c := g.call()
		if len(asked) > 0 {
			g.think(12) // between two calls
		}
		g.add(c)
		asked = append(asked, c)
	}
	if g.chance(3) { // results come as they are done
		g.r.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	}
	for _, c := range asked {
		g.add(g.answer(c))
	}
}

// call makes a call on one of few files, so that calls repeat and overlap.
func (g *generator) call() Step {
	id := "c" + strconv.Itoa(g.calls)
	g.calls++
	args := jsontree.Object()
	tool := pick(g, "Read", "Read", "Read", "Write", "Edit", "Bash", "Bash", "Grep")
	path := pick(g, "a.go", "b.go", "cmd/main.go", "./a.go", "/src/a.go", "docs/ä ö.md", "README.md")
	switch tool {
	case "Read":
		args.Add("path", jsontree.Text(path))
		if g.chance(3) {
			args.Add("offset", jsontree.Literal(strconv.Itoa(1+10*g.r.IntN(4))))
			args.Add("limit", jsontree.Literal(strconv.Itoa(pick(g, 10, 20, 40))))
		}
	case "Write":
		args.Add("path", jsontree.Text(path))
		args.Add("content", jsontree.Text(g.prose()))
	case "Edit":
		args.Add("path", jsontree.Text(path))
		args.Add("old", jsontree.Text(g.awkward()))
		args.Add("new", jsontree.Text(g.awkward()))
	case "Bash":
		args.Add("command", jsontree.Text(pick(g, "go test ./...", "go vet ./...", "ls -la", "cat a.go", "git status", `echo "a\b" | wc`)))
	case "Grep":
		args.Add("pattern", jsontree.Text(pick(g, "TODO", `func \w+\(`, "é", "\"quoted\"")))
		args.Add("path", jsontree.Text(path))
	}
	return Step{Op: Call, ID: id, Tool: tool, Args: string(args.Write(nil, jsontree.Spelling{}, 0))}
}

// answer makes the result of a call, as the file's history has it.
func (g *generator) answer(c Step) Step {
	n, _ := jsontree.Parse([]byte(c.Args))
	path := "."
	if p := n.Get("path"); p != nil {
		path = string(jsonspan.Decode(nil, p.Raw[1:len(p.Raw)-1]))
	}
	s := Step{Op: Result, ID: c.ID}
	if g.chance(7) {
		s.Op = Fail
		s.Text = pick(g, "exit status 1", "no such file: "+path, "permission denied", "old string not found in "+path, "command timed out")
		return s
	}
	switch c.Tool {
	case "Write", "Edit":
		g.version[path]++
		s.Text = "ok"
	case "Bash":
		s.Text = pick(g, "", " ", "ok  \tpare\t0.01s", g.prose(), strings.Repeat("PASS\n", 1+g.r.IntN(20)))
	default:
		s.Text = fmt.Sprintf("1\tpackage %s // version %d\n%s", strings.TrimSuffix(path, ".go"), g.version[path], g.prose())
	}
	return s
}

// awkwardTexts are hard on code that edits JSON by hand or counts characters.
var awkwardTexts = []string{
	`say "hi"`, `C:\dir\new`, "tab\tand\nnewline\r\n", "bell \a null \x00 escape \x1b[0m", "\u2028 line \u2029 paragraph",
	"naïve café", "日本語のテキスト", "👩‍👩‍👧‍👦 🇩🇪 e\u0301", "مرحبا", `{"role":"user"}`, `"}]},{"role":"assistant"`, `\u0041 \\ \" \/`,
	"null", "0", "</tool_result>", "call_0", "\ufeff\ufffd", "a|b", "  indented", "x", strings.Repeat("long ", 50),
}

func (g *generator) awkward() string { return pick(g, awkwardTexts...) }

// prose is a text that is never blank.
func (g *generator) prose() string {
	words := []string{"fix", "the", "test", "in", "file", "why", "does", "it", "fail", "please", "done", "look", "at", "line"}
	var b strings.Builder
	for i := range 1 + g.r.IntN(8) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pick(g, words...))
	}
	if g.chance(4) {
		b.WriteByte(' ')
		b.WriteString(g.awkward())
	}
	return b.String()
}
