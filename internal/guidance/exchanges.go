package guidance

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// OfExchanges returns the kind of text of each exchange of a request, in their order. The result of a
// command can come with a later call that names its session, as Codex and shells in the background
// have it; then that call has the kind of the command, too.
func OfExchanges(r *wire.Request) []Kind {
	t := r.Transcript()
	kinds := make([]Kind, len(t.Exchanges()))
	sessions := make(map[string]Kind) // by id
	for i, x := range t.Exchanges() {
		if x.Call == transcript.NoBlock {
			continue
		}
		args, result := string(wire.Arguments(t, x.Call)), ""
		for _, b := range x.Results {
			if mayBeGuidance(t.Bytes(t.Block(b).Body)) {
				result += r.Text(b)
			}
		}
		kinds[i] = KindOf(x.Tool, args, result)
		if kinds[i] == None {
			kinds[i] = kindOfSession(sessions, args)
		}
		if id := sessionOf(result); id != "" && kinds[i] != None {
			sessions[id] = kinds[i]
		}
	}
	return kinds
}

// signs are parts of every text that KindOfText recognizes by its first lines.
var signs = []string{"---", "# ", "guidance", "Guidance", "GUIDANCE", "title:", `\u00`}

const (
	// firstLinesBytes limits the JSON that is searched for signs.
	firstLinesBytes = 4096
	// sessionBytes limits the JSON that is searched for the id of a session.
	sessionBytes = 1024
)

// mayBeGuidance reports whether the text of a result must be decoded: its JSON begins with a sign or the
// word id, or contains a box to tick. Decoding all results would take as much memory as the request.
func mayBeGuidance(result []byte) bool {
	firstLines := result[:min(len(result), firstLinesBytes)]
	hasSign := slices.ContainsFunc(signs, func(sign string) bool { return bytes.Contains(firstLines, []byte(sign)) })
	return hasSign || hasIDWord(result[:min(len(result), sessionBytes)]) || hasBox(result)
}

// hasIDWord reports whether JSON contains the word id, alone or at the end of a name such as session_id.
// A member of that name, in quotes, is not the id of a session.
func hasIDWord(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i]|0x20 != 'i' || text[i+1]|0x20 != 'd' {
			continue
		}
		isAfterEscape := i >= 2 && text[i-2] == '\\'
		startsWord := i == 0 || bytes.IndexByte([]byte(" _(-"), text[i-1]) >= 0 || isAfterEscape && text[i-1] != '"'
		endsWord := i+2 == len(text) || !isLetter(text[i+2])
		if startsWord && endsWord {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hasBox reports whether JSON contains a box to tick.
func hasBox(text []byte) bool {
	for {
		i := bytes.Index(text, []byte("] "))
		if i < 0 {
			return false
		}
		if i >= 2 && text[i-2] == '[' && (text[i-1] == ' ' || text[i-1] == 'x' || text[i-1] == 'X') {
			return true
		}
		text = text[i+2:]
	}
}

// kindOfSession is the kind of the command whose session the arguments name.
func kindOfSession(sessions map[string]Kind, args string) Kind {
	if len(sessions) == 0 {
		return None
	}
	named := false
	for word := range strings.FieldsFuncSeq(args, isBetweenWords) {
		if named {
			return sessions[word]
		}
		named = strings.HasSuffix(strings.ToLower(word), "id")
	}
	return None
}

// sessionOf is the id of the session in which a command goes on after its result; empty if there is
// none.
func sessionOf(result string) string {
	const head = 512
	result = result[:min(len(result), head)]
	words := strings.FieldsFunc(result, isBetweenWords)
	for i, word := range words[:max(len(words)-1, 0)] {
		isID := strings.EqualFold(word, "id") && i > 0
		isNamedID := strings.EqualFold(word, "session_id") || strings.EqualFold(word, "bash_id") || strings.EqualFold(word, "shell_id")
		if isID || isNamedID {
			id := words[i+1]
			goesOn := isNamedID || strings.EqualFold(words[i-1], "session") || strings.EqualFold(words[i-1], "with") || strings.EqualFold(words[i-1], "background") || strings.EqualFold(words[i-1], "shell")
			if goesOn {
				return strings.TrimSuffix(id, ".")
			}
		}
	}
	return ""
}
