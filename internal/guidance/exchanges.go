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

// signs are parts of every beginning of a text that KindOfText or sessionOf recognizes.
var signs = []string{"---", "# ", "guidance", "GUIDANCE", "title:", "_id", "_ID", " id ", " ID ", " id:", " ID:", `\u00`}

// mayBeGuidance reports whether the JSON of a result contains a sign in its beginning, or a box to tick,
// so that its text must be decoded. Most results contain none, and decoding them all would take as much
// memory as the request.
func mayBeGuidance(result []byte) bool {
	beginning := result[:min(len(result), beginningBytes)]
	hasSign := slices.ContainsFunc(signs, func(sign string) bool { return bytes.Contains(beginning, []byte(sign)) })
	return hasSign || hasBox(result)
}

// beginningBytes is the part of a result that shows that it is a skill, instructions, an issue or a session.
const beginningBytes = 1024

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
