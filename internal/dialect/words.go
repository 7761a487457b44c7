package dialect

import (
	"bytes"
	"math"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
)

// quoteHead is how long the line over a quotation may be.
const quoteHead = 256

// PersonsWords returns what a person says in a text of the user's: without the reminders that clients put there,
// and without what Pare has written in the user's place, which are summaries, quotations of results, marks
// and the short turns that a provider asks for. It is "" if a person says nothing.
func PersonsWords(text string) string {
	q := quote(text)
	return string(jsonspan.Decode(nil, words(q[1:len(q)-1])))
}

// OwnReply reports whether a text of the assistant's is one of the short turns that a repair puts between
// two turns of the user.
func OwnReply(text string) bool { return text == wording.Understood || text == wording.Pause }

// words is Words for the content of a JSON string: it returns the rest of the text from the first word on
// that is a person's.
func words(text []byte) []byte {
	for {
		text = trimSpace(text)
		if len(text) == 0 {
			return nil
		}
		var ok bool
		switch text[0] {
		case '<', '\\':
			text, ok = cutReminder(text)
		case '(':
			text, ok = cutFiller(text, wording.Beginning, wording.Empty)
		case 'A':
			text, ok = cutFiller(text, toolImages)
		case 'C':
			text, ok = cutFiller(text, wording.GoOn)
		case '[':
			text, ok = cutOwn(text)
		}
		if !ok {
			return text
		}
	}
}

// cutFiller takes one of several short texts off the beginning. A person may go on behind such words in the
// same line.
func cutFiller(text []byte, fillers ...string) (rest []byte, ok bool) {
	for _, f := range fillers {
		if rest, ok := bytes.CutPrefix(text, []byte(f)); ok && (len(rest) == 0 || bytes.HasPrefix(rest, []byte(`\n`))) {
			return rest, true
		}
	}
	return text, false
}

// cutOwn takes a summary, another mark or a quotation off the beginning of a text in JSON.
func cutOwn(text []byte) (rest []byte, ok bool) {
	if bytes.HasPrefix(text, []byte(wording.SummaryBegin)) {
		_, rest, _ = bytes.Cut(text, []byte(wording.SummaryEnd))
		return rest, true
	}
	if bytes.HasPrefix(text, []byte(wording.Mark)) {
		_, rest, ok = bytes.Cut(text, []byte("]"))
		return rest, ok
	}
	if quotationHead(text) == nil {
		return text, false
	}
	_, rest, _ = bytes.Cut(text, []byte(`\n`+wording.QuotedEnd)) // without that line nothing follows
	return rest, true
}

// quotationHead returns the line over a quotation up to what all of them end with; nil if there is none.
func quotationHead(text []byte) []byte {
	end := bytes.Index(text[:min(len(text), quoteHead)], []byte(wording.Quoted))
	if end < 0 || text[0] != '[' || bytes.Contains(text[:end], []byte(`\n`)) {
		return nil
	}
	return text[:end]
}

// toolImages is the text over the pictures of a result, which pi sends in a message of the user on APIs
// whose results hold text only.
const toolImages = "Attached image(s) from tool result:"

// attachments returns how many parts behind a text belong to it.
func attachments(text []byte) int {
	text = trimSpace(text)
	if len(text) == 0 {
		return 0
	}
	if string(text) == toolImages {
		return math.MaxInt
	}
	_, count, _ := bytes.Cut(quotationHead(text), []byte(wording.QuotedWith))
	n, _ := strconv.Atoi(string(count))
	return n
}

// closeQuotations puts a line under each of several texts, given as JSON strings, that is a quotation and
// has another one behind it: else nobody could tell where the quotation ends.
func closeQuotations(texts [][]byte) [][]byte {
	closed := make([][]byte, len(texts))
	for i, t := range texts {
		if closed[i] = t; i < len(texts)-1 && len(t) > 1 && t[0] == '"' && quotes(t[1:len(t)-1]) {
			closed[i] = append(append(append([]byte(nil), t[:len(t)-1]...), `\n`+wording.QuotedEnd...), '"')
		}
	}
	return closed
}

// quotes reports whether a text in JSON ends with a quotation that has no line under it.
func quotes(text []byte) bool {
	for {
		text = trimSpace(text)
		if len(text) == 0 || text[0] != '[' {
			return false
		}
		rest, ok := cutOwn(text)
		if !ok {
			return false
		}
		if len(rest) == 0 {
			return quotationHead(text) != nil && !bytes.HasSuffix(text, []byte(wording.QuotedEnd))
		}
		text = rest
	}
}

// trimSpace takes the space off the beginning of a text in JSON.
func trimSpace(text []byte) []byte {
	for {
		switch {
		case len(text) > 0 && text[0] == ' ':
			text = text[1:]
		case len(text) > 1 && text[0] == '\\' && (text[1] == 'n' || text[1] == 'r' || text[1] == 't'):
			text = text[2:]
		case len(text) > 5 && string(text[:4]) == `\u00` && bytes.IndexByte([]byte(" \n\r\t"), jsonspan.Decode(nil, text[:6])[0]) >= 0:
			text = text[6:]
		default:
			return text
		}
	}
}

// cutReminder takes the reminder off that a text in JSON begins with. Programs write < as \u003c, and / as
// \/.
func cutReminder(whole []byte) (behind []byte, ok bool) {
	for _, name := range reminders {
		if behind, ok := cutTagged(whole, name); ok {
			return behind, true
		}
	}
	return whole, false
}

// reminders are the tags in which clients write what no person has said: Claude Code the first, Codex
// the others, in front of the task.
var reminders = []string{"system-reminder", "environment_context", "user_instructions"}

// cutTagged takes what stands in a tag off the beginning of a text in JSON.
func cutTagged(whole []byte, name string) (behind []byte, ok bool) {
	text, ok := cutSpelled(whole, "<"+name+">")
	if !ok {
		return whole, false
	}
	for {
		i := bytes.Index(text, []byte("/"+name))
		if i < 0 {
			return whole, false
		}
		front := bytes.TrimSuffix(text[:i], []byte{'\\'})
		text = text[i+len("/"+name):]
		rest, opens := cutSpelled(front[max(len(front)-len(`\u003c`), 0):], "<")
		opens = opens && len(rest) == 0 || bytes.HasSuffix(front, []byte{'<'})
		if behind, closes := cutSpelled(text, ">"); opens && closes {
			return behind, true
		}
	}
}

// cutSpelled takes an ASCII word off the beginning of a text in JSON, however its letters are
// written.
func cutSpelled(text []byte, word string) (rest []byte, ok bool) {
	for i := range len(word) {
		n := 1
		switch {
		case len(text) > 0 && text[0] == word[i]:
		case word[i] == '/' && bytes.HasPrefix(text, []byte(`\/`)):
			n = 2
		case len(text) >= 6 && bytes.HasPrefix(text, []byte(`\u00`)) && string(jsonspan.Decode(nil, text[:6])) == word[i:i+1]:
			n = 6
		default:
			return text, false
		}
		text = text[n:]
	}
	return text, true
}
