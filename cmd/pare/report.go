package main

import (
	"bytes"

	"github.com/pare-llm/pare/internal/picture"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/wire"
)

// A report renders findings for people.
type report struct {
	paint palette
	width int
}

// style is that of pictures.
func (r report) style() picture.Style { return picture.Style{Paint: r.paint, Width: r.width} }

// maxPictures is how many findings of one transcript are shown with their
// surroundings; a line each is enough for the rest.
const maxPictures = 10

// transcript renders the findings of one transcript, those about the same message
// together.
func (r report) transcript(from origin, req *wire.Request, n counts, found []wire.Finding) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", r.paint.Bold(from.String()), r.paint.Faint(r.about(req, n)))
	rest := found
	meant := map[string]bool{} // rules whose meaning was given
	for shown := 0; len(rest) > 0 && shown < maxPictures; {
		k := 1
		for k < len(rest) && rest[k].Index == rest[0].Index && rest[0].Index >= 0 && k < maxPictures {
			k++
		}
		for i, f := range rest[:k] {
			r.finding(&b, f, meant[f.Rule], i > 0 && f.Message == rest[i-1].Message)
			meant[f.Rule] = true
		}
		picture.Of(r.style(), req, rest[:k], len(req.Transcript().Messages()), nil).Draw(&b)
		b.WriteByte('\n')
		rest, shown = rest[k:], shown+k
	}
	for _, f := range rest {
		screen.Fprintf(&b, "  %s\n", r.title(f))
	}
	if len(rest) > 0 {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (r report) about(req *wire.Request, n counts) string {
	s := req.Dialect.String()
	if req.Profile.Name != s {
		s += " · " + req.Profile.Name
	}
	if m := req.Model(); m != "" {
		s += " · " + screen.Clip(m, 48)
	}
	return s + " · " + n.String()
}

// finding renders one finding: the rule and the place, what that means, and the
// provider's sentence; the latter two only if they were not just said.
func (r report) finding(b *bytes.Buffer, f wire.Finding, meant, said bool) {
	screen.Fprintf(b, "  %s\n", r.title(f))
	r.meaning(b, f, meant, said)
}

func (r report) meaning(b *bytes.Buffer, f wire.Finding, meant, said bool) {
	meaning := wire.Slugs()[f.Rule]
	if !meant && meaning != "" {
		screen.Fprintf(b, "    %s\n", meaning)
	}
	if said || f.Message == meaning {
		return
	}
	for _, line := range screen.Wrap(f.Message, r.width-6) {
		screen.Fprintf(b, "    %s\n", r.paint.Faint("│ "+line))
	}
}

func (r report) title(f wire.Finding) screen.Text {
	path := f.Path
	if path == "" {
		path = "the request"
	}
	title := r.mark(f) + "  " + r.paint.Place(path)
	if f.Advice {
		title += r.paint.Faint("  advice")
	}
	return title
}

// mark is the rule that a finding is about.
func (r report) mark(f wire.Finding) screen.Text {
	if f.Advice {
		return r.paint.Advice("! " + f.Rule)
	}
	return r.paint.Fault("✗ " + f.Rule)
}
