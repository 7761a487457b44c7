package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An outcome is what can be said about a result.
type outcome uint8

const (
	unclear outcome = iota
	succeeded
	failure
)

// outcome judges the result of a whole exchange. Failure and success both need
// evidence: what is neither marked nor looks like either proves nothing.
func (s *sight) outcome(x *transcript.Exchange) outcome {
	b := s.t.Block(x.Results[0])
	raw := s.inside(b)
	if !b.Failed && harmless(raw) {
		return succeeded
	}
	head := s.lower(raw)
	if bytes.HasPrefix(head, stubHead) || isCleared(head) {
		return unclear
	}
	bad := looksFailed(head) || exitCode(raw)
	switch {
	case b.Failed, bad && !s.marks():
		return failure
	case bad:
		return unclear
	}
	return succeeded
}

// harmless reports whether a result, as it is written, begins with nothing that
// would have to be looked at: that is most of them.
func harmless(raw []byte) bool {
	if len(raw) < 2 || raw[0] <= ' ' || raw[0] == '\\' || telling[raw[0]|0x20][raw[1]|0x20] {
		return false
	}
	head := raw[:min(len(raw), 2*headBytes)]
	return !bytes.Contains(head, []byte("xit")) && !bytes.Contains(head, []byte("XIT"))
}

// telling are the first two letters of what is looked for, as it is written.
var telling = func() (is [256][256]bool) {
	for _, heads := range [][]string{failedHeads, cleared, {wire.DefaultStub}} {
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

// stubHead is how the stub of an unanswered call begins, in lower case.
var stubHead = []byte(strings.ToLower(wire.DefaultStub))

// marks reports whether the dialect marks what failed.
func (s *sight) marks() bool { return s.r.Dialect == wire.Anthropic || s.r.Dialect == wire.Bedrock }

// mayFail reports whether a result can be a failure; if not, its outcome need not
// be asked for.
func (s *sight) mayFail(x *transcript.Exchange) bool {
	return !s.marks() || s.t.Block(x.Results[0]).Failed
}

// headBytes is how much of a result is looked at.
const headBytes = 240

// gone reports whether what a result said has been taken away before.
func (s *sight) gone(x *transcript.Exchange) bool {
	raw := s.inside(s.t.Block(x.Results[0]))
	return len(raw) > 0 && (raw[0] == cleared[0][0] || raw[0] == '\\') && isCleared(s.lower(raw))
}

// head returns the beginning of what a result says, in lower case. It is good until
// the next call.
func (s *sight) head(b transcript.Block) []byte { return s.lower(s.inside(b)) }

// inside returns what a result says first, as it is written.
func (s *sight) inside(b transcript.Block) []byte {
	switch {
	case b.Body == b.Span:
		return nil
	case quoted(s.t, b.Body):
		return s.t.Bytes(b.Body)
	}
	return firstText(s.t.Bytes(b.Body))
}

func (s *sight) lower(raw []byte) []byte {
	s.text = appendHead(s.text[:0], raw, headBytes)
	return bytes.TrimSpace(s.text)
}

// firstText returns the raw inside of the string that a list of blocks or a
// response says first, with what follows it, or the value itself, if it says
// something else. It does not look for the end, which may be far.
func firstText(raw []byte) []byte {
	v := raw
	for i := space(v, 0); i < len(v); i = space(v, 0) {
		switch v[i] {
		case '"':
			return v[i+1:]
		case '[':
			v = v[i+1:]
			continue
		case '{':
		default:
			return v[i:]
		}
		m := members{obj: v, at: i}
		for m.name() && !m.is(textNames) {
			if string(m.key) == "error" && !bytes.HasPrefix(m.obj[m.at:], []byte("null")) {
				return saysError
			}
			m.skip()
		}
		if !m.is(textNames) {
			return v[i:]
		}
		v = v[m.at:]
	}
	return v
}

var (
	textNames = []string{"text", "output", "content", "result"}
	// saysError stands for a response that says so itself.
	saysError = []byte("error: ")
)

// appendHead decodes the first n or so bytes of a string's content, in lower case.
// Beyond ASCII nothing is looked for, so escapes of anything else become a question
// mark.
func appendHead(dst, raw []byte, n int) []byte {
	for i := 0; i < len(raw) && len(dst) < n && raw[i] != '"'; i++ {
		c := raw[i]
		if c == '\\' {
			var size int
			if c, size = escaped(raw[i:]); size == 0 {
				c, size = '?', 6
			}
			i += size - 1
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
			return !bytes.HasPrefix(bytes.TrimLeft(head[len(p):], " "), []byte("null"))
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

// people are words in results that hold what a person said, in lower case.
var people = []string{
	"the user said", "user feedback", "<feedback>", "<user_message>", "user doesn't want", "user does not want", "rejected by the user", "denied by the user",
	"user rejected", "user denied", "user has rejected", "user declined", "user cancelled", "user canceled", "user responded", "user's answer", "user answered",
}

// personSpeaks reports whether a result holds words of a person, which no rule may
// lose. Such results are short and say so early or late.
func personSpeaks(text []byte) bool {
	const look = 1000
	if len(text) > 2*look {
		return personSpeaks(text[:look]) || personSpeaks(text[len(text)-look:])
	}
	// All of the phrases have one of these words; most results have none.
	if !bytes.Contains(text, []byte("user")) && !bytes.Contains(text, []byte("User")) && !bytes.Contains(text, []byte("USER")) && !bytes.Contains(text, []byte("<feedback>")) {
		return false
	}
	text = bytes.ToLower(text)
	return slices.ContainsFunc(people, func(words string) bool { return bytes.Contains(text, []byte(words)) })
}
