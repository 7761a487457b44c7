package picture

import (
	"bytes"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Most is how many findings of one transcript are shown with their
// surroundings; a line each is enough for the rest.
const MaxDetailed = 10

// Transcript renders the findings of one transcript, those about the same message
// together.
func (s Style) RenderFindings(from string, req *wire.Request, n Counts, found []wire.Finding) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", s.Paint.Bold(from), s.Paint.Faint(s.DescribeRequest(req, n)))
	rest := found
	meant := map[string]bool{} // rules whose meaning was given
	for shown := 0; len(rest) > 0 && shown < MaxDetailed; {
		k := 1
		for k < len(rest) && rest[k].Index == rest[0].Index && rest[0].Index >= 0 && k < MaxDetailed {
			k++
		}
		for i, f := range rest[:k] {
			s.WriteFinding(&b, f, meant[f.Rule], i > 0 && f.Message == rest[i-1].Message)
			meant[f.Rule] = true
		}
		NewFindingExcerpt(s, req, rest[:k], len(req.Transcript().Messages()), nil).Draw(&b)
		b.WriteByte('\n')
		rest, shown = rest[k:], shown+k
	}
	for _, f := range rest {
		screen.Fprintf(&b, "  %s\n", s.FindingTitle(f))
	}
	if len(rest) > 0 {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// About says what a request is, in a few words.
func (s Style) DescribeRequest(req *wire.Request, n Counts) string {
	about := req.Dialect.String()
	if req.Profile.Name != about {
		about += " · " + req.Profile.Name
	}
	if m := req.Model(); m != "" {
		about += " · " + screen.Clip(m, 48)
	}
	return about + " · " + n.String()
}

// Finding renders one finding: the rule and the place, what that means, and the
// provider's sentence; the latter two only if they were not just said.
func (s Style) WriteFinding(b *bytes.Buffer, f wire.Finding, meant, said bool) {
	screen.Fprintf(b, "  %s\n", s.FindingTitle(f))
	s.WriteMeaning(b, f, meant, said)
}

// Meaning is the part of a finding below its title.
func (s Style) WriteMeaning(b *bytes.Buffer, f wire.Finding, meant, said bool) {
	meaning := wirex.RuleSlugs()[f.Rule]
	if !meant && meaning != "" {
		screen.Fprintf(b, "    %s\n", meaning)
	}
	if said || f.Message == meaning {
		return
	}
	for _, line := range screen.Wrap(f.Message, s.Width-6) {
		screen.Fprintf(b, "    %s\n", s.Paint.Faint("│ "+line))
	}
}

// Title is the rule that a finding is about, and where.
func (s Style) FindingTitle(f wire.Finding) screen.Text {
	path := f.Path
	if path == "" {
		path = "the request"
	}
	title := s.RuleLabel(f) + "  " + s.Paint.Place(path)
	if f.Advice {
		title += s.Paint.Faint("  advice")
	}
	return title
}

// Rule is the rule that a finding is about.
func (s Style) RuleLabel(f wire.Finding) screen.Text {
	if f.Advice {
		return s.Paint.Advice("! " + f.Rule)
	}
	return s.Paint.Fault("✗ " + f.Rule)
}

// Counts says how much there is. Calls and results are those of the caller's
// tools; what the provider executes itself needs no care.
type Counts struct {
	Messages int `json:"messages"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
}

// Count counts what a request holds.
func Count(r *wire.Request) Counts {
	n := Counts{Messages: len(r.Transcript().Messages())}
	for _, b := range r.Transcript().Blocks() {
		n.Add(b.Kind)
	}
	return n
}

// Add Counts a block.
func (n *Counts) Add(k transcript.Kind) {
	switch k {
	case transcript.Call:
		n.Calls++
	case transcript.Result:
		n.Results++
	}
}

func (n Counts) String() string {
	return screen.Plural(n.Messages, "message") + ", " + screen.Plural(n.Calls, "call") + ", " + screen.Plural(n.Results, "result")
}
