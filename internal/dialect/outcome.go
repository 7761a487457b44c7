package dialect

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// marksFailure reports whether the dialect marks a result that failed, so that one
// without mark did not.
func (d Dialect) marksFailure() bool { return grammars[d].marksFailure }

// Outcome judges a result. Failure and success both need evidence: the dialect's mark
// or, where it has none, how the text begins. What was made up by a repair, or has been
// cleared, proves nothing, and neither does a text that speaks of a failure where a
// failure would be marked.
func (r *Request) Outcome(result transcript.BlockID) transcript.Outcome {
	b := r.t.Block(result)
	raw := r.saysFirst(b)
	if !b.Failed && harmless(raw) {
		return transcript.OutcomeSucceeded
	}
	return judge(raw, b.Failed, r.g.marksFailure)
}

// judge is Outcome for a result that has to be looked at.
func judge(raw []byte, failed, marked bool) transcript.Outcome {
	var buf [headBytes]byte
	head := bytes.TrimSpace(appendHead(buf[:0], raw))
	if IsCleared(head) || bytes.HasPrefix(head, stubHead) || len(raw) < 2*headBytes && IsSynthetic(string(head)) {
		return transcript.OutcomeUnknown
	}
	bad := looksFailed(head) || exitCode(raw)
	switch {
	case failed, bad && !marked:
		return transcript.OutcomeFailed
	case bad:
		return transcript.OutcomeUnknown
	}
	return transcript.OutcomeSucceeded
}

// stubHead is how the stub of an unanswered call begins, in lower case: what begins so
// is one, however much has been joined to it.
var stubHead = []byte(strings.ToLower(wording.Stub))

// appendHead appends the beginning of what a result says, in lower case.
func (r *Request) appendHead(dst []byte, result transcript.BlockID) []byte {
	return appendHead(dst, r.saysFirst(r.t.Block(result)))
}

// resultIsCleared reports whether what a result said has been taken away before.
func (r *Request) resultIsCleared(result transcript.BlockID) bool {
	raw := r.saysFirst(r.t.Block(result))
	if len(raw) == 0 || raw[0] != '[' && raw[0] != '\\' && raw[0] > ' ' && raw[0] < utf8.RuneSelf {
		return false // as most begin
	}
	var buf [headBytes]byte
	return IsCleared(bytes.TrimSpace(appendHead(buf[:0], raw)))
}

// harmless reports whether a result, as it is written, begins with nothing that
// would have to be looked at: that is most of them.
func harmless(raw []byte) bool {
	if len(raw) < 2 {
		return false
	}
	if raw[0] <= ' ' || raw[0] == '\\' || telltale[raw[0]|0x20][raw[1]|0x20] {
		return innocent(raw)
	}
	head := raw[:min(len(raw), 2*headBytes)]
	return !bytes.Contains(head, []byte("xit")) && !bytes.Contains(head, []byte("XIT"))
}

// innocent is harmless for a long result that begins with white space, as JSON does, or with
// letters that something bad begins with, too. A short one may be made up, which all of its
// text tells.
func innocent(raw []byte) bool {
	if len(raw) < 2*headBytes {
		return false
	}
	text := behindSpace(raw[:headBytes])
	switch {
	case len(text) < 2 || text[0] <= ' ' || text[0] >= utf8.RuneSelf || text[0] == '\\':
		return false
	case telltale[text[0]|0x20][text[1]|0x20] && !plainJSON(text) && !otherwise(text):
		return false
	}
	// Without characters spelled as numbers, so many bytes decode to all that is looked at.
	head := raw[:2*headBytes]
	return jsonspan.IndexPair(head, '\\', 'u', 0) < 0 && !exits(head, 'x') && !exits(head, 'X')
}

// behindSpace leaves out the white space that the content of a string begins with.
func behindSpace(raw []byte) []byte {
	for len(raw) > 1 {
		switch {
		case raw[0] == ' ':
			raw = raw[1:]
		case raw[0] == '\\' && (raw[1] == 'n' || raw[1] == 't' || raw[1] == 'r'):
			raw = raw[2:]
		default:
			return raw
		}
	}
	return raw
}

// plainJSON reports whether a text begins with a list, or with an object whose first member
// is neither an error nor an output, which may have an exit code.
func plainJSON(text []byte) bool {
	open, text := text[0], behindSpace(text[1:])
	if len(text) < 3 {
		return false
	}
	name := text[0] == '\\' && text[1] == '"'
	if open == '[' {
		return name || text[0] == '{' || text[0] >= '0' && text[0] <= '9'
	}
	c := text[2] | 0x20
	return open == '{' && name && c >= 'a' && c <= 'z' && c != 'e' && c != 'o'
}

// otherwise reports whether a text, written without escapes so far, begins otherwise than
// all that is looked for.
func otherwise(text []byte) bool {
	var low [40]byte // more than any head of a failure
	if len(text) < len(low) {
		return false
	}
	for i := range low {
		c := text[i]
		if c == '\\' || c == '"' {
			return false
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		low[i] = c
	}
	for _, p := range failedHeads {
		if string(low[:len(p)]) == p {
			return false
		}
	}
	return !bytes.Equal(low[:], stubHead[:len(low)]) && !IsCleared(low[:])
}

// exits reports whether a text may speak of an exit, with an x like the given one.
func exits(text []byte, x byte) bool {
	for {
		i := bytes.IndexByte(text, x)
		if i < 0 || i+2 >= len(text) {
			return false
		}
		if text[i+1]|0x20 == 'i' && text[i+2]|0x20 == 't' {
			return true
		}
		text = text[i+1:]
	}
}

// telltale are the first two letters of what is looked for, as it is written.
var telltale = func() (is [256][256]bool) {
	for _, heads := range [][]string{failedHeads, cleared, synthetic} {
		for _, h := range heads {
			is[h[0]|0x20][h[1]|0x20] = true
			is[h[0]|0x20]['\\'|0x20] = true
		}
	}
	for second := range is['{'] {
		is['{'][second] = true
	}
	return is
}()

// headBytes is how much of a result is looked at.
const headBytes = 240

// saysFirst returns what a result says first, as it is written.
func (r *Request) saysFirst(b transcript.Block) []byte {
	switch {
	case b.Body == b.Span:
		return nil
	case r.inString(b.Body):
		return r.t.Bytes(b.Body)
	}
	return firstText(r.t.Bytes(b.Body))
}

// firstText returns the raw inside of the string that a list of blocks or a
// response says first, with what follows it, or the value itself, if it says
// something else. It does not look for the end, which may be far.
func firstText(raw []byte) []byte {
	var s jsonspan.Scanner
	s.Reset(raw, jsonspan.Structural)
	last := 0 // where the innermost object begins
	for {
		switch s.Peek() {
		case jsonspan.String:
			return raw[s.Offset()+1:]
		case jsonspan.Array:
			if s.Enter(); !s.Element() {
				return raw[len(raw):]
			}
		case jsonspan.Object:
			last = s.Offset()
			s.Enter()
			if found, failed := textMember(&s, raw); failed {
				return saysError
			} else if !found {
				return raw[last:]
			}
		default:
			return raw[s.Offset():]
		}
	}
}

// textMember moves to the member of the entered object that holds its text. An error
// in front of it says more.
func textMember(s *jsonspan.Scanner, raw []byte) (found, failed bool) {
	for {
		span, ok := s.Key()
		if !ok {
			return false, false
		}
		key := raw[span.Start:span.End]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = jsonspan.Decode(nil, key)
		}
		switch string(key) {
		case "text", "output", "content", "result":
			return true, false
		case "error":
			s.Peek() // past white space
			if !noError(raw[s.Offset():]) {
				return false, true
			}
		}
		s.Skip()
	}
}

// saysError stands for a response that says so itself.
var saysError = []byte("error: ")

// noError reports whether a value in the place of an error says that there is none:
// null, false, zero, or nothing.
func noError(value []byte) bool {
	for _, none := range []string{"null", "none", "false", `""`, "{}", "[]", "0"} {
		if rest, ok := bytes.CutPrefix(value, []byte(none)); ok {
			// "null pointer" is something else.
			rest = bytes.TrimLeft(rest, " \t\r")
			return len(rest) == 0 || bytes.IndexByte([]byte(",}]\n"), rest[0]) >= 0
		}
	}
	return false
}

// appendHead decodes the first bytes of a string's content, in lower case. Beyond
// ASCII nothing is looked for, so escapes of anything else become a question mark.
func appendHead(dst, raw []byte) []byte {
	most := len(dst) + headBytes
	for i := 0; i < len(raw) && len(dst) < most && raw[i] != '"'; i++ {
		c := raw[i]
		if c == '\\' && i+1 < len(raw) {
			r, size := jsonspan.Unescape(raw[i:])
			if c = '?'; r < utf8.RuneSelf {
				c = byte(r)
			}
			i += max(size, 2) - 1
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// failedHeads are how results begin that report a failure, in lower case.
var failedHeads = []string{
	"error:", "error executing", "error calling", "error running", "error reading", "error writing", "error while", "error invoking", "error -", "error\n",
	"[error", "<error", "<tool_use_error", "toolerror:", "tool error", "traceback (most recent call last)", "exception:", "fatal:", "failed:", "failed to ",
	"execution failed", "command failed", "tool execution failed", "tool call failed", "command timed out", "{\"error\":", "{ \"error\":", "{\n  \"error\":", "panic:",
	"valueerror:", "typeerror:", "syntaxerror:", "referenceerror:", "filenotfounderror:", "permissionerror:", "runtimeerror:", "oserror:", "enoent", "eacces",
}

// exitLines are how tools report an exit code at the beginning of a line.
var exitLines = []string{"exit code: ", "exit code ", "exit status ", "exit status: ", "exited with code ", "process exited with code ", "command exited with code ", "exit_code: ", "exitcode: "}

// looksFailed judges the beginning of a result, in lower case.
func looksFailed(head []byte) bool {
	for _, p := range failedHeads {
		if len(head) >= len(p) && string(head[:len(p)]) == p {
			return !noError(bytes.TrimLeft(head[len(p):], " \n"))
		}
	}
	if !bytes.Contains(head, []byte("exit")) {
		return false
	}
	for line := range bytes.Lines(head) {
		for _, p := range exitLines {
			rest, ok := bytes.CutPrefix(bytes.TrimLeft(line, " <(["), []byte(p))
			if ok && len(rest) > 0 && (rest[0] == '-' || rest[0] >= '1' && rest[0] <= '9') {
				return true
			}
		}
	}
	return false
}

// exitCode reports whether a result is Codex' JSON with an exit code at its end
// that is not zero.
func exitCode(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '{' || !bytes.HasPrefix(bytes.TrimLeft(raw, `{\" `), []byte("output")) {
		return false
	}
	tail := raw[max(0, len(raw)-160):]
	i := bytes.LastIndex(tail, []byte("exit_code"))
	if i < 0 || !bytes.Contains(tail, []byte("metadata")) {
		return false
	}
	rest := bytes.TrimLeft(tail[i+len("exit_code"):], `\": `)
	return len(rest) > 0 && (rest[0] == '-' || rest[0] >= '1' && rest[0] <= '9')
}

// cleared are the beginnings of what stands in the place of a result: there is
// nothing behind them, so they prove nothing.
var cleared = []string{wording.Mark, "[Old tool result content cleared]", "[Tool result cleared", "[[NOTE] "}

// IsCleared reports whether a text stands in the place of what a result said. The case
// does not matter.
func IsCleared(text []byte) bool {
	for _, c := range cleared {
		if len(text) >= len(c) && text[0] == c[0] && bytes.EqualFold(text[:len(c)], []byte(c)) {
			return true
		}
	}
	return false
}

// synthetic are beginnings and fragments of results that repairs and aborts make
// up, in lower case.
var synthetic = []string{
	"the outcome of this call is unknown", "aborted", "[tool call was interrupted", "tool execution aborted", "tool execution skipped",
	"[system: tool execution skipped", "the tool execution result was lost", "missing tool result", "inserted synthetic error result",
	"interrupted by user", "[request interrupted by user", "tool call was cancelled", "tool call was canceled", "cancelled by user",
	"no result provided", "no result received", "ai_invalidtoolinputerror", "ai_toolexecutionerror", "tool was interrupted", "no response from tool",
}

// IsSynthetic reports whether a result looks made up: written by a repair or an
// abort, not by a tool. It is a guess by wording, on short texts only.
func IsSynthetic(text string) bool {
	if len(text) > 400 {
		return false
	}
	low := strings.ToLower(strings.Trim(text, " \n\t.!"))
	return slices.ContainsFunc(synthetic, func(s string) bool {
		// A short word may begin a real message: "Aborted (core dumped)".
		return low == s || len(s) > 12 && strings.HasPrefix(low, s) || len(s) > 20 && strings.Contains(low, s)
	})
}

// people are words in results that hold what a person said, in lower case.
var people = []string{
	"the user said", "user feedback", "<feedback>", "<user_message>", "user doesn't want", "user does not want", "rejected by the user", "denied by the user",
	"user rejected", "user denied", "user has rejected", "user declined", "user cancelled", "user canceled", "user responded", "user's answer", "user answered",
}

// PersonSpeaks reports whether the text of a result holds words of a person, which
// nothing may lose. Such results are short and say so early or late.
func PersonSpeaks(text []byte) bool {
	const look = 1000
	if len(text) > 2*look {
		return PersonSpeaks(text[:look]) || PersonSpeaks(text[len(text)-look:])
	}
	// All of the phrases have one of these words; most results have none.
	if !saysUser(text) && !bytes.Contains(text, []byte("<feedback>")) {
		return false
	}
	if !bytes.Contains(text, []byte("user")) && !bytes.Contains(text, []byte("User")) && !bytes.Contains(text, []byte("USER")) && !bytes.Contains(text, []byte("<feedback>")) {
		return false
	}
	text = bytes.ToLower(text)
	return slices.ContainsFunc(people, func(words string) bool { return bytes.Contains(text, []byte(words)) })
}

// saysUser reports whether a text says user, in letters of any case.
func saysUser(text []byte) bool {
	for {
		i := jsonspan.IndexPair(text, 'u', 's', 0x20)
		if i < 0 || i+4 > len(text) {
			return false
		}
		if text[i+2]|0x20 == 'e' && text[i+3]|0x20 == 'r' {
			return true
		}
		text = text[i+1:]
	}
}
