package agentlog

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/pare-llm/pare/wire"
)

// Some agents open a file only if it begins with a head, or if there is one at all. What the
// head said is partly in the lines behind it and in the file's name; the rest of it is what
// the agents do without.

// headRule is the damage of a file whose head is not where it must be.
const headRule = "lost-head"

// noteHead notes that the head is not there.
func (l *Log) reportLostHead() { l.damageAt(0, 1, headRule) }

// headless reports whether the head is not there.
func (l *Log) lacksHead() bool {
	for _, f := range l.damage {
		if f.Rule == headRule {
			return true
		}
	}
	return false
}

// crown puts a head in front of everything.
func (e *edits) prependHead(head []byte) {
	e.prepended = append(e.prepended, head)
	e.addChange(Change{Line: 1}, wire.ActionInsert, headRule, nil, len(head), "a head, without which the agent does not open the file")
}

// begins reports whether a unit is the first thing in the file, and has its line for itself.
func (l *Log) startsFile(u int) bool {
	at := l.units[u]
	return at.alone && len(bytes.TrimSpace(l.raw[:at.span.Start])) == 0
}

// uuidIn finds a uuid, or the first part of one, at the end of a file's name.
var uuidSuffix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?$`)
})

// sessionID is what the file's name says of the session's id, made up to a whole uuid.
func (l *Log) sessionIDFromName() string {
	name := path.Base(strings.ReplaceAll(l.name, `\`, "/"))
	name = strings.TrimSuffix(name, path.Ext(name))
	said := uuidSuffix().FindString(name)
	if len(said) == 36 {
		return said
	}
	return said + derivedUUID(l.raw, name)[len(said):]
}

// uuidOf makes a custom uuid, of version 8, out of a sum.
func uuidFromSum(s [32]byte) string {
	s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

// eventID is an id that is a function of what it is the id of, and of why it is made.
func derivedUUID(of []byte, why string) string {
	return uuidFromSum(sha256.Sum256(append([]byte("pare\x00"+why+"\x00"), of...)))
}

// unused is a record of what the API has counted with these counts at nothing: it was counted when
// more was sent, and the agent would go by it.
func zeroCounts(counted object, names ...string) []byte {
	var pairs []any
	for _, name := range names {
		if counted.Has(name) {
			pairs = append(pairs, name, 0)
		}
	}
	return counted.With(pairs...)
}

// stampOf is the time of the first line that has one.
func (l *Log) firstTimestamp() []byte {
	for u := range l.units {
		if v := l.object(u).Mark("timestamp"); len(v) > 2 && v[0] == '"' {
			return v
		}
	}
	return epoch
}

// epoch is the time of a record where nothing in the file tells one.
var epoch = quote("1970-01-01T00:00:00.000Z")

// stampLike is the time of a record or, if it has none, that of the first line that has one.
func (l *Log) timestampOf(o object) []byte { return timestampOr(o, l.firstTimestamp()) }

// stampOr is the time of a record, or another one if it has none.
func timestampOr(o object, other []byte) []byte {
	if v := o.Mark("timestamp"); v != nil {
		return v
	}
	return other
}

// head writes what pi begins a session with: the head that stands elsewhere, or a new one.
func (pi) newHead(l *Log) []byte {
	t := l.pi
	version := []byte(nil) // 1: lines without ids
	if t.linked {
		version = []byte("3")
	}
	for i := range t.entries {
		o := l.object(i)
		switch {
		case t.entries[i].kind == "session" && o.Text("id") != "":
			return o.Bytes()
		case t.linked && o.Object("message").Text("role") == "hookMessage": // the version before
			version = []byte("2")
		}
	}
	return write("type", "session", "version", version, "id", l.sessionIDFromName(), "timestamp", l.firstTimestamp())
}

// head writes what Codex begins a rollout with.
func (codex) newHead(l *Log) []byte {
	stamp, cwd := l.firstTimestamp(), "/"
	for u := range l.units {
		if o := l.object(u); o.Text("type") == "turn_context" {
			if at := o.Object("payload").Text("cwd"); at != "" {
				cwd = at
				break
			}
		}
	}
	payload := write("id", l.sessionIDFromName(), "timestamp", stamp, "cwd", cwd, "originator", "codex_cli_rs", "cli_version", "0.0.0")
	return write("timestamp", stamp, "type", "session_meta", "payload", payload)
}

// head writes what Gemini CLI begins a chat with.
func (geminiCLI) newHead(l *Log) []byte {
	id, stamp := l.sessionIDFromName(), l.firstTimestamp()
	return write("sessionId", id, "projectHash", fmt.Sprintf("%x", sha256.Sum256([]byte(id))), "startTime", stamp, "lastUpdated", stamp, "kind", "main")
}
