package dialect

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the pages that are made from the code")

const rulesPage = "../../docs/rules.md"

// TestRulesPage wants docs/rules.md to be what the rows say; -update writes it.
func TestRulesPage(t *testing.T) {
	src := readSource(t)
	want := src.page(t)
	if *update {
		if err := os.WriteFile(rulesPage, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(rulesPage); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v); run go test ./internal/dialect -run TestRulesPage -update", rulesPage, err)
	}
}

// A group is a heading of the page and the slugs below it.
type group struct {
	title string
	slugs []string
}

// rowSource is what only the source of this package tells: the groups of slugs, which are
// comments, and the condition of each row, which is a function.
type rowSource struct {
	groups []group
	only   map[string]ast.Expr // by id
	when   map[string]ast.Expr // likewise
	words  map[string]string   // by condition: the first sentence of its comment
}

func readSource(t *testing.T) *rowSource {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	s := &rowSource{only: map[string]ast.Expr{}, when: map[string]ast.Expr{}, words: map[string]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := goparser.ParseFile(set, name, nil, goparser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				s.condition(n)
			case *ast.CompositeLit:
				s.row(n)
			}
			return true
		})
		if name == "slugs.go" {
			s.readGroups(f)
		}
	}
	return s
}

// sentence is the first one of a comment.
var sentence = regexp.MustCompile(`(?s)^(.*?)\.(\s|$)`)

// condition notes what a condition on profiles is called.
func (s *rowSource) condition(f *ast.FuncDecl) {
	text, ok := strings.CutPrefix(f.Doc.Text(), f.Name.Name+": ")
	if m := sentence.FindStringSubmatch(text); ok && m != nil {
		s.words[f.Name.Name] = strings.Join(strings.Fields(m[1]), " ")
	}
}

// row notes the condition of a row.
func (s *rowSource) row(lit *ast.CompositeLit) {
	id := ""
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		key, _ := kv.Key.(*ast.Ident)
		switch v, isText := kv.Value.(*ast.BasicLit); {
		case key == nil:
			return
		case key.Name == "ID" && isText:
			id, _ = strconv.Unquote(v.Value)
		case key.Name == "only":
			s.only[id] = kv.Value
		case key.Name == "when":
			s.when[id] = kv.Value
		}
	}
}

// readGroups finds the slugs in the order of the source, and the comments between them.
func (s *rowSource) readGroups(f *ast.File) {
	titles := f.Comments[1:] // the first is that of the table
	ast.Inspect(f, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		for len(titles) > 0 && titles[0].Pos() < kv.Pos() {
			s.groups = append(s.groups, group{title: strings.TrimSpace(titles[0].Text())})
			titles = titles[1:]
		}
		slug, _ := strconv.Unquote(kv.Key.(*ast.BasicLit).Value)
		last := &s.groups[len(s.groups)-1]
		last.slugs = append(last.slugs, slug)
		return true
	})
}

// whom says which requests a row is for, if not for all of its dialect.
func (s *rowSource) whom(t *testing.T, r Rule) string {
	var all []string
	if r.Provider() != r.dialect.String() && r.Provider() != "*" {
		all = append(all, "on "+r.dialect.String())
	}
	for _, condition := range []ast.Expr{s.only[r.ID], s.when[r.ID]} {
		if condition == nil {
			continue
		}
		words := s.called(condition)
		if words == "" {
			t.Errorf("%s: its condition has no words: write a comment that begins with its name and a colon", r.ID)
		}
		if words != "profile "+r.Provider() {
			all = append(all, words)
		}
	}
	return strings.Join(all, "; ")
}

// called is what a condition is called; a word with NAME in it stands for each of its
// arguments.
func (s *rowSource) called(only ast.Expr) string {
	call, ok := only.(*ast.CallExpr)
	if !ok {
		name, _ := only.(*ast.Ident)
		if name == nil {
			return ""
		}
		return s.words[name.Name]
	}
	words := strings.Fields(s.words[call.Fun.(*ast.Ident).Name])
	for i, w := range words {
		if !strings.Contains(w, "NAME") {
			continue
		}
		var each []string
		for _, a := range call.Args {
			text, _ := strconv.Unquote(a.(*ast.BasicLit).Value)
			each = append(each, strings.ReplaceAll(w, "NAME", text))
		}
		words[i] = strings.Join(each, ", ")
	}
	return strings.Join(words, " ")
}

// sharedRows returns the names of rows that all dialects have, word for word.
func sharedRows() map[string]bool {
	count := map[string]int{}
	for _, r := range Rules() {
		if name, ok := strings.CutPrefix(r.ID, r.dialect.String()+"/"); ok {
			count[name+"\x00"+r.Doc]++
		}
	}
	all := map[string]bool{}
	for key, n := range count {
		if n == len(Dialects()) {
			name, _, _ := strings.Cut(key, "\x00")
			all[name] = true
		}
	}
	return all
}

func (s *rowSource) page(t *testing.T) []byte {
	shared := sharedRows()
	bySlug := map[string][]Rule{}
	severity := map[string]int{}
	for _, r := range Rules() {
		severity[severityOf(r)]++
		if name, ok := strings.CutPrefix(r.ID, r.dialect.String()+"/"); ok && shared[name] {
			if r.dialect != Dialects()[0] {
				continue
			}
			r.ID = "*/" + name
		}
		bySlug[r.Slug] = append(bySlug[r.Slug], r)
	}
	var b bytes.Buffer
	paragraph := func(text string) { b.WriteString(folded(text, "") + "\n") }
	b.WriteString("# Rules\n\n")
	paragraph(fmt.Sprintf("All rules that `pare check` knows: %d rows under %d slugs. A *slug* is what a finding calls its fault, whoever the provider is; a *row* is what one provider makes of it. `pare explain SLUG` prints the rows of a slug with the provider's own sentence, how the fault is repaired and where the rule was seen. This page is made from the rows: `go test ./internal/dialect -run TestRulesPage -update` writes it.", len(Rules()), len(slugs)))
	b.WriteString("| severity | rows | reported |\n| --- | --- | --- |\n")
	for _, row := range [][2]string{
		{"refused", "always, where the request's profile and model fit"},
		{"refused by some", "with `--strict`"},
		{"degrades", "with `--advice`"},
		{"not seen", "never by this row: the request alone does not show it, or it shows as another fault"},
	} {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", row[0], severity[row[0]], row[1])
	}
	b.WriteString("\n")
	paragraph(fmt.Sprintf("`--strict` also reports the rows of every other profile and model of the same dialect; see [decision 0003](internals/decisions/0003-faults-and-rules.md). %d rows about the shape of a message stand in all %d dialects and are written here once, as `*/…`.", len(shared), len(Dialects())))
	for _, g := range s.groups {
		var links []string
		for _, slug := range g.slugs {
			links = append(links, fmt.Sprintf("[%s](#%s)", slug, slug))
		}
		b.WriteString(folded("- **"+g.title+"**: "+strings.Join(links, ", "), "  "))
	}
	for _, g := range s.groups {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		for _, slug := range g.slugs {
			means := slugs[slug]
			fmt.Fprintf(&b, "\n### %s\n\n%s\n| row | for | severity | broken when |\n| --- | --- | --- | --- |\n", slug, folded(strings.ToUpper(means[:1])+means[1:]+".", ""))
			rows := bySlug[slug]
			slices.SortStableFunc(rows, func(x, y Rule) int { return strings.Compare(x.ID, y.ID) })
			for _, r := range rows {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, markdown(s.whom(t, r)), severityOf(r), markdown(r.Doc))
			}
			if len(rows) == 0 {
				t.Errorf("%s has no rows", slug)
			}
			delete(bySlug, slug)
		}
	}
	for slug := range bySlug {
		t.Errorf("%s is in no group of slugs.go", slug)
	}
	return b.Bytes()
}

func severityOf(r Rule) string {
	if r.on == unseen {
		return "not seen"
	}
	return r.Severity
}

// markdown lets a text stand in a cell as it is.
func markdown(text string) string {
	return strings.NewReplacer("_", `\_`, "*", `\*`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`).Replace(text)
}

// whole is what no line break may part.
var whole = regexp.MustCompile("`[^`]*`|\\[[^]]*\\]")

// folded breaks a paragraph at 120 characters.
func folded(text, indent string) string {
	const most = 120
	var b strings.Builder
	width := 0
	text = whole.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", "\x00") })
	for i, w := range strings.Fields(text) {
		w = strings.ReplaceAll(w, "\x00", " ")
		n := len([]rune(w))
		switch {
		case i == 0:
		case width+1+n > most:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(w)
		width += n
	}
	return b.String() + "\n"
}
