package picture

import (
	"bytes"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// MaxDetailed is the number of findings of a transcript that are shown with their messages. The
// others get a line each.
const MaxDetailed = 10

// RenderFindings returns the findings of a transcript. Findings about the same message share an
// excerpt.
func (s Style) RenderFindings(from string, req *wire.Request, n Counts, findings []wire.Finding) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", s.Paint.Bold(from), s.Paint.Faint(s.DescribeRequest(req, n)))
	rest := findings
	meant := map[string]bool{} // rules whose meaning was written
	for shown := 0; len(rest) > 0 && shown < MaxDetailed; {
		k := 1
		for k < len(rest) && rest[k].Index == rest[0].Index && rest[0].Index >= 0 && k < MaxDetailed {
			k++
		}
		for i, finding := range rest[:k] {
			s.WriteFinding(&b, finding, meant[finding.Rule], i > 0 && finding.Message == rest[i-1].Message)
			meant[finding.Rule] = true
		}
		NewFindingExcerpt(s, req, rest[:k], len(req.Transcript().Messages()), nil).Draw(&b)
		b.WriteByte('\n')
		rest, shown = rest[k:], shown+k
	}
	for _, finding := range rest {
		screen.Fprintf(&b, "  %s\n", s.FindingTitle(finding))
	}
	if len(rest) > 0 {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// DescribeRequest returns the dialect, profile, model and size of a request.
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

// WriteFinding writes a finding with its meaning and the provider's sentence, unless they were
// written before.
func (s Style) WriteFinding(b *bytes.Buffer, finding wire.Finding, meant, said bool) {
	screen.Fprintf(b, "  %s\n", s.FindingTitle(finding))
	s.WriteMeaning(b, finding, meant, said)
}

// WriteMeaning writes the part of a finding below its title.
func (s Style) WriteMeaning(b *bytes.Buffer, finding wire.Finding, meant, said bool) {
	meaning := dialect.RuleSlugs()[finding.Rule]
	if !meant && meaning != "" {
		screen.Fprintf(b, "    %s\n", meaning)
	}
	if said || finding.Message == meaning {
		return
	}
	for _, line := range screen.Wrap(finding.Message, s.Width-6) {
		screen.Fprintf(b, "    %s\n", s.Paint.Faint("│ "+line))
	}
}

// FindingTitle returns the rule and the path of a finding.
func (s Style) FindingTitle(finding wire.Finding) screen.Text {
	path := finding.Path
	if path == "" {
		path = "the request"
	}
	title := s.RuleLabel(finding) + "  " + s.Paint.Place(path)
	if finding.Advice {
		title += s.Paint.Faint("  advice")
	}
	return title
}

// RuleLabel returns the rule of a finding with its mark.
func (s Style) RuleLabel(finding wire.Finding) screen.Text {
	if finding.Advice {
		return s.Paint.Advice("! " + finding.Rule)
	}
	return s.Paint.Fault("✗ " + finding.Rule)
}

// Counts are the numbers of messages, calls and results. Calls that the provider executes are not
// counted.
type Counts struct {
	Messages int `json:"messages"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
}

// Count returns the counts of a request.
func Count(r *wire.Request) Counts {
	n := Counts{Messages: len(r.Transcript().Messages())}
	for _, b := range r.Transcript().Blocks() {
		n.Add(b.Kind)
	}
	return n
}

// Add counts a block.
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
