package agentlog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/wire"
)

// Codex records user input twice: as an item, which it sends, and as an event for its display. If
// the line of the item is torn, the event still has the text.

const promptRule = "lost-prompt"

// A userText is the text of the user in an item or an event.
type userText struct {
	unit int
	text string
}

// A lostPrompt is an item whose line is torn or lost, and the event with its text.
type lostPrompt struct {
	event int // unit of the event
	next  int // the unit after the lost line, or the number of units
}

// noteUserText notes the user's text of a record.
func (r *codexReplay) noteUserText(unit int, kind string, payload object) {
	switch {
	case kind == "event_msg" && payload.Text("type") == "user_message":
		if of := payload.Text("kind"); of == "" || of == "plain" {
			r.userEvents = append(r.userEvents, userText{unit, payload.Text("message")})
		}
	case kind == "response_item" && payload.Text("type") == "message" && payload.Text("role") == "user":
		var text strings.Builder
		for _, at := range payload.List("content") {
			text.WriteString(objectAt(payload.Raw, at).Text("text"))
		}
		r.userItems = append(r.userItems, userText{unit, text.String()})
	}
}

// findPrompts finds the events whose items are torn: no item between the neighboring events has the
// text, and a torn line there may be the beginning of one.
func (r *codexReplay) findPrompts() {
	l := r.file
	if len(r.userEvents) == 0 {
		return
	}
	var torn []Finding
	for _, d := range l.damage {
		if d.Rule == "broken-line" || d.Rule == "truncated-line" {
			torn = append(torn, d)
		}
	}
	first := 0 // the first item that can belong to the event
	used := make([]bool, len(r.userItems))
	for k, e := range r.userEvents {
		from, to := r.sinceOffset, len(l.raw)
		if k > 0 {
			from = max(from, l.units[r.userEvents[k-1].unit].span.End)
		}
		if k+1 < len(r.userEvents) {
			to = l.units[r.userEvents[k+1].unit].span.Start
		}
		for first < len(r.userItems) && l.units[r.userItems[first].unit].span.Start < from {
			first++
		}
		found := strings.TrimSpace(e.text) == ""
		for i := first; i < len(r.userItems) && l.units[r.userItems[i].unit].span.Start < to && !found; i++ {
			if !used[i] && strings.Contains(r.userItems[i].text, strings.TrimSpace(e.text)) {
				used[i], found = true, true
			}
		}
		if found {
			continue
		}
		i := slices.IndexFunc(torn, func(d Finding) bool {
			return d.Offset >= from && d.Offset < to && canBeginPrompt(l.fragment(d.Offset), e.text)
		})
		if i < 0 {
			r.findLostPrompt(k)
			continue
		}
		d := torn[i]
		torn = slices.Delete(torn, i, i+1)
		next, _ := slices.BinarySearchFunc(l.units, d.Offset, func(u unit, at int) int { return u.span.Start - at })
		l.damageAt(d.Offset, d.Line, promptRule)
		l.lostPrompts = append(l.lostPrompts, lostPrompt{e.unit, next})
	}
}

// findLostPrompt reports that the item of an event is missing if exactly one number is missing
// between the neighboring events.
func (r *codexReplay) findLostPrompt(event int) {
	l, first, end := r.file, r.userEvents[event].unit, len(r.file.units)
	if event+1 < len(r.userEvents) {
		end = r.userEvents[event+1].unit + 1
	}
	if event > 0 {
		first = r.userEvents[event-1].unit
	}
	gap, last := -1, -1
	for u := first; u < end; u++ {
		n, err := strconv.Atoi(string(l.object(u).Value("ordinal")))
		if err != nil || last >= 0 && n > last+2 || n == last+2 && gap >= 0 {
			return
		}
		if last >= 0 && n == last+2 {
			gap = u
		}
		last = n
	}
	if gap >= 0 && l.units[gap].span.Start >= r.sinceOffset {
		at := l.units[r.userEvents[event].unit]
		l.damageAt(at.span.Start, at.line, promptRule)
		l.lostPrompts = append(l.lostPrompts, lostPrompt{r.userEvents[event].unit, gap})
	}
}

// fragment returns the invalid bytes at an offset: the rest of the line, up to an object on it.
func (l *Log) fragment(offset int) []byte {
	end := len(l.raw)
	if i := bytes.IndexByte(l.raw[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	if i, _ := slices.BinarySearchFunc(l.units, offset, func(u unit, at int) int { return u.span.Start - at }); i < len(l.units) {
		end = min(end, l.units[i].span.Start)
	}
	return bytes.TrimSpace(l.raw[offset:end])
}

// canBeginPrompt reports whether the bytes of a piece can be the beginning of a user message with
// the given text. A crash leaves null bytes in place of any data.
func canBeginPrompt(piece []byte, text string) bool {
	piece = bytes.TrimPrefix(bytes.ReplaceAll(piece, []byte{0}, nil), byteOrderMark)
	if len(piece) == 0 {
		return true
	}
	if piece[0] != '{' {
		return false
	}
	payload := bytes.Index(piece, []byte(`"payload"`))
	if i := bytes.Index(piece, []byte(`"type"`)); i >= 0 && (payload < 0 || i < payload) && !matchesTorn(piece[i:], `"type":"response_item"`) {
		return false
	}
	if payload < 0 {
		return true
	}
	item := piece[payload:]
	for _, want := range []string{`"type":"message"`, `"role":"user"`} {
		name, _, _ := strings.Cut(want, ":")
		if i := bytes.Index(item, []byte(name)); i >= 0 && !matchesTorn(item[i:], want) {
			return false
		}
	}
	i := bytes.Index(item, []byte(`"text":"`))
	if i < 0 {
		return true
	}
	return strings.HasPrefix(text, textOfTorn(item[i+len(`"text":"`):]))
}

// textOfTorn returns the decoded text of a string after its opening quote, as far as it exists.
func textOfTorn(raw []byte) string {
	end, complete := 0, 0 // complete: the end of the last complete escape
	for end < len(raw) && raw[end] != '"' {
		n := 1
		if raw[end] == '\\' {
			n = 2
			if end+1 < len(raw) && raw[end+1] == 'u' {
				n = 6
			}
		}
		if end += n; end <= len(raw) {
			complete = end
		}
	}
	text := slices.Concat([]byte{'"'}, raw[:complete], []byte{'"'})
	said := jsonedit.TextAt(text)
	for strings.HasSuffix(said, string(replacementChar)) { // an incomplete character
		said = strings.TrimSuffix(said, string(replacementChar))
	}
	return said
}

// matchesTorn reports whether text begins with want, or is a prefix of want.
func matchesTorn(text []byte, want string) bool {
	n := min(len(text), len(want))
	return string(text[:n]) == want[:n]
}

// restorePrompts rewrites lost items from the events with the same text.
func (c codex) restorePrompts(e *edits) {
	l := e.file
	for _, prompt := range l.lostPrompts {
		if e.appendOnly && prompt.next < len(l.units) {
			continue
		}
		text := l.object(prompt.event).Object("payload")
		content := [][]byte{write("type", "input_text", "text", text.Value("message"))}
		for _, at := range text.List("images") {
			if l.raw[at.Start] == '"' {
				content = append(content, write("type", "input_image", "image_url", l.raw[at.Start:at.End]))
			}
		}
		line := c.wrap(l, prompt.event, write("type", "message", "role", "user", "content", array(content...)))
		lost := ""
		if len(text.List("local_images")) > 0 {
			lost = "; pictures that went with them are not in the file"
		}
		if prompt.next == len(l.units) {
			e.appended = append(e.appended, line)
		} else {
			x := e.unit(prompt.next)
			x.before = append([][]byte{line}, x.before...)
		}
		at, _ := l.position(l.units[prompt.event].span.Start)
		e.addChange(Change{Line: at, Change: wire.Change{Action: wire.ActionInsert, Rule: promptRule, Bytes: len(line)}}, "the words of the user, of which the line is torn, from the event that repeats them%s", lost)
	}
}
