package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Protect pins what must stay, whatever other rules say. Each option pins something
// of its own; the zero value pins nothing.
type Protect struct {
	// The first message of a person, which states the task. Default: false.
	FirstUser bool `json:"first_user,omitempty"`
	// Messages of these roles: system, user, assistant or tool. Default: none.
	Roles []string `json:"roles,omitempty" enum:"system,user,assistant,tool"`
	// Exchanges of tools that match one of these globs. Default: none.
	Tools []string `json:"tools,omitempty"`
	// Exchanges about files that match one of these globs; ** stands for any number of folders. Default: none.
	Paths []string `json:"paths,omitempty"`
	// Messages in which one of these texts stands. Default: none.
	Markers []string `json:"markers,omitempty"`
	// Messages by index; negative counts from the end. Default: none.
	Messages []int `json:"messages,omitempty" min:"-1000000"`
	// Blocks of these kinds: text, thinking, call, result, server call, server result, media or other. Default: none.
	Kinds []string `json:"kinds,omitempty" enum:"text,thinking,call,result,server call,server result,media,other"`
	// Tools beside those of [Table], or in place of those of the same name; they tell which argument is the path. Default: none.
	Table []Tool `json:"table,omitempty"`
}

// Rule returns the rule, or what is wrong with its options.
func (o Protect) Rule() (pare.Rule, error) {
	guard := Scope{Table: o.Table}.guard()
	rule := pare.Rule{
		Name: protect,
		Doc:  "pin messages and exchanges by role, tool, path, marker, place or kind",
		Prepare: func(r *wire.Request) (pare.Process, error) {
			s := guard.look(r)
			return func(b *pare.Ballot) {
				s.pinMessages(b, o)
				s.pinExchanges(b, o)
				s.pinKinds(b, o)
			}, nil
		},
	}
	var wrong faults
	for i, name := range o.Roles {
		if _, ok := roleOf(name); !ok {
			wrong.element("roles", i, name, "write system, user, assistant or tool", "%q is no role", name)
		}
	}
	for i, name := range o.Kinds {
		if _, ok := kindOf(name); !ok {
			wrong.element("kinds", i, name, "write text, thinking, call, result, server call, server result, media or other", "%q is no kind", name)
		}
	}
	for i, text := range o.Markers {
		if text == "" {
			wrong.element("markers", i, text, "take it out", "an empty text stands everywhere")
		}
	}
	wrong.globs("tools", o.Tools)
	wrong.globs("paths", o.Paths)
	wrong.table(o.Table)
	return rule, wrong.of(rule)
}

const protect = "protect"

func (s *sight) pinMessages(b *pare.Ballot, o Protect) {
	ms := s.t.Messages()
	pin := func(i int, format string, args ...any) {
		for id := ms[i].First; id < ms[i].End; id++ {
			b.Protect(s.t.AtomOf(id), format, args...)
		}
	}
	for i, m := range ms {
		if slices.ContainsFunc(o.Roles, func(name string) bool { r, _ := roleOf(name); return r == m.Role }) {
			pin(i, "role %s", m.Role)
		}
		for _, marker := range o.Markers {
			if s.stands(i, marker) {
				pin(i, "marked %q", marker)
			}
		}
	}
	for _, i := range o.Messages {
		if i < 0 {
			i += len(ms)
		}
		if i >= 0 && i < len(ms) {
			pin(i, "message %d", i)
		}
	}
	if i := slices.IndexFunc(ms, func(m transcript.Message) bool { return m.Begins }); o.FirstUser && i >= 0 {
		pin(i, "the first message of a person")
	}
}

// stands reports whether a text stands in a message: in what is said, in
// arguments or in results.
func (s *sight) stands(message int, marker string) bool {
	m := s.t.Messages()[message]
	for id := m.First; id < m.End; id++ {
		blk := s.t.Block(id)
		body := s.t.Bytes(blk.Body)
		found := false
		switch {
		case blk.Body == blk.Span:
		case quoted(s.t, blk.Body) && plainSpelling(marker) && bytes.IndexByte(body, '\\') < 0:
			found = bytes.Contains(body, []byte(marker))
		case blk.Kind == transcript.Call && !quoted(s.t, blk.Body):
			found = bytes.Contains(wire.Canonical(body), []byte(marker))
		default:
			found = strings.Contains(wire.Text(s.t, id), marker)
		}
		if found {
			return true
		}
	}
	return false
}

// plainSpelling reports whether a text has only one spelling in JSON that clients
// use.
func plainSpelling(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\/<>&'`, r) })
}

func (s *sight) pinExchanges(b *pare.Ballot, o Protect) {
	if len(o.Tools) == 0 && len(o.Paths) == 0 {
		return
	}
	for i := range s.t.Exchanges() {
		x := &s.t.Exchanges()[i]
		if x.Call == transcript.NoBlock {
			continue
		}
		for _, g := range o.Tools {
			if matchTool(g, x.Tool) {
				b.Protect(s.t.AtomOf(x.Call), "tool %s", x.Tool)
			}
		}
		if len(o.Paths) == 0 {
			continue
		}
		file := s.use(s.tool(x.Tool), s.arguments(x.Call)).file
		for _, g := range o.Paths {
			if file != "" && matchPath(g, file) {
				b.Protect(s.t.AtomOf(x.Call), "path %s", file)
			}
		}
	}
}

func (s *sight) pinKinds(b *pare.Ballot, o Protect) {
	var wanted []transcript.Kind
	for _, name := range o.Kinds {
		k, _ := kindOf(name)
		wanted = append(wanted, k)
	}
	if wanted == nil {
		return
	}
	for id, blk := range s.t.Blocks() {
		if slices.Contains(wanted, blk.Kind) {
			b.Protect(s.t.AtomOf(transcript.BlockID(id)), "kind %s", blk.Kind)
		}
	}
}

func roleOf(name string) (transcript.Role, bool) {
	for _, r := range []transcript.Role{transcript.System, transcript.User, transcript.Assistant, transcript.Tool} {
		if r.String() == name {
			return r, true
		}
	}
	return transcript.Unknown, false
}

func kindOf(name string) (transcript.Kind, bool) {
	for k := transcript.Other; k <= transcript.Media; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return transcript.Other, false
}
