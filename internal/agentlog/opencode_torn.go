package agentlog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// ocSpeaks are the types of parts that only messages of the assistant have.
var assistantParts = map[string]bool{"tool": true, "step-start": true, "step-finish": true, "reasoning": true, "patch": true}

// newMessage is a message of a file of that name.
func newMessage(name string, o object) *ocMessage {
	m := &ocMessage{id: name, role: "user", object: o}
	if o.Text("role") == "assistant" {
		m.role = "assistant"
	}
	return m
}

// tornMessage is the message of a file that cannot be read: its name tells which one it is, what
// is left of it the rest.
func tornMessage(name string, raw []byte) *ocMessage {
	left := wholeMembers(raw)
	m := newMessage(name, objectOf(left))
	m.torn = true
	return m
}

// said is the id that a message says it has.
func (m *ocMessage) statedID() string {
	if m.torn {
		return m.id
	}
	return m.object.Text("id")
}

// An ocLost is what is known of files that cannot be read, from those beside them.
type ocContext struct {
	session  map[string]string       // by message
	role     map[string]string       // the same
	torn     map[string]*ocMessage   // messages that cannot be read, by id
	messages map[string][]*ocMessage // by session and role, those that can be an example
}

func (c openCode) readContext(l *Log) *ocContext {
	x := newContext()
	for _, s := range c.sessions(&Log{source: l.source, layout: layout{files: l.files}}) { // units are those of l
		for _, m := range s.messages {
			x.add(s.id, m)
		}
	}
	return x
}

func newContext() *ocContext {
	return &ocContext{make(map[string]string), make(map[string]string), make(map[string]*ocMessage), make(map[string][]*ocMessage)}
}

// add notes a message of a session.
func (x *ocContext) add(session string, m *ocMessage) {
	x.session[m.id], x.role[m.id] = session, m.role
	if m.torn {
		x.torn[m.id] = m
	} else if !m.object.Has("error") && !m.object.Has("summary") {
		key := session + " " + m.role
		x.messages[key] = append(x.messages[key], m)
	}
}

// part is a part of a message that can be read and of which nothing is sent.
func (x *ocContext) emptyPart(message, id string) []byte {
	return write("id", id, "sessionID", x.session[message], "messageID", message, "type", "step-start")
}

// words is a part with what is left of the words of the user in one that breaks off; nil: there
// are none in it.
func (x *ocContext) restoreUserText(torn []byte, message, id string) []byte {
	if x.role[message] != "user" {
		return nil
	}
	torn = bytes.ToValidUTF8(torn, replacementChar)
	left := wholeMembers(torn)
	o := objectOf(left)
	said := o.Text("text")
	if i := lastMember(torn, "text"); said == "" && i >= 0 {
		said = textOfTorn(bytes.TrimRight(torn[i:], "\x00"))
	}
	if kind := o.Text("type"); strings.TrimSpace(said) == "" || kind != "text" && kind != "" || o.Is("synthetic") || o.Is("ignored") {
		return nil
	}
	return write("id", id, "sessionID", x.session[message], "messageID", message, "type", "text", "text", said)
}

// lastMember returns where the text of the last member of that name begins, or -1.
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

// message is a message with the id of one that cannot be read. Its parts tell who spoke, if
// nothing else does; what is not left of it is that of the last one of the same role in front of
// it, or the first behind it.
func (x *ocContext) restoreMessage(session, id string) []byte {
	m := x.torn[id]
	out := write("id", id, "sessionID", session, "role", m.role, "time", write("created", []byte("0")))
	if all := x.messages[session+" "+m.role]; len(all) > 0 {
		k, _ := slices.BinarySearchFunc(all, id, func(m *ocMessage, id string) int { return cmp.Compare(m.id, id) })
		like := all[max(0, k-1)].object
		out = like.With("id", id)
	}
	for _, name := range []string{"time", "parentID", "summary", "mode", "agent", "finish", "error", "modelID", "providerID", "model", "path"} {
		if v := m.object.Value(name); v != nil {
			out = setMembers(out, name, v)
		}
	}
	return out
}
