package truth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A family is the way in which Pare treats a shape.
type family string

const (
	dialectFamily   family = "dialect"   // a request of one of the six dialects
	envelopeFamily  family = "envelope"  // a request in something else
	agentFamily     family = "agent"     // a session file of a coding agent
	frameworkFamily family = "framework" // a history that a framework keeps; some are a dialect's
	otherFamily     family = "other"     // JSON that is no request at all
)

// A shape is a way to store histories. Frame contains them: the string "@" in a list is the
// place of the elements. A group is a list of elements that belong together, such as a call
// and its result; a history is a few groups in any order, starting with the first.
//
// A string with one of these prefixes is replaced:
//
//	~  prose: it gets a marker among its words, another one in each place
//	^  an id or a name: it gets a marker that is the same in the whole group
//	#  "#n" is the id of this element, "#p" that of the one before it, "#t" a time
type shape struct {
	name   string
	family family
	lines  bool   // the frame is a list whose elements are lines of a file
	file   string // how such a file is called; "": request.json
	path   string // where a client would post it; "": nowhere
	frame  *node
	groups []*node
}

// foreign reports whether a shape is that of a framework, which no provider accepts.
func (s *shape) foreign() bool {
	switch s.name {
	case "strands", "crewai", "agents sdk, session", "alpaca":
		return false
	}
	return s.family == frameworkFamily
}

// of makes a shape of templates.
func of(name string, f family, frame string, groups ...string) *shape {
	s := &shape{name: name, family: f, frame: mustTree(frame)}
	for _, g := range groups {
		s.groups = append(s.groups, mustTree(g))
	}
	return s
}

// at sets the path to which a client would post it.
func (s *shape) at(path string) *shape { s.path = path; return s }

// inFile sets the name of a file of lines.
func (s *shape) inFile(name string) *shape { s.file, s.lines = name, true; return s }

// shapes are all shapes.
func shapes() []*shape {
	var all []*shape
	for _, some := range [][]*shape{dialectShapes(), responsesShapes(), googleShapes(), envelopeShapes(), agentShapes(), agentObjects(), frameworkShapes(), moreFrameworks(), otherShapes()} {
		all = append(all, some...)
	}
	return all
}

// A document is an input: a tree with markers.
type document struct {
	shape   *shape
	root    *node
	lines   bool
	changed int  // how many mutations were made
	gentle  bool // of a kind that really happens
	seed    uint64
	file    string // where it was put, if it was
}

// raw writes a document.
func (d *document) raw() []byte {
	if !d.lines || d.root.kind != 'a' {
		return d.root.write(nil)
	}
	var out []byte
	for _, line := range d.root.vals {
		out = append(line.write(out), '\n')
	}
	return out
}

// make makes a history of a shape: at most so many groups.
func (s *shape) make(rnd *rand.Rand, most int) *node {
	var elements []*node
	if len(s.groups) > 0 {
		for i := range 1 + rnd.IntN(most) {
			g := 0
			if i > 0 {
				g = rnd.IntN(len(s.groups))
			}
			group := s.groups[g].copy()
			group.walk(func(n *node) { n.text = local(n.text, i) })
			elements = append(elements, group.vals...)
		}
	}
	for i, e := range elements {
		e.walk(func(n *node) { number(n, i) })
	}
	root := s.frame.copy()
	place(root, elements)
	return root
}

// local makes an id of a group that of its i-th instance.
func local(text string, i int) string {
	if strings.HasPrefix(text, "^") {
		return fmt.Sprintf("%s-%d", text, i)
	}
	return text
}

// number writes ids and times of the element i.
func number(n *node, i int) {
	if n.kind != 's' || len(n.text) != 2 || n.text[0] != '#' {
		return
	}
	switch n.text {
	case "#n":
		n.text = fmt.Sprintf("a1b2c3d4-0000-4000-8000-%012d", i)
	case "#p":
		if n.text = fmt.Sprintf("a1b2c3d4-0000-4000-8000-%012d", i-1); i == 0 {
			*n = *literal("null")
		}
	case "#t":
		n.text = fmt.Sprintf("2026-11-01T10:%02d:%02d.000Z", i/60%60, i%60)
	case "#i":
		*n = *literal(fmt.Sprint(i))
	}
}

// place inserts the elements into the frame.
func place(n *node, elements []*node) {
	for i, v := range n.vals {
		if n.kind == 'a' && v.kind == 's' && v.text == "@" {
			n.vals = append(append(append([]*node(nil), n.vals[:i]...), elements...), n.vals[i+1:]...)
			return
		}
		place(v, elements)
	}
}
