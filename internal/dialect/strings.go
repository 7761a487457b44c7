package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// linksDeep reports whether a string links something inside of a member of a message, or stands
// inside of what is no link, though it is called one.
func (s *stringsIn) linksDeep() bool {
	return len(s.keys) > 1 && pairNames[string(s.keys[0])] || len(s.keys) > 2 && (looksLikeCall(s.top()) || slices.ContainsFunc(s.keys[1:], func(k []byte) bool { return pairNames[string(k)] }))
}

// isTime reports whether a text is a time or a number: digits and what stands between them.
func isTime(text []byte) bool {
	return !bytes.ContainsFunc(text, func(r rune) bool { return (r < '0' || r > '9') && !strings.ContainsRune("-:.+TZ", r) })
}

// isStamp reports whether a text without blanks is a time, a number, or an id of digits and
// letters.
func isStamp(text []byte) bool {
	digits, letters := 0, 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		case c >= 0x80:
			return false
		}
	}
	return digits >= 4 && digits*4 >= letters
}

// stringsIn are the strings that stand as values in a span of JSON, one after the other. The
// span need not be a value: it may begin with a comma or a key.
type stringsIn struct {
	raw  []byte
	at   jsonspan.Span // of the string, quotes included
	pos  int
	end  int
	keys [][]byte     // by depth: the member that is being read
	open []openObject // the objects and lists around it
}

// An openObject is an object or a list that is being read.
type openObject struct {
	start  int
	judged bool
	speaks bool // it is a message: whatever it stands in, somebody speaks there
}

func newStrings(raw []byte, at transcript.Span) stringsIn {
	return stringsIn{raw: raw, pos: at.Start, end: at.End, keys: [][]byte{keyBefore(raw, at.Start)}}
}

// speakerTypes are types that say who speaks, in any format.
var speakerTypes = map[string]bool{
	"user": true, "human": true, "user_message": true, "user_input": true, "usermessage": true, "humanmessage": true, "user.message": true,
	"assistant": true, "model": true, "ai": true, "gpt": true, "agent": true, "gemini": true, "assistant_message": true, "model_output": true,
	"system": true, "developer": true, "tool": true, "function": true,
}

// speakerMembers are members that say who speaks, in any format.
var speakerMembers = map[string]bool{
	"role": true, "Role": true, "_role": true, "author": true, "from": true, "source": true, "sender": true, "message_type": true, "messageType": true,
}

// inMessage reports whether the string stands in a message inside of the block that begins at an offset.
func (s *stringsIn) inMessage(block int) bool {
	for i := range s.open {
		o := &s.open[i]
		if o.start <= block || s.raw[o.start] != '{' {
			continue
		}
		if !o.judged {
			o.judged, o.speaks = true, isSpeech(s.raw, jsonspan.Span{Start: o.start, End: s.end})
		}
		if o.speaks {
			return true
		}
	}
	return false
}

// isSpeech reports whether an object that begins at a span is a message: it says who speaks.
func isSpeech(raw []byte, at jsonspan.Span) bool {
	w := wordsOf(raw, at, jsonspan.Span{})
	if _, by := w.maker(); by != "" || slices.Contains(w.keys, "role") || slices.Contains(w.keys, "type") && (w.typ == "" || speakerTypes[strings.ToLower(w.typ)]) {
		return true
	}
	for _, key := range w.keys {
		if !speakerMembers[key] {
			continue
		}
		m, _ := jsonspan.Find(raw, at, key)
		for v := newStrings(raw, transcript.Span(m.Value)); v.next(); {
			if speakerTypes[strings.ToLower(string(jsonspan.Decode(nil, v.raw[v.at.Start+1:v.at.End-1])))] {
				return true
			}
		}
	}
	return false
}

// quotesMessage reports whether the string is JSON with a message in it, in which somebody says
// something.
func (s *stringsIn) quotesMessage() bool {
	text := jsonspan.Decode(nil, s.raw[s.at.Start+1:s.at.End-1])
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' || jsonspan.Valid(trimmed) != nil {
		return false
	}
	for in := newStrings(text, transcript.Span{End: len(text)}); in.next(); {
		if in.inMessage(-1) && !in.wordless(true) {
			return true
		}
	}
	return false
}

// QuotedIn finds the strings of a value in which somebody is quoted, by where their text begins: what
// a message inside of it says, and JSON with a message in it.
func QuotedIn(raw []byte, at transcript.Span) map[int]bool {
	all := make(map[int]bool)
	for s := newStrings(raw, at); s.next(); {
		if s.inMessage(at.Start) || s.quotesMessage() {
			all[s.at.Start+1] = true
		}
	}
	return all
}

// next goes on to the next string that is no key.
func (s *stringsIn) next() bool {
	for s.pos < s.end {
		switch c := s.raw[s.pos]; c {
		case '{':
			s.keys, s.open = append(s.keys, nil), append(s.open, openObject{start: s.pos})
		case '[':
			s.keys, s.open = append(s.keys, s.keys[len(s.keys)-1]), append(s.open, openObject{start: s.pos})
		case '}', ']':
			if len(s.keys) > 1 {
				s.keys, s.open = s.keys[:len(s.keys)-1], s.open[:len(s.open)-1]
			}
		case '"':
			if s.read() {
				return true
			}
			continue
		}
		s.pos++
	}
	return false
}

// read reads a string, and reports whether it is a value and all of it lies in the span.
func (s *stringsIn) read() bool {
	start := s.pos
	for i := start + 1; ; i++ {
		n := bytes.IndexByte(s.raw[i:s.end], '"')
		if n < 0 {
			s.pos = s.end
			return false
		}
		if i += n; !escapedAt(s.raw, i) {
			s.at = jsonspan.Span{Start: start, End: i + 1}
			break
		}
	}
	s.pos = s.at.End
	rest := bytes.TrimLeft(s.raw[s.pos:min(s.end, s.pos+64)], " \t\r\n")
	if len(rest) > 0 && rest[0] == ':' {
		key := s.raw[start+1 : s.pos-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = jsonspan.Decode(nil, key)
		}
		s.keys[len(s.keys)-1] = key
		return bytes.IndexByte(key, ' ') > 0 // no name, but words
	}
	return true
}

// top is the member that the string is the value of, or stands in a list of.
func (s *stringsIn) top() string { return string(s.keys[len(s.keys)-1]) }

// has reports whether the string stands in a member of one of these names, however deep.
func (s *stringsIn) has(names ...string) bool {
	return slices.ContainsFunc(s.keys, func(k []byte) bool { return slices.Contains(names, string(k)) })
}

// only reports whether all members that the string stands in have one of these names.
func (s *stringsIn) only(names []string) bool {
	return !slices.ContainsFunc(s.keys, func(k []byte) bool { return !slices.Contains(names, string(k)) })
}

// keyBefore is the name of the member whose value begins at an offset, or nil.
func keyBefore(raw []byte, at int) []byte {
	front := bytes.TrimRight(raw[:at], " \t\r\n")
	if !bytes.HasSuffix(front, []byte{':'}) {
		return nil
	}
	front = bytes.TrimRight(front[:len(front)-1], " \t\r\n")
	if !bytes.HasSuffix(front, []byte{'"'}) {
		return nil
	}
	front = front[:len(front)-1]
	for i := len(front) - 1; i >= 0; i-- {
		if front[i] == '"' && !escapedAt(front, i) {
			return jsonspan.Decode(nil, front[i+1:])
		}
	}
	return nil
}

// pairNames are the members that say which call it is, and of what.
var pairNames = map[string]bool{"id": true, "call_id": true, "tool_call_id": true, "tool_use_id": true, "toolUseId": true, "approval_request_id": true, "name": true}

// reasoningMembers are the names under which APIs keep what a model thought. A message can do
// without them, but not be dropped for having nothing else.
var reasoningMembers = map[string]bool{
	"reasoning_content": true, "reasoning": true, "thinking": true, "reasoning_details": true, "reasoning_text": true, "thinking_blocks": true, "thought_signature": true,
}

// wordlessMembers are members whose strings name or mark things and say nothing to anybody.
var wordlessMembers = map[string]bool{
	"role": true, "type": true, "id": true, "object": true, "model": true, "status": true, "phase": true, "format": true, "detail": true, "encoding": true,
	"stop_reason": true, "stop_sequence": true, "finish_reason": true, "service_tier": true, "tool_call_id": true, "tool_use_id": true, "toolUseId": true, "call_id": true,
	"toolset_name": true, "media_type": true, "mime_type": true, "mimeType": true, "signature": true, "thoughtSignature": true, "mode": true, "ttl": true, "partial_json": true,
	"kind": true, "visibility": true, "system_fingerprint": true, "provider": true, "channel": true, "scheduling": true, "environment": true, "clear_at": true, "effort": true, "encrypted_content": true, "tool_id": true, "execution": true,
}

// wordless reports whether a string says nothing that anybody could miss: it is blank, names
// or marks something, or is a time or an id. Where something else is said, names are wordless, too.
func (s *stringsIn) wordless(names bool) bool {
	text := s.raw[s.at.Start+1 : s.at.End-1]
	key := s.top()
	if len(trimSpace(text)) == 0 || (key == "token" || key == "tokens") && s.has("logprobs") {
		return true // tokens spell again what is said
	}
	if !names && pairNames[key] && (s.linksDeep() || key != "id") {
		return false // of something that nobody has read
	}
	token := len(text) <= 200 && bytes.IndexByte(text, ' ') < 0
	if key == "role" && bytes.ContainsAny(text, "0123456789") && bytes.IndexByte(text, '\\') < 0 {
		return false // nobody is called so
	}
	return token && (wordlessMembers[key] || names && (key == "name" || strings.HasSuffix(key, "_name") || strings.HasSuffix(key, "Name") || strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "Id")) || isStamp(text))
}
