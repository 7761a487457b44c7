package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	widest       = 120
	readmeAtMost = 8 << 10
)

// TestWrapped checks that lines have at most 120 characters, except tables, blocks and lines
// without a space.
func TestWrapped(t *testing.T) {
	for _, p := range pages(t) {
		wrapped := wrap(p.lines)
		if slices.Equal(wrapped, p.lines) {
			continue
		}
		if *update {
			p.lines = wrapped
			p.write(t)
			continue
		}
		for i, line := range p.lines {
			if i >= len(wrapped) || wrapped[i] != line {
				t.Errorf("%s:%d: a line of more than %d characters; wrap it, or run the test with -update", p.name, i+1, widest)
				break
			}
		}
	}
}

var (
	item = regexp.MustCompile(`^ *([-*+]|\d+[.)]) +`)
	// starter matches words that would change their meaning at the start of a line.
	starter = regexp.MustCompile(`^([-*+>|]|\d+[.)]|#+)( |$)|^(\||` + "```" + `|<)`)
)

// wrap breaks the lines that are too long, together with the rest of their paragraph; all
// others stay.
func wrap(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); {
		end := paragraph(lines[i:]) + i
		if end == i {
			end = i + unit(lines[i:])
			out = append(out, lines[i:end]...)
			i = end
			continue
		}
		part := lines[i:end]
		i = end
		if !slices.ContainsFunc(part, func(s string) bool { return utf8.RuneCountInString(s) > widest }) {
			out = append(out, part...)
			continue
		}
		out = append(out, fill(part)...)
	}
	return out
}

// unit returns how many lines stand as they are: a fenced block, or one line.
func unit(lines []string) int {
	if !strings.HasPrefix(strings.TrimSpace(lines[0]), "```") {
		return 1
	}
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) == "```" {
			return i + 2
		}
	}
	return len(lines)
}

// paragraph returns how many lines the paragraph or item at the beginning has.
func paragraph(lines []string) int {
	n := 0
	for n < len(lines) {
		trimmed := strings.TrimSpace(lines[n])
		if trimmed == "" || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "<") ||
			strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "![") || n > 0 && item.MatchString(lines[n]) {
			break
		}
		n++
	}
	return n
}

// fill writes a paragraph anew.
func fill(part []string) []string {
	first := item.FindString(part[0])
	if first == "" {
		first = part[0][:len(part[0])-len(strings.TrimLeft(part[0], " "))]
	}
	indent := strings.Repeat(" ", len(first))
	text := strings.TrimPrefix(part[0], first)
	for _, line := range part[1:] {
		text += " " + strings.TrimSpace(line)
	}
	out := []string{}
	line := first
	empty := true
	for _, word := range words(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > widest && !starter.MatchString(word) {
			out = append(out, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return append(out, line)
}

// words cuts a text at its spaces, but for those in code.
func words(text string) []string {
	var all []string
	var word strings.Builder
	code := false
	for _, r := range text {
		if r == '`' {
			code = !code
		}
		if r == ' ' && !code {
			if word.Len() > 0 {
				all = append(all, word.String())
			}
			word.Reset()
			continue
		}
		word.WriteRune(r)
	}
	if word.Len() > 0 {
		all = append(all, word.String())
	}
	return all
}

// TestWrapKeepsWords holds wrap to what it may do.
func TestWrapKeepsWords(t *testing.T) {
	long := strings.Repeat("word ", 22) + "- 1. `code with spaces` [a link](x.md) | end " + strings.Repeat("more ", 30)
	for _, in := range [][]string{{long}, {"- " + long, "  and on"}, {"  2. " + long}, {"| " + long + " |"}, {"```", long, "```"}, {"# " + long}} {
		out := wrap(in)
		if a, b := strings.Fields(strings.Join(in, " ")), strings.Fields(strings.Join(out, " ")); !slices.Equal(a, b) {
			t.Errorf("%q became %q", in, out)
		}
		if again := wrap(out); !slices.Equal(again, out) {
			t.Errorf("%q is wrapped again: %q", out, again)
		}
		for i, line := range out[1:] {
			if item.MatchString(line) {
				t.Errorf("line %d of %q begins an item", i+1, out)
			}
		}
	}
}

// TestReadmeIsShort keeps the README a page that is read.
func TestReadmeIsShort(t *testing.T) {
	st, err := os.Stat(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > readmeAtMost {
		t.Errorf("README.md has %d bytes; at most %d are read", st.Size(), readmeAtMost)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ (.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksAreValid wants every link inside the project to lead to a file, and to a heading in it.
func TestLinksAreValid(t *testing.T) {
	anchors := map[string][]string{}
	all := pages(t)
	for _, p := range all {
		for _, line := range p.prose(t) {
			if m := heading.FindStringSubmatch(line); m != nil {
				slug := strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
				anchors[p.name] = append(anchors[p.name], slug)
			}
		}
	}
	for _, p := range all {
		for i, line := range p.prose(t) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				name := p.name
				if target != "" {
					name = filepath.ToSlash(filepath.Join(filepath.Dir(p.name), target))
				}
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Errorf("%s:%d: %s leads nowhere", p.name, i+1, m[1])
				} else if anchor != "" && anchors[name] != nil && !slices.Contains(anchors[name], anchor) {
					t.Errorf("%s:%d: %s has no heading #%s", p.name, i+1, name, anchor)
				}
			}
		}
	}
}

// TestDecisionsListed wants every decision to be in the index, and the architecture page to
// stay short.
func TestDecisionsListed(t *testing.T) {
	index, listed := "", 0
	for _, p := range pages(t) {
		switch {
		case p.name == "docs/internals/decisions/README.md":
			index = strings.Join(p.lines, "\n")
		case p.name == "docs/internals/architecture.md":
			if n := len(strings.Join(p.lines, "\n")); n > 10<<10 {
				t.Errorf("%s has %d bytes, and 10 KB are enough: move details to the code", p.name, n)
			}
		}
	}
	for _, p := range pages(t) {
		dir, name := filepath.Split(p.name)
		switch {
		case dir != "docs/internals/decisions/" || name == "README.md":
		case !strings.Contains(index, "("+name+")"):
			t.Errorf("docs/internals/decisions/README.md does not list %s", name)
		default:
			listed++
		}
	}
	if listed < 20 || listed > 30 {
		t.Errorf("%d decisions found, expected 20 to 30: a decision explains today's design, or it goes", listed)
	}
}

// prose returns the lines of a page, those of blocks empty.
func (p *page) prose(t *testing.T) []string {
	t.Helper()
	lines := slices.Clone(p.lines)
	for _, b := range p.blocks(t) {
		for i := range b.text {
			lines[b.first+i] = ""
		}
	}
	return lines
}
