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
	return len(raw) > 0 && !failedFirst[raw[0]|0x20] && raw[0] > ' ' && raw[0] != '\\' && raw[0] != '[' && raw[0] != stubHead[0]&^0x20 && raw[0] != '{' &&
		!bytes.Contains(raw[:min(len(raw), 2*headBytes)], []byte("xit")) && !bytes.Contains(raw[:min(len(raw), 2*headBytes)], []byte("XIT")) &&
		!bytes.Contains(raw[:min(len(raw), headBytes)], []byte(`\u00`))
}

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
// response says first, or the value itself, if it says something else.
func firstText(raw []byte) []byte {
	v := bytes.TrimSpace(raw)
	for len(v) > 0 {
		switch v[0] {
		case '"':
			return v[1 : max(skipString(v, 0), 2)-1]
		case '[':
			v = v[space(v, 1):]
			continue
		case '{':
			var text []byte
			for m := scan(v); m.next(); {
				if text == nil && m.is(textNames) {
					text = m.value
				}
				if string(m.key) == "error" && string(m.value) != "null" {
					text = saysError
				}
			}
			if text == nil || len(text) >= len(v) {
				return v
			}
			v = text
			continue
		}
		return v
	}
	return v
}

var (
	textNames = []string{"text", "output", "content", "result"}
	// saysError stands for a response that says so itself.
	saysError = []byte(`"error: "`)
)

// appendHead decodes the first n or so bytes of a string's content, in lower case.
// Beyond ASCII nothing is looked for, so escapes of anything else become a question
// mark.
func appendHead(dst, raw []byte, n int) []byte {
	for i := 0; i < len(raw) && len(dst) < n; i++ {
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
	// Most results begin with something else, so the first letter decides.
	if len(head) > 0 && failedFirst[head[0]] {
		for _, p := range failedHeads {
			if len(head) >= len(p) && string(head[:len(p)]) == p {
				return !bytes.HasPrefix(bytes.TrimLeft(head[len(p):], " "), []byte("null"))
			}
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

// failedFirst are the first letters of failedHeads.
var failedFirst = func() (is [256]bool) {
	for _, h := range failedHeads {
		is[h[0]] = true
	}
	return is
}()

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
