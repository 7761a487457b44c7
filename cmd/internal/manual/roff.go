package manual

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

// A Page is one man page.
type Page struct {
	Name string // of its file
	Roff []byte
}

// Pages returns the man pages of the commands; that of pare itself is first and lists the commands
// by group.
func Pages(app *kong.Application, groups []kong.Group) []Page {
	pages := []Page{{"pare.1", appPage(app, groups)}}
	for _, n := range app.Children {
		pages = append(pages, Page{"pare-" + n.Name + ".1", commandPage(app, n)})
	}
	return pages
}

func appPage(app *kong.Application, groups []kong.Group) []byte {
	var m manWriter
	m.header("pare", strings.TrimSuffix(strings.TrimPrefix(app.Help, "Pare "), "."))
	m.section("SYNOPSIS")
	m.line(`\fBpare\fR \fIcommand\fR [\fIflags\fR] [\fIpath\fR...]`)
	m.section("EXAMPLES")
	m.helpText(`    pare doctor                        check the sessions of your agents
    pare check request.json            what would the provider refuse, and why
    pare fix --in-place session.jsonl
    pare trim --max-tokens 50000 request.json -o small.json`)
	m.section("COMMANDS")
	var group *kong.Group
	for _, g := range groups {
		for _, n := range app.Children {
			if n.Group == nil || n.Group.Key != g.Key {
				continue
			}
			if group == nil || group.Key != g.Key {
				group = &g
				m.line(`.SS "` + roffText(strings.TrimSuffix(g.Title, ":")) + `"`)
			}
			m.line(".TP\n" + `\fBpare\-` + roffText(n.Name) + `\fR(1)`)
			m.paragraph(n.Help)
		}
	}
	m.section("OPTIONS")
	for _, f := range app.Flags {
		m.flag(f)
	}
	m.section("INPUT")
	m.paragraph("A path is a file, a folder (all that is in it), or - for standard input. What a file is, is seen from its content: a request body, a list of messages, JSON lines of either, or the session file of an agent. Files that end in .gz or .zst are read, too.")
	m.exitStatus()
	m.section("ENVIRONMENT")
	m.line(".TP\n.B NO_COLOR")
	m.paragraph("If it is set, nothing is coloured, unless --color says always.")
	m.line(".TP\n.B TERM")
	m.paragraph("If it is dumb, there are neither colours nor a progress bar.")
	m.section("FILES")
	m.line(".TP\n.I pare.toml")
	m.paragraph("The configuration of the rules, in the folder in which pare is run. pare init writes one.")
	m.section("SEE ALSO")
	var others []string
	for _, n := range app.Children {
		others = append(others, `\fBpare\-`+roffText(n.Name)+`\fR(1)`)
	}
	m.line(strings.Join(others, ",\n"))
	m.line(".PP\nhttps://github.com/pare\\-llm/pare")
	return m.Bytes()
}

func commandPage(app *kong.Application, n *kong.Node) []byte {
	var m manWriter
	m.header("pare-"+n.Name, strings.TrimSuffix(strings.ToLower(n.Help[:1])+n.Help[1:], "."))
	m.section("SYNOPSIS")
	synopsis := `\fBpare ` + roffText(n.Name) + `\fR [\fIflags\fR]`
	for _, p := range n.Positional {
		arg := `\fI` + roffText(p.Name) + `\fR`
		if p.IsSlice() {
			arg += "..."
		}
		if !p.Required {
			arg = "[" + arg + "]"
		}
		synopsis += " " + arg
	}
	m.line(synopsis)
	examples, rest := Examples(n.Detail)
	if examples != "" {
		m.section("EXAMPLES")
		m.helpText(examples)
	}
	m.section("DESCRIPTION")
	m.paragraph(n.Help)
	if rest != "" {
		m.line(".PP")
		m.helpText(rest)
	}
	m.section("OPTIONS")
	for _, p := range n.Positional {
		m.line(".TP\n" + `\fI` + roffText(p.Name) + `\fR`)
		m.paragraph(p.Help)
	}
	for _, f := range n.Flags {
		m.flag(f)
	}
	for _, f := range app.Flags {
		m.flag(f)
	}
	m.exitStatus()
	m.section("SEE ALSO")
	m.line(`\fBpare\fR(1)`)
	return m.Bytes()
}

// Examples splits a help text into its examples and the rest.
func Examples(detail string) (examples, rest string) {
	after, ok := strings.CutPrefix(detail, ExampleLead)
	if !ok {
		return "", detail
	}
	examples, rest, _ = strings.Cut(strings.TrimLeft(after, "\n"), "\n\n")
	return examples, rest
}

// ExampleLead is the first line of every help text.
const ExampleLead = "For example:\n"

// A manWriter writes roff.
type manWriter struct{ bytes.Buffer }

func (m *manWriter) line(s string) { m.WriteString(s + "\n") }

func (m *manWriter) header(name, what string) {
	fmt.Fprintf(m, ".\\\" made by: pare man\n.TH \"%s\" \"1\" \"\" \"pare\" \"Pare\"\n.SH \"NAME\"\n%s \\- %s\n", roffText(strings.ToUpper(name)), roffText(name), roffText(what))
}

func (m *manWriter) section(name string) { m.line(`.SH "` + name + `"`) }

// paragraph writes a paragraph, whose lines roff breaks.
func (m *manWriter) paragraph(s string) {
	for _, l := range screen.Paragraphs(s, 76) {
		m.line(roffText(l))
	}
}

// helpText writes a help text: paragraphs, and indented ones verbatim.
func (m *manWriter) helpText(s string) {
	for i, paragraph := range strings.Split(s, "\n\n") {
		if i > 0 {
			m.line(".PP")
		}
		if !strings.HasPrefix(paragraph, "    ") {
			m.paragraph(strings.ReplaceAll(paragraph, "\n", " "))
			continue
		}
		m.line(".RS 4\n.nf")
		for l := range strings.SplitSeq(paragraph, "\n") {
			m.line(roffText(strings.TrimPrefix(l, "    ")))
		}
		m.line(".fi\n.RE")
	}
}

func (m *manWriter) flag(f *kong.Flag) {
	name := `\fB\-\-` + roffText(f.Name) + `\fR`
	if f.Short != 0 {
		name = `\fB\-` + string(f.Short) + `\fR, ` + name
	}
	if !f.IsBool() {
		name += ` \fI` + roffText(flagValue(f)) + `\fR`
	}
	m.line(".TP\n" + name)
	m.paragraph(f.Help)
}

// flagValue returns the name of a flag's value.
func flagValue(f *kong.Flag) string {
	switch {
	case f.PlaceHolder != "":
		return f.PlaceHolder
	case f.Enum != "":
		return strings.ReplaceAll(f.Enum, ",", "|")
	}
	return strings.ToUpper(f.Name)
}

// exitStatus writes the meaning of the exit statuses.
func (m *manWriter) exitStatus() {
	m.section("EXIT STATUS")
	for i, meaning := range []string{"Clean, or done.", "There are findings, or some could not be repaired.", "Wrong usage, or input that cannot be read.", "The window is too small for what must be kept; nothing is written."} {
		m.line(fmt.Sprintf(".TP\n.B %d", i))
		m.paragraph(meaning)
	}
}

// roffText escapes the characters that are special in roff.
func roffText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
