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

// A requestWriter assembles the request of a list.
type requestWriter struct {
	list            *List
	hasSpoken       bool // a message other than a system message precedes
	element         int
	system          []byte
	messages        []byte // without the brackets
	openRole        role   // of the open message; roleUnknown if none
	openBlocks      int    // number of blocks in it
	firstElements   []int
	pendingResults  []func()
	serverCalls     map[string]bool
	unansweredCalls []namelessCall  // calls without ids and results
	openCalls       map[string]bool // calls without results since the last separator
	madeUpIDs       int
	approvalsAsked  map[string]bool // calls of the element that wait for an approval
}

// A namelessCall is a call without an id.
type namelessCall struct{ name, id string }

func newRequestWriter(l *List) *requestWriter {
	return &requestWriter{list: l, serverCalls: make(map[string]bool), openCalls: make(map[string]bool)}
}

// beginElement starts the next element. A message never contains blocks of two elements.
func (w *requestWriter) beginElement(i int) {
	w.flush()
	w.element = i
}

// add adds a block.
func (w *requestWriter) add(h blockOrigin, who role, block []byte) {
	if w.openRole != who {
		w.close()
		if len(w.messages) > 0 {
			w.messages = append(w.messages, ',')
		}
		w.messages = append(append(append(w.messages, `{"role":"`...), who.String()...), `","content":[`...)
		w.openRole, w.openBlocks = who, 0
		w.firstElements = append(w.firstElements, w.element)
	}
	if w.openBlocks > 0 {
		w.messages = append(w.messages, ',')
	}
	w.messages = append(w.messages, block...)
	w.list.blockOrigins["messages."+strconv.Itoa(len(w.firstElements)-1)+".content."+strconv.Itoa(w.openBlocks)] = h
	w.openBlocks++
}

func (w *requestWriter) close() {
	if w.openRole != roleUnknown {
		w.messages = append(w.messages, "]}"...)
		w.openRole = roleUnknown
	}
}

// writeResults adds the results of the preceding calls.
func (w *requestWriter) writeResults() {
	all := w.pendingResults
	w.pendingResults = nil
	for _, put := range all {
		put()
	}
}

func (w *requestWriter) flush() {
	w.writeResults()
	w.close()
}

// callID returns an id for a call without one, or the id of the call that a result answers.
func (w *requestWriter) callID(k kind, name string) string {
	if k == kindResult {
		for i, c := range w.unansweredCalls {
			if c.name == name {
				w.unansweredCalls = append(w.unansweredCalls[:i:i], w.unansweredCalls[i+1:]...)
				return c.id
			}
		}
	}
	w.madeUpIDs++
	id := madeUpPrefix + strconv.Itoa(w.madeUpIDs)
	if k == kindCall {
		w.unansweredCalls = append(w.unansweredCalls, namelessCall{name, id})
	}
	return id
}

// waitsForApproval reports whether a call waits for an approval.
func (w *requestWriter) waitsForApproval(id string) bool {
	return w.approvalsAsked[id] && !w.list.hasResultFor(id)
}

// approvalsAsked returns the ids of the calls of an element for which it requests approval.
func (l *List) approvalsAsked(e *element) map[string]bool {
	asked := make(map[string]bool)
	if l.shape.approvalType == "" {
		return asked
	}
	for _, at := range e.message.list("content") {
		if o := objectAt(l.raw, at); o.text("type") == l.shape.approvalType {
			asked[o.text("toolCallId")] = true
		}
	}
	return asked
}

// hasResultFor reports whether the list contains a result with an id.
func (l *List) hasResultFor(id string) bool {
	for _, at := range l.elementSpans {
		o := objectAt(l.raw, at)
		for _, p := range o.list("content") {
			if r := objectAt(l.raw, p); r.text("type") == "tool-result" && r.text("toolCallId") == id {
				return true
			}
		}
	}
	return false
}

func (w *requestWriter) body(model string) []byte {
	w.flush()
	b := []byte(`{"max_tokens":1,`)
	if model != "" {
		b = append(append(append(b, `"model":`...), quote(model)...), ',')
	}
	if len(w.system) > 0 {
		b = append(append(append(b, `"system":`...), quote(string(w.system))...), ',')
	}
	b = append(append(b, `"messages":[`...), w.messages...)
	return append(b, "]}"...)
}

func appendParagraph(to []byte, text string) []byte {
	if text != "" && len(to) > 0 {
		to = append(to, "\n\n"...)
	}
	return append(to, text...)
}

// toJSONString returns a value as a JSON string.
func toJSONString(value []byte) []byte {
	switch firstByte(value) {
	case '"':
		return value
	case 0:
		return []byte(`""`)
	}
	return quote(string(value))
}

// toInput returns the input of a call as an object.
func toInput(value []byte) []byte {
	switch firstByte(value) {
	case '{':
		return value
	case 0, 'n':
		return []byte("{}")
	}
	if text := decodeString(value); firstByte([]byte(text)) == '{' && jsonspan.Valid([]byte(text)) == nil {
		return []byte(text) // a serialized object
	}
	return write("input", value)
}

// mediaBlock returns an image or document block, so that its tokens can be estimated.
func mediaBlock(o *object, row *partSpec) []byte {
	data := o.text(row.textPath)
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

// resultBlock returns a result as a tool_result. Texts stay texts in any structure; other values
// become JSON text. The tool's name, if the host stores it, restricts the calls that the result may
// answer.
//
// host_digest represents all other members of the result, so that results which differ only there
// do not count as copies.
func resultBlock(u *unit, out []byte, failed bool) []byte {
	var mark, name, digest []byte
	if failed {
		mark = []byte("true")
	}
	if u.name != "" && u.kind == kindResult {
		name = quote(u.name)
	}
	if u.digest != "" {
		digest = quote(u.digest)
	}
	return write("type", "tool_result", "tool_use_id", u.id, "name", name, "host_digest", digest, "content", quote(outputText(out)), "is_error", mark)
}

// findOutput returns the first non-empty output among the members that may hold it.
func findOutput(o object, row *partSpec) []byte {
	for path := range strings.SplitSeq(row.outputPath, "|") {
		if out := o.bytes(path); len(out) > 2 && string(out) != "null" {
			return out
		}
	}
	return o.bytes(row.outputPath)
}

// digestIgnored are the members in which two copies of a result may differ.
var digestIgnored = []string{"type", "role", "schema", "version", "id", "timestamp", "created_at", "updated_at", "time"}

// unreadDigest returns a digest of the members of a result that are not in the request, or "" if
// there are none.
func unreadDigest(o object, row *partSpec) string {
	sum := sha256.New()
	hasMembers := false
	for _, m := range o.Members {
		key := decodeString(o.Raw[m.Key.Start-1 : m.Key.End+1])
		read := slices.ContainsFunc([]string{row.idPath, row.namePath, row.outputPath}, func(path string) bool { return path == key || strings.HasPrefix(path, key+"|") })
		if read || slices.Contains(digestIgnored, key) {
			continue
		}
		hasMembers = true
		fmt.Fprintf(sum, "%q:%s,", key, o.Raw[m.Value.Start:m.Value.End])
	}
	if !hasMembers {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// outputText returns the text of an output.
func outputText(out []byte) string {
	o := objectOf(out)
	if o.get("type").Len() > 0 && o.get("value").Len() > 0 {
		out = o.bytes("value")
	} else if o.text("type") == "text" && firstByte(o.bytes("text")) == '"' {
		out = o.bytes("text")
	}
	return plainText(out)
}

// plainText returns the text of a string or of a list with texts. For other values it returns the
// JSON.
func plainText(value []byte) string {
	switch firstByte(value) {
	case 0:
		return ""
	case '"':
		return decodeString(value)
	case '[':
		var b strings.Builder
		hasText := false
		rest := false // a part that is neither text nor media
		for _, at := range jsonspan.Elements(value, jsonspan.Span{End: len(value)}) {
			o := objectAt(value, at)
			t := o.get("text")
			if t.Len() == 0 || value[t.Start] != '"' {
				rest = rest || !isMedia(o.text("type"))
				continue
			}
			if hasText {
				b.WriteByte('\n')
			}
			hasText = true
			b.WriteString(decodeString(value[t.Start:t.End]))
		}
		if !rest || hasText {
			return b.String()
		}
	}
	return string(value)
}

// hasOtherParts reports whether a list contains parts that are not in its text.
func hasOtherParts(list []byte) bool {
	if plainText(list) == string(list) {
		return false
	}
	return slices.ContainsFunc(jsonspan.Elements(list, jsonspan.Span{End: len(list)}), func(at jsonspan.Span) bool {
		text := objectAt(list, at).get("text")
		return text.Len() == 0 || list[text.Start] != '"'
	})
}

// isMedia reports whether a type of parts is an image or a file.
func isMedia(kind string) bool {
	for _, name := range []string{"image", "file", "media", "audio", "video", "document", "input_image", "input_file", "input_audio"} {
		if strings.HasPrefix(kind, name) {
			return true
		}
	}
	return false
}
