package rules

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Selection selects parts of a history. An entry of any list selects the parts that match it; the
// zero value selects nothing. A Selection is safe for concurrent use.
type Selection struct {
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
	// Blocks of these kinds: text, thinking, call, result, server call, server result, media, compaction or other. Default: none.
	Kinds []string `json:"kinds,omitempty" enum:"text,thinking,call,result,server call,server result,media,compaction,other"`
	// Tools beside those of [Table], or in place of those of the same name; they tell which argument is the path. Default: none.
	Table []Tool `json:"table,omitempty"`
}

// selectFunc calls found with every selected atom of a request and the reason, possibly more than
// once for an atom. It is safe for concurrent use.
type selectFunc func(r *wire.Request, found func(a transcript.AtomID, why string))

// compile checks the options. The error is an [OptionErrors].
func (s Selection) compile() (selectFunc, error) {
	var wrong optionErrors
	wrong.checkSelection(s)
	if len(wrong) > 0 {
		return nil, OptionErrors(wrong)
	}
	guard := Scope{Table: s.Table}.compile()
	return func(r *wire.Request, found func(transcript.AtomID, string)) {
		see := selector{guard.view(r), s, found}
		see.selectMessages()
		see.selectCalls()
		see.selectBlocks()
	}, nil
}

func (f *optionErrors) checkSelection(s Selection) {
	for i, name := range s.Roles {
		if _, ok := roleOf(name); !ok {
			f.addElement("roles", i, name, "write system, user, assistant or tool", "%q is no role", name)
		}
	}
	for i, name := range s.Kinds {
		if _, ok := kindOf(name); !ok {
			f.addElement("kinds", i, name, "write text, thinking, call, result, server call, server result, media, compaction or other", "%q is no kind", name)
		}
	}
	for i, text := range s.Markers {
		if text == "" {
			f.addElement("markers", i, text, "remove it", "an empty text stands everywhere")
		}
	}
	f.checkGlobs("tools", s.Tools)
	f.checkGlobs("paths", s.Paths)
	f.checkTable(s.Table)
}

// selector applies a selection to one history.
type selector struct {
	*historyView
	Selection
	found func(transcript.AtomID, string)
}

func (s *selector) selectMessages() {
	ms := s.t.Messages()
	take := func(i int, why string) {
		for id := ms[i].First; id < ms[i].End; id++ {
			s.found(s.t.AtomOf(id), why)
		}
	}
	for i, m := range ms {
		if slices.ContainsFunc(s.Roles, func(name string) bool { r, _ := roleOf(name); return r == m.Role }) {
			take(i, "role "+m.Role.String())
		}
		for _, marker := range s.Markers {
			if s.contains(i, marker) {
				take(i, fmt.Sprintf("marked %q", marker))
			}
		}
	}
	for _, i := range s.Messages {
		if i < 0 {
			i += len(ms)
		}
		if i >= 0 && i < len(ms) {
			take(i, fmt.Sprintf("message %d", i))
		}
	}
	if i := slices.IndexFunc(ms, func(m transcript.Message) bool { return m.Begins }); s.FirstUser && i >= 0 {
		take(i, "the first message of a person")
	}
}

// contains reports whether the text, the arguments or the results of a message contain a marker.
func (s *historyView) contains(message int, marker string) bool {
	m := s.t.Messages()[message]
	for id := m.First; id < m.End; id++ {
		blk := s.t.Block(id)
		body := s.t.Bytes(blk.Body)
		found := false
		switch {
		case blk.Body == blk.Span:
		case isQuoted(s.t, blk.Body) && plainSpelling(marker) && bytes.IndexByte(body, '\\') < 0:
			found = bytes.Contains(body, []byte(marker))
		case blk.Kind == transcript.Call && !isQuoted(s.t, blk.Body):
			found = bytes.Contains(dialect.Canonical(body), []byte(marker))
		default:
			found = strings.Contains(s.r.Text(id), marker)
		}
		if found {
			return true
		}
	}
	return false
}

// plainSpelling reports whether s has only one spelling in the JSON of common clients.
func plainSpelling(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\/<>&'`, r) })
}

func (s *selector) selectCalls() {
	if len(s.Tools) == 0 && len(s.Paths) == 0 {
		return
	}
	for i := range s.t.Exchanges() {
		x := &s.t.Exchanges()[i]
		if x.Call == transcript.NoBlock {
			continue
		}
		for _, g := range s.Tools {
			if matchTool(g, x.Tool) {
				s.found(s.t.AtomOf(x.Call), "tool "+x.Tool)
			}
		}
		if len(s.Paths) == 0 {
			continue
		}
		file := s.parseCall(s.lookUpTool(x.Tool), s.arguments(x.Call)).file
		for _, g := range s.Paths {
			if file != "" && matchPath(g, file) {
				s.found(s.t.AtomOf(x.Call), "path "+file)
			}
		}
	}
}

func (s *selector) selectBlocks() {
	var wanted []transcript.Kind
	for _, name := range s.Kinds {
		k, _ := kindOf(name)
		wanted = append(wanted, k)
	}
	if wanted == nil {
		return
	}
	for id, blk := range s.t.Blocks() {
		if slices.Contains(wanted, blk.Kind) {
			s.found(s.t.AtomOf(transcript.BlockID(id)), "kind "+blk.Kind.String())
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
	for k := transcript.Other; k <= transcript.Compaction; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return transcript.Other, false
}
