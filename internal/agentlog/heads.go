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

// Some agents open a file only if it begins with a head, or has one anywhere. A lost head is
// rebuilt from the following lines and the file's name. The agents do not need its other values.

// headRule is the damage of a file without a head in the required place.
const headRule = "lost-head"

func (l *Log) reportLostHead() { l.damageAt(0, 1, headRule) }

func (l *Log) lacksHead() bool {
	for _, f := range l.damage {
		if f.Rule == headRule {
			return true
		}
	}
	return false
}

func (e *edits) prependHead(head []byte) {
	e.prepended = append(e.prepended, head)
	e.addChange(Change{Line: 1, Change: wire.Change{Action: wire.ActionInsert, Rule: headRule, Bytes: len(head)}}, "a head, without which the agent does not open the file")
}

// startsFile reports whether a unit is the first one in the file and alone on its line.
func (l *Log) startsFile(u int) bool {
	at := l.units[u]
	return at.alone && len(bytes.TrimSpace(l.raw[:at.span.Start])) == 0
}

// uuidSuffix matches a uuid, or the first part of one, at the end of a file's name.
var uuidSuffix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?$`)
})

// sessionIDFromName returns the session id in the file's name, extended to a full uuid if
// necessary.
func (l *Log) sessionIDFromName() string {
	name := path.Base(strings.ReplaceAll(l.name, `\`, "/"))
	name = strings.TrimSuffix(name, path.Ext(name))
	text := uuidSuffix().FindString(name)
	if len(text) == 36 {
		return text
	}
	return text + derivedUUID(l.raw, name)[len(text):]
}

// uuidFromSum returns a uuid of version 8 (custom) with the bytes of a hash.
func uuidFromSum(s [32]byte) string {
	s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

// derivedUUID returns a uuid that depends only on the given bytes and purpose.
func derivedUUID(of []byte, why string) string {
	return uuidFromSum(sha256.Sum256(append([]byte("pare\x00"+why+"\x00"), of...)))
}

// zeroCounts returns an object with the named counts set to zero. They belong to a longer request,
// and the agent would rely on them.
func zeroCounts(counted object, names ...string) []byte {
	var pairs []any
	for _, name := range names {
		if counted.Has(name) {
			pairs = append(pairs, name, 0)
		}
	}
	return counted.With(pairs...)
}

// firstTimestamp returns the time of the first line with one.
func (l *Log) firstTimestamp() []byte {
	for u := range l.units {
		if v := l.object(u).Mark("timestamp"); len(v) > 2 && v[0] == '"' {
			return v
		}
	}
	return epoch
}

// epoch is the time of new records in a file without times.
var epoch = quote("1970-01-01T00:00:00.000Z")

// timestampOf returns the time of a record or, if it has none, of the first line with one.
func (l *Log) timestampOf(o object) []byte { return timestampOr(o, l.firstTimestamp()) }

// timestampOr returns the time of a record, or other if it has none.
func timestampOr(o object, other []byte) []byte {
	if v := o.Mark("timestamp"); v != nil {
		return v
	}
	return other
}

// newHead returns the head of a pi session: one from elsewhere in the file, or a new one.
func (pi) newHead(l *Log) []byte {
	t := l.pi
	version := []byte(nil) // version 1: lines without ids
	if t.linked {
		version = []byte("3")
	}
	for i := range t.entries {
		o := l.object(i)
		switch {
		case t.entries[i].kind == "session" && o.Text("id") != "":
			return o.Bytes()
		// Only version 2 has hook messages.
		case t.linked && o.Object("message").Text("role") == "hookMessage":
			version = []byte("2")
		}
	}
	return write("type", "session", "version", version, "id", l.sessionIDFromName(), "timestamp", l.firstTimestamp())
}

// newHead returns the head of a Codex rollout.
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

// newHead returns the head of a Gemini CLI chat.
func (geminiCLI) newHead(l *Log) []byte {
	id, stamp := l.sessionIDFromName(), l.firstTimestamp()
	return write("sessionId", id, "projectHash", fmt.Sprintf("%x", sha256.Sum256([]byte(id))), "startTime", stamp, "lastUpdated", stamp, "kind", "main")
}
