package hosts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A writer writes what a list says as a request.
type writer struct {
	list    *List
	spoken  bool // somebody has spoken who is no system
	elem    int
	system  []byte
	out     []byte // the messages, without the brackets
	who     role   // of the message that is open; nobody: none is
	n       int    // blocks of it
	opens   []int
	results []func()
	server  map[string]bool
	calls   []nameless      // that are not answered yet
	open    map[string]bool // calls without results since the last one that was noticed
	made    int
	asked   map[string]bool // calls of element askedOf that wait for an approval
	askedOf int
}

// nameless is a call without an id.
type nameless struct{ name, id string }

// begin goes on to the next element: a message never holds what two of them say.
func (w *writer) begin(i int) {
	if w.server == nil {
		w.server, w.open = make(map[string]bool), make(map[string]bool)
	}
	w.flush()
	w.elem = i
}

// add writes a block.
func (w *writer) add(h half, who role, block []byte) {
	if w.who != who {
		w.close()
		if len(w.out) > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(append(append(w.out, `{"role":"`...), who.String()...), `","content":[`...)
		w.who, w.n = who, 0
		w.opens = append(w.opens, w.elem)
	}
	if w.n > 0 {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, block...)
	w.list.blocks["messages."+strconv.Itoa(len(w.opens)-1)+".content."+strconv.Itoa(w.n)] = h
	w.n++
}

func (w *writer) close() {
	if w.who != nobody {
		w.out = append(w.out, "]}"...)
		w.who = nobody
	}
}

// answer writes the results of the calls in front.
func (w *writer) answer() {
	all := w.results
	w.results = nil
	for _, put := range all {
		put()
	}
}

func (w *writer) flush() {
	w.answer()
	w.close()
}

// idOf makes up the id of a call that has none, or finds that of the call that a result answers.
func (w *writer) idOf(k kind, name string) string {
	if k == result {
		for i, c := range w.calls {
			if c.name == name {
				w.calls = append(w.calls[:i:i], w.calls[i+1:]...)
				return c.id
			}
		}
	}
	w.made++
	id := madeUp + strconv.Itoa(w.made)
	if k == call {
		w.calls = append(w.calls, nameless{name, id})
	}
	return id
}

// waits reports whether a call waits for somebody's approval.
func (w *writer) waits(l *List, e *element, id string) bool {
	if l.shape.approval == "" {
		return false
	}
	if w.asked == nil || w.askedOf != w.elem {
		w.asked, w.askedOf = make(map[string]bool), w.elem
		for _, at := range e.message.list("content") {
			if o := open(l.raw, at); o.text("type") == l.shape.approval {
				w.asked[o.text("toolCallId")] = true
			}
		}
	}
	return w.asked[id] && !l.answered(id)
}

// answered reports whether a result with an id stands anywhere in the list.
func (l *List) answered(id string) bool {
	for _, at := range l.spans {
		o := open(l.raw, at)
		for _, p := range o.list("content") {
			if r := open(l.raw, p); r.text("type") == "tool-result" && r.text("toolCallId") == id {
				return true
			}
		}
	}
	return false
}

func (w *writer) body(model string) []byte {
	w.flush()
	b := []byte(`{"max_tokens":1,`)
	if model != "" {
		b = append(append(append(b, `"model":`...), quote(model)...), ',')
	}
	if len(w.system) > 0 {
		b = append(append(append(b, `"system":`...), quote(string(w.system))...), ',')
	}
	b = append(append(b, `"messages":[`...), w.out...)
	return append(b, "]}"...)
}

func appendText(to []byte, text string) []byte {
	if text != "" && len(to) > 0 {
		to = append(to, "\n\n"...)
	}
	return append(to, text...)
}

// stringOf is a value as a JSON string.
func stringOf(value []byte) []byte {
	switch first(value) {
	case '"':
		return value
	case 0:
		return []byte(`""`)
	}
	return quote(string(value))
}

// inputOf is the input of a call as an object.
func inputOf(value []byte) []byte {
	switch first(value) {
	case '{':
		return value
	case 0, 'n':
		return []byte("{}")
	}
	if text := decode(value); first([]byte(text)) == '{' && jsonspan.Valid([]byte(text)) == nil {
		return []byte(text) // an object, written as a text
	}
	return write("input", value)
}

// mediaBlock is a picture or a file, for whoever weighs it.
func mediaBlock(o *object, row *part) []byte {
	data := o.text(row.say)
	mime := o.text("mediaType|mimeType|mime|mime_type|source.media_type")
	if rest, ok := strings.CutPrefix(data, "data:"); ok {
		mime, data, _ = strings.Cut(rest, ";base64,")
	}
	if strings.HasPrefix(data, "http") || data == "" {
		return write("type", "image", "source", write("type", "url", "url", cmp.Or(data, "https://invalid")))
	}
	if !strings.HasPrefix(mime, "image/") && mime != "" {
		return write("type", "document", "source", write("type", "base64", "media_type", mime, "data", data))
	}
	return write("type", "image", "source", write("type", "base64", "media_type", cmp.Or(mime, "image/png"), "data", data))
}

// resultBlock writes a result as a tool_result. Texts are texts, whatever holds them; anything else is its
// JSON. The name of the tool, if the host keeps it, says which calls it may answer.
//
// host_digest stands for all else that the host keeps of a result: two results that differ in it are no copies.
func resultBlock(u *unit, out []byte, failed bool) []byte {
	var mark, name, digest []byte
	if failed {
		mark = []byte("true")
	}
	if u.name != "" && u.kind == result {
		name = quote(u.name)
	}
	if u.digest != "" {
		digest = quote(u.digest)
	}
	return write("type", "tool_result", "tool_use_id", u.id, "name", name, "host_digest", digest, "content", quote(outputText(out)), "is_error", mark)
}

// outputOf returns the output of a result: of the members that may hold it, the first that is not empty.
func outputOf(o object, row *part) []byte {
	for path := range strings.SplitSeq(row.out, "|") {
		if out := o.bytes(path); len(out) > 2 && string(out) != "null" {
			return out
		}
	}
	return o.bytes(row.out)
}

// unsaid are the members of a result that two copies of it may have different values of.
var unsaid = []string{"type", "role", "schema", "version", "id", "timestamp", "created_at", "updated_at", "time"}

// digestOf returns a digest of the members of a result that are not in the request; "" if there are none.
func digestOf(o object, row *part) string {
	sum := sha256.New()
	some := false
	for _, m := range o.Members {
		key := decode(o.Raw[m.Key.Start-1 : m.Key.End+1])
		read := slices.ContainsFunc([]string{row.id, row.name, row.out}, func(path string) bool { return path == key || strings.HasPrefix(path, key+"|") })
		if read || slices.Contains(unsaid, key) {
			continue
		}
		some = true
		fmt.Fprintf(sum, "%q:%s,", key, o.Raw[m.Value.Start:m.Value.End])
	}
	if !some {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// outputText is the text of an output.
func outputText(out []byte) string {
	o := openAll(out)
	if o.get("type").Len() > 0 && o.get("value").Len() > 0 {
		out = o.bytes("value")
	} else if o.text("type") == "text" && first(o.bytes("text")) == '"' {
		out = o.bytes("text")
	}
	return plainText(out)
}

// plainText is what a text, or a list with texts, says; of anything else its JSON.
func plainText(value []byte) string {
	switch first(value) {
	case 0:
		return ""
	case '"':
		return decode(value)
	case '[':
		var b strings.Builder
		some := false
		rest := false // something that is no text and no picture
		for _, at := range jsonspan.Elements(value, jsonspan.Span{End: len(value)}) {
			o := open(value, at)
			t := o.get("text")
			if t.Len() == 0 || value[t.Start] != '"' {
				rest = rest || !isMedia(o.text("type"))
				continue
			}
			if some {
				b.WriteByte('\n')
			}
			some = true
			b.WriteString(decode(value[t.Start:t.End]))
		}
		if !rest || some {
			return b.String()
		}
	}
	return string(value)
}

// holdsMore reports whether a list of parts holds some that are not in its text.
func holdsMore(list []byte) bool {
	if plainText(list) == string(list) {
		return false
	}
	return slices.ContainsFunc(jsonspan.Elements(list, jsonspan.Span{End: len(list)}), func(at jsonspan.Span) bool {
		text := open(list, at).get("text")
		return text.Len() == 0 || list[text.Start] != '"'
	})
}

// isMedia reports whether parts of a type are pictures or files.
func isMedia(kind string) bool {
	for _, name := range []string{"image", "file", "media", "audio", "video", "document", "input_image", "input_file", "input_audio"} {
		if strings.HasPrefix(kind, name) {
			return true
		}
	}
	return false
}
