package truth

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/wire"
)

// A word is a marker in the input with its surroundings.
type word struct {
	marker       string
	line         int      // of a file of lines, from 1; else 0
	path         []string // path to the word; for a key, to its member
	key          bool     // it is in a key
	prose        bool     // it is a text of several words, not an id or a name
	byPerson     bool     // a person wrote it
	member       string   // the name of the member that it is in, or "other"
	byOther      bool     // a model, a tool or the system wrote it: another speaker is named
	byTool       bool     // a tool wrote it or received it
	think        bool     // a model thought it
	isNextToText bool     // next to a person's words, in another member of the message
	isQuoted     bool     // a marked quotation
}

var markers = regexp.MustCompile(marker + `\d{4}`)

// wordsOf finds all words of a document.
func (d *document) wordsOf() (all []word) {
	if d.lines && d.root.kind == 'a' {
		for i, line := range d.root.vals {
			all = collect(all, word{line: i + 1}, line, speakerContext{})
		}
		return all
	}
	return collect(nil, word{}, d.root, speakerContext{})
}

// A speech is the speaker of a place, as derived from its surroundings.
type speakerContext struct {
	who   string // "person", "other", or "" while no speaker is named
	tool  bool   // within that, text from or for a tool
	think bool   // thinking of a model
	last  string // the last key
	said  string // the member with the text of the message, if it is another one
}

func collect(all []word, at word, n *node, s speakerContext) []word {
	add := func(text string, key bool) {
		for _, m := range markers.FindAllString(strings.ReplaceAll(text, "\x00", ""), -1) {
			w := at
			w.marker, w.key, w.path = m, key, slices.Clone(at.path)
			w.prose = strings.Contains(text, " ") && !slices.Contains(wordlessMembers, s.last)
			w.byPerson = s.who == "person" && !s.tool && w.prose && !key
			w.byOther, w.byTool, w.isNextToText = s.who == "other", s.tool, s.said != ""
			w.think = s.think
			w.isQuoted = quoted.MatchString(text)
			w.member = kindOfMember(s.last)
			all = append(all, w)
		}
	}
	switch n.kind {
	case 's':
		if said := inText(n.text); said != nil {
			return append(all, at.spelled(s, said)...)
		}
		add(n.text, false)
	case 'a':
		for i, v := range n.vals {
			next := at
			next.path = append(slices.Clip(at.path), strconv.Itoa(i))
			all = collect(all, next, v, s)
		}
	case 'o':
		s = s.within(n)
		for i, v := range n.vals {
			next := at
			next.path = append(slices.Clip(at.path), strings.ReplaceAll(n.keys[i], "\x00", ""))
			was := at
			at = next
			add(n.keys[i], true)
			at = was
			inner := s
			inner.last = n.keys[i]
			if inner.said != "" && inner.said == n.keys[i] {
				inner.said = ""
			}
			inner.tool = inner.tool || aboutTools(n.keys[i])
			inner.think = inner.think || thoughts.MatchString(n.keys[i])
			all = collect(all, next, v, inner)
		}
	}
	return all
}

// inText is the JSON that a text is, with markers in it; nil if it is another text. Arguments of a
// call and the content of a result are written so where an API takes only a text
// (openai-chat/arguments-string in the list of provider rules).
func inText(text string) *node {
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") || !strings.Contains(text, marker) {
		return nil
	}
	n, err := readTree([]byte(text))
	if err != nil {
		return nil
	}
	return n
}

// spelled finds the words of JSON in a text. The speaker of the text is a speaker of all its
// words, and a named speaker within it is quoted: a person's words stay a person's.
func (w word) spelled(s speakerContext, said *node) []word {
	all := collect(nil, w, said, s)
	for i := range all {
		inner := &all[i]
		inner.path = slices.Clone(w.path)
		inner.byPerson = inner.byPerson || s.who == "person" && !s.tool && inner.prose && !inner.key
		inner.byOther = inner.byOther && s.who == "other"
	}
	return all
}

// within returns the speaker inside an object.
func (s speakerContext) within(o *node) speakerContext {
	for _, key := range []string{"role", "Role", "author", "from", "source", "message_type", "messageType", "type", "sender", "_role", "kind"} {
		v := o.get(key)
		if v == nil {
			continue
		}
		if v.kind == 'o' && key != "type" && key != "kind" { // {"Label": "user"}, {"role": "user"}
			for _, inner := range v.vals {
				if who := speaker(inner.text, ""); inner.kind == 's' && who != "" {
					return speakerContext{who: who}
				}
			}
			continue
		}
		if v.kind != 's' {
			continue
		}
		if who := speaker(v.text, key); who != "" {
			s = speakerContext{who: who, tool: s.tool && who == s.who || aboutTools(v.text), said: saidIn(o)}
			break
		}
	}
	for _, key := range []string{"type", "block_type", "content_type", "kind", "$type", "part_kind"} {
		v := o.get(key)
		if v == nil || v.kind != 's' {
			continue
		}
		if v.text == "mcp_approval_response" {
			return speakerContext{who: "person"}
		}
		s.tool = s.tool || aboutTools(v.text)
		s.think = s.think || thoughts.MatchString(v.text)
	}
	s.think = s.think || o.get("thought") != nil
	for _, key := range o.keys {
		s.tool = s.tool || key == "tool_use_id" || key == "tool_call_id" || key == "call_id" || key == "toolUseId" || key == "toolCallId" || key == "toolResult" || key == "functionResponse"
	}
	if name := o.get("name"); name != nil && name.kind == 's' { // members that calls have in every dialect, even if the type is lost
		for _, key := range []string{"input", "arguments"} {
			v := o.get(key)
			s.tool = s.tool || v != nil && v.kind == 'o'
		}
	}
	return s
}

// saidIn returns the member of a message that contains its text, or "".
func saidIn(o *node) string {
	for _, key := range []string{"content", "parts", "text", "message"} {
		if v := o.get(key); v != nil && (v.kind == 's' && v.text != "" || len(v.vals) > 0) {
			return key
		}
	}
	return ""
}

// speaker returns the kind of speaker that a value names, or "". A type counts only if it is
// unambiguous.
func speaker(text, key string) string {
	text = strings.ToLower(text)
	sure := key == "role" || key == "Role" || key == "_role" || key == "messageType"
	switch text {
	case "user", "human", "user_message", "user_input", "usermessage", "humanmessage", "user.message":
		return "person"
	case "assistant", "model", "ai", "gpt", "agent", "tool", "function", "developer", "assistant_message", "model_output", "gemini", "toolresult", "system":
		return "other"
	}
	if sure && text != "" && !strings.Contains(text, " ") { // a sentence is not a name
		return "other"
	}
	return ""
}

var toolWords = regexp.MustCompile(`(?i)tool|function|call|result|response|output|observation|executable|search|code|arguments`)

var thoughts = regexp.MustCompile(`(?i)think|reason|thought`)

func aboutTools(text string) bool { return toolWords.MatchString(text) }

// textMembers lists the members in which the dialects store texts.
var textMembers = []string{"content", "text", "input", "output", "arguments", "args", "result", "parts", "thinking", "reasoning_content", "reasoning", "refusal", "transcript", "summary", "response", "data", "name", "id", "type", "role"}

// wordlessMembers lists members that contain no words, regardless of their value: roles, types, names
// and references.
var wordlessMembers = []string{"role", "type", "kind", "status", "id", "uuid", "parentId", "parentUuid", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "timestamp", "sessionId"}

// quoted matches the ways in which the output marks a quotation or a note of the system.
var quoted = regexp.MustCompile(`quoted, not written by the user|\[pare: |<system-reminder>`)

func kindOfMember(name string) string {
	if slices.Contains(textMembers, name) {
		return name
	}
	return "other"
}

// A change is the part of a receipt that the relation uses.
type change struct {
	action, rule string
	line         int
	path         []string
	ids          []string
	reason       string
}

// convertChanges converts receipts. A path is that of the request, which may be in an envelope. For a
// bare list it starts with the name that the dialect would give the list.
func convertChanges(all []wire.Change, root *node, prefix []string) []change {
	var out []change
	for _, c := range all {
		out = append(out, change{action: string(c.Action), rule: c.Rule, path: pathInside(c.Path, root, prefix), ids: c.IDs, reason: c.Reason})
	}
	return out
}

func pathInside(path string, root *node, prefix []string) []string {
	if path == "" {
		return nil
	}
	parts := strings.Split(path, ".")
	if root.kind == 'a' && len(prefix) == 0 {
		parts = parts[1:]
	}
	return append(slices.Clip(prefix), parts...)
}

// covers reports whether a change is about a place, or something around it.
func (c *change) covers(w *word) (covers, exact bool) {
	if c.path == nil || c.line != w.line {
		return false, false
	}
	if len(c.path) > 0 && c.path[0] == anywhere {
		tail := c.path[1:]
		for i := 0; i+len(tail) <= len(w.path); i++ {
			if slices.Equal(tail, w.path[i:i+len(tail)]) {
				return true, len(tail) > 0 && i+len(tail) == len(w.path)
			}
		}
		return false, false
	}
	if len(c.path) > len(w.path) || !slices.Equal(c.path, w.path[:len(c.path)]) {
		return false, false
	}
	return true, len(c.path) == len(w.path)
}

// nothing are the rules that say that there is nothing: a receipt of theirs does not name
// words that were there.
var nothing = []string{"empty-text", "empty-content", "null-content", "empty-calls-array", "field-missing", "empty-error-result"}

// unknownRules lists rules for content that is not understood. Their receipts do not name words.
var unknownRules = []string{"unknown-field", "wrong-type", "unknown-role"}

// duplicateRules lists rules for repeated content. Their receipts do not name words that are unique.
var duplicateRules = []string{"duplicate-result", "duplicate-key", "duplicate-item-id", "duplicate-call-id", "duplicate-compaction"}

// aboutCalls and aboutThinking list rules about calls and results, and about thinking. Their
// receipts do not name the text next to these.
var (
	aboutCalls    = regexp.MustCompile(`^(orphan|displaced|split|duplicate-(result|call))|^call-|^result-|^server-tool|^tool|^args-`)
	aboutThinking = regexp.MustCompile(`^(thinking|reasoning|thought)`)
)

// verdict returns "" if a receipt names a word that is not in the output, and otherwise the
// violation.
//
// A receipt names a word if its action is drop or archive, its path leads to the word or to a
// value that contains it, and its reason can be true: an empty value contains no words. An id
// is also named by a receipt that renames or edits it, or has it among its ids or in its
// reason. A person's words are named only by a window or a summary; let reports whether a
// receipt is one of these.
func (w *word) verdict(changes []change, let func(c *change) bool) string {
	best, rank := "lost without a receipt", 0
	worse := func(r int, what string) {
		if r >= rank {
			best, rank = what, r
		}
	}
	for i := range changes {
		c := &changes[i]
		covers, exact := c.covers(w)
		if !w.prose && (strings.Contains(c.reason, w.marker) || slices.ContainsFunc(c.ids, func(id string) bool { return strings.Contains(id, w.marker) })) {
			return ""
		}
		if !covers {
			continue
		}
		by := c.action + " " + c.rule
		took := c.action == "drop" || c.action == "archive"
		switch {
		case took && (let(c) || c.rule == "compaction-misplaced"): // the provider's own summary replaces it
			return ""
		case !took && !w.prose && !w.key && (exact || len(c.path)+1 >= len(w.path) || c.path[0] == anywhere):
			return ""
		case !took:
			worse(1, "lost, though the receipt is about something else: "+by)
		case w.byTool && strings.HasSuffix(c.reason, "the exchange goes as a whole"), w.think && c.reason == "reasoning whose call is gone":
			return ""
		case !w.prose && w.path[len(w.path)-1] == "id" && len(c.path)+1 >= len(w.path): // the id of nothing
			return ""
		case slices.Contains(duplicateRules, c.rule) && !(w.think && c.rule == "duplicate-item-id"): // reasoning cannot do without its id, nor share it
			worse(3, "called a copy: "+by)
		case w.prose && aboutCalls.MatchString(c.rule) && !w.byTool || w.prose && aboutThinking.MatchString(c.rule) && !w.think:
			worse(2, "dropped with what it stands beside: "+by)
		case slices.Contains(nothing, c.rule):
			worse(3, "called empty: "+by)
		case w.byPerson && w.isNextToText:
			worse(2, "what stands beside a person's words is dropped: "+by)
		case w.byPerson:
			worse(2, "a person's words are dropped: "+by)
		case w.prose && !w.think && slices.Contains(unknownRules, c.rule):
			worse(2, "not understood, and dropped: "+by)
		default:
			return ""
		}
	}
	return best
}

// present finds the markers of an output, however they are escaped.
func present(raw []byte) map[string]bool {
	all := map[string]bool{}
	find := func(text []byte) {
		for i := bytes.Index(text, []byte(marker)); i >= 0; {
			end := i + len(marker) + 4
			if end > len(text) {
				return
			}
			all[string(text[i:end])] = true
			next := bytes.Index(text[i+1:], []byte(marker))
			if next < 0 {
				return
			}
			i += 1 + next
		}
	}
	find(raw)
	// Text that was quoted, arguments in a string: an escape may be escaped itself.
	for range 3 {
		if !bytes.Contains(raw, []byte(`\u00`)) {
			break
		}
		raw = bytes.ReplaceAll([]byte(unescape(raw)), []byte{0}, nil)
		find(raw)
	}
	return all
}
