package doctest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is true into the pages")

const root = "../.."

// A page is one Markdown file.
type page struct {
	name  string // from the root of the project
	lines []string
}

// A block is the text between two fences.
type block struct {
	page   *page
	first  int // index of the line after the opening fence
	lang   string
	notRun string            // why it cannot be run
	output bool              // output of the Go program before it
	inside string            // of Go: the package, and the type of the list of which it is an element
	file   string            // the name under which the next console block finds it
	files  map[string]string // of a console block: the files that are there
	setup  []string          // of a console block: commands that run first
	indent string
	text   []string
}

// pages returns all Markdown of the project but for test data.
func pages(t *testing.T) []*page {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/internals/decisions/*.md", "examples/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 20 {
		t.Fatalf("only %d pages found", len(names))
	}
	var all []*page
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &page{name: filepath.ToSlash(rel), lines: strings.Split(string(raw), "\n")})
	}
	return all
}

func (p *page) write(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, p.name), []byte(strings.Join(p.lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
}

// blocks returns the fenced blocks of a page in their order.
func (p *page) blocks(t *testing.T) []*block {
	t.Helper()
	var all []*block
	var b *block
	var setup []string
	files := map[string]string{}
	for i, line := range p.lines {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case b != nil && strings.TrimSpace(line) == "```":
			b.text = p.lines[b.first:i]
			all = append(all, b)
			switch {
			case b.file != "":
				files[b.file] = strings.Join(b.text, "\n") + "\n"
			case b.lang == "console":
				b.setup, b.files = setup, files
				setup, files = nil, map[string]string{}
			}
			b = nil
		case b != nil:
		case strings.HasPrefix(trimmed, "```"):
			b = &block{page: p, first: i + 1, indent: line[:len(line)-len(trimmed)]}
			b.fence(t, strings.TrimPrefix(trimmed, "```"))
		case strings.HasPrefix(trimmed, "<!-- first: "):
			setup = append(setup, strings.TrimSuffix(strings.TrimPrefix(trimmed, "<!-- first: "), " -->"))
		}
	}
	if b != nil {
		t.Fatalf("%s:%d: a fence is not closed", p.name, b.first)
	}
	return all
}

// fence reads what stands behind the three backquotes.
func (b *block) fence(t *testing.T, info string) {
	t.Helper()
	lang, rest, _ := strings.Cut(info, " ")
	b.lang = lang
	name, value, _ := strings.Cut(rest, ": ")
	switch {
	case rest == "":
	case name == "not run" && value != "":
		b.notRun = value
	case name == "file" && value != "":
		b.file = value
	case name == "element of" && value != "" && lang == "go":
		b.inside = value
	case rest == "output" && lang == "text":
		b.output = true
	default:
		t.Fatalf("%s:%d: a fence says %q, which means nothing", b.page.name, b.first, rest)
	}
}

// body is the text of a block without the indentation of a list.
func (b *block) body() []string {
	lines := make([]string, len(b.text))
	for i, line := range b.text {
		lines[i] = strings.TrimPrefix(line, b.indent)
	}
	return lines
}

// replace puts other lines into a block, which must be the last one of its page that is
// replaced: places behind it move.
func (b *block) replace(lines []string) {
	for i, line := range lines {
		if line != "" {
			lines[i] = b.indent + line
		}
	}
	p := b.page
	p.lines = append(p.lines[:b.first:b.first], append(lines, p.lines[b.first+len(b.text):]...)...)
}
