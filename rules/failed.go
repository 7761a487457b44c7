package rules

import (
	"bytes"
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
	head := s.head(b)
	if strings.HasPrefix(head, strings.ToLower(wire.DefaultStub)) || isCleared(head) {
		return unclear
	}
	marks := s.r.Dialect == wire.Anthropic || s.r.Dialect == wire.Bedrock
	bad := looksFailed(head) || s.r.Dialect != wire.Anthropic && s.exitCode(b)
	switch {
	case b.Failed, !marks && bad:
		return failure
	case bad:
		return unclear
	}
	return succeeded
}

// headBytes is how much of a result is looked at.
const headBytes = 240

// head returns the beginning of what a result says, in lower case.
func (s *sight) head(b transcript.Block) string {
	if b.Body == b.Span {
		return ""
	}
	raw := s.t.Bytes(b.Body)
	if !quoted(s.t, b.Body) {
		raw = firstText(raw)
	}
	return strings.ToLower(strings.TrimSpace(decodeHead(raw, headBytes)))
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
			members(v, func(key string, value []byte) {
				if text == nil && (key == "text" || key == "output" || key == "content" || key == "result") {
					text = value
				}
				if key == "error" && string(value) != "null" {
					text = []byte(`"error: "`) // a response that says so itself
				}
			})
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

// decodeHead decodes the first n or so bytes of a string's content. Beyond ASCII
// nothing is looked for, so escapes of anything else become a question mark.
func decodeHead(raw []byte, n int) string {
	if bytes.IndexByte(raw[:min(len(raw), n)], '\\') < 0 {
		return string(raw[:min(len(raw), n)])
	}
	var out []byte
	for i := 0; i < len(raw) && len(out) < n; i++ {
		c := raw[i]
		if c == '\\' {
			var size int
			if c, size = escaped(raw[i:]); size == 0 {
				c, size = '?', 6
			}
			i += size - 1
		}
		out = append(out, c)
	}
	return string(out)
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
func looksFailed(head string) bool {
	for _, p := range failedHeads {
		if strings.HasPrefix(head, p) {
			return !strings.HasPrefix(head[len(p):], "null") && !strings.HasPrefix(head[len(p):], " null")
		}
	}
	if !strings.Contains(head, "exit") {
		return false
	}
	for line := range strings.Lines(head) {
		for _, p := range exitLines {
			rest, ok := strings.CutPrefix(strings.TrimLeft(line, " <(["), p)
			if ok && rest != "" && rest[0] != '0' && (rest[0] == '-' || rest[0] >= '1' && rest[0] <= '9') {
				return true
			}
		}
	}
	return false
}

// exitCode reports whether a result is Codex' JSON with an exit code at its end
// that is not zero.
func (s *sight) exitCode(b transcript.Block) bool {
	raw := s.t.Bytes(b.Body)
	tail := raw[max(0, len(raw)-160):]
	i := bytes.LastIndex(tail, []byte("exit_code"))
	if i < 0 || !bytes.Contains(tail, []byte("metadata")) || !bytes.HasPrefix(bytes.TrimLeft(raw, `{\" `), []byte("output")) {
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
func personSpeaks(text string) bool {
	const look = 1000
	parts := []string{text}
	if len(text) > 2*look {
		parts = []string{text[:look], text[len(text)-look:]}
	}
	for _, p := range parts {
		p = strings.ToLower(p)
		for _, words := range people {
			if strings.Contains(p, words) {
				return true
			}
		}
	}
	return false
}
