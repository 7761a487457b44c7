package agentlog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// assistantParts are the types of parts that only assistant messages have.
var assistantParts = map[string]bool{"tool": true, "step-start": true, "step-finish": true, "reasoning": true, "patch": true}

// newMessage returns the message with the given file name.
func newMessage(name string, o object) *ocMessage {
	m := &ocMessage{id: name, role: "user", object: o}
	if o.Text("role") == "assistant" {
		m.role = "assistant"
	}
	return m
}

// tornMessage returns the message of an unreadable file, with the id from its name and its complete
// members.
func tornMessage(name string, raw []byte) *ocMessage {
	left := wholeMembers(raw)
	m := newMessage(name, objectOf(left))
	m.torn = true
	return m
}

// statedID returns the id in the message's own members.
func (m *ocMessage) statedID() string {
	if m.torn {
		return m.id
	}
	return m.object.Text("id")
}

// An ocContext holds the neighbors of unreadable files.
type ocContext struct {
	session  map[string]string       // by message
	role     map[string]string       // by message
	torn     map[string]*ocMessage   // unreadable messages by id
	messages map[string][]*ocMessage // by session and role: messages to use as a template
}

func (c openCode) readContext(l *Log) *ocContext {
	x := newContext()
	// They have the same units as l.
	for _, s := range c.sessions(&Log{source: l.source, layout: layout{files: l.files}}) {
		for _, m := range s.messages {
			x.add(s.id, m)
		}
	}
	return x
}

func newContext() *ocContext {
	return &ocContext{make(map[string]string), make(map[string]string), make(map[string]*ocMessage), make(map[string][]*ocMessage)}
}

// add adds a message of a session.
func (c *ocContext) add(session string, m *ocMessage) {
	c.session[m.id], c.role[m.id] = session, m.role
	if m.torn {
		c.torn[m.id] = m
	} else if !m.object.Has("error") && !m.object.Has("summary") {
		key := session + " " + m.role
		c.messages[key] = append(c.messages[key], m)
	}
}

// emptyPart returns a valid part that is not sent.
func (c *ocContext) emptyPart(message, id string) []byte {
	return write("id", id, "sessionID", c.session[message], "messageID", message, "type", "step-start")
}

// restoreUserText returns a part with the remaining user text of a torn one, or nil if there is
// none.
func (c *ocContext) restoreUserText(torn []byte, message, id string) []byte {
	if c.role[message] != "user" {
		return nil
	}
	torn = bytes.ToValidUTF8(torn, replacementChar)
	left := wholeMembers(torn)
	o := objectOf(left)
	text := o.Text("text")
	if i := lastMember(torn, "text"); text == "" && i >= 0 {
		text = textOfTorn(bytes.TrimRight(torn[i:], "\x00"))
	}
	if kind := o.Text("type"); strings.TrimSpace(text) == "" || kind != "text" && kind != "" || o.Is("synthetic") || o.Is("ignored") {
		return nil
	}
	return write("id", id, "sessionID", c.session[message], "messageID", message, "type", "text", "text", text)
}

// lastMember returns the offset of the text of the last member with that name, or -1.
func lastMember(torn []byte, name string) int {
	key := quote(name)
	for end := len(torn); ; {
		i := bytes.LastIndex(torn[:end], key)
		if i < 0 {
			return -1
		}
		end = i
		if at := skipSpace(torn, i+len(key)); at < len(torn) && torn[at] == ':' {
			if at = skipSpace(torn, at+1); at < len(torn) && torn[at] == '"' {
				return at + 1
			}
		}
	}
}

// restoreMessage returns a message with the id of an unreadable one. Its parts determine the role
// if nothing else does. Missing members come from the preceding message of the same role, or else
// the following one.
func (c *ocContext) restoreMessage(session, id string) []byte {
	m := c.torn[id]
	out := write("id", id, "sessionID", session, "role", m.role, "time", write("created", []byte("0")))
	if all := c.messages[session+" "+m.role]; len(all) > 0 {
		k, _ := slices.BinarySearchFunc(all, id, func(m *ocMessage, id string) int { return cmp.Compare(m.id, id) })
		template := all[max(0, k-1)].object
		out = template.With("id", id)
	}
	for _, name := range []string{"time", "parentID", "summary", "mode", "agent", "finish", "error", "modelID", "providerID", "model", "path"} {
		if v := m.object.Value(name); v != nil {
			out = setMembers(out, name, v)
		}
	}
	return out
}
