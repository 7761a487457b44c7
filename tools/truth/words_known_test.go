package truth

import "regexp"

// knownWordClasses lists the violations of the conservation of words that wait for their
// cure, each a mechanism. A row goes with the change that cures it; PARE_TRUTH=all reports
// them like the others.
var knownWordClasses = []struct {
	name  string
	class *regexp.Regexp
}{
	{"a message whose words are not where the dialect has them is called empty and dropped", regexp.MustCompile(`^called empty: drop (null-content|empty-content|empty-text|field-missing) `)},
	{"JSON that is no request is rewritten", regexp.MustCompile(`^no request, and changed$`)},
	{"the history of a framework is rewritten", regexp.MustCompile(`^foreign, and rewritten$`)},
	{"clean is said of a history whose calls are not understood", regexp.MustCompile(`^clean, though its calls are not seen$`)},
	{"a member that is not understood is dropped with the words in it", regexp.MustCompile(`: drop unknown-field `)},
	{"an element of the wrong type is dropped with the words in it", regexp.MustCompile(`: drop wrong-type `)},
	{"a turn that is written as steps loses what is not its content", regexp.MustCompile(`: (drop|edit) turn-list `)},
	{"a history that is no list gives way to an empty one, a record beside a quoted result goes, both without a receipt", regexp.MustCompile(`^lost without a receipt `)},
	{"messages that are joined lose what is not content", regexp.MustCompile(`: merge role-alternation `)},
	{"a result that differs is taken for a copy", regexp.MustCompile(`^called a copy: drop duplicate-result `)},
	{"a call or an item that repeats an id is taken for a copy", regexp.MustCompile(`^called a copy: drop duplicate-(call-id|item-id|key) `)},
	{"a result that is quoted loses what is not its text", regexp.MustCompile(`: edit (orphan-result|duplicate-result) `)},
	{"a part that is written anew loses what stands beside what is known", regexp.MustCompile(`^lost, though the receipt is about something else: `)},
	{"what stands beside a call, a result or a thought is dropped with it", regexp.MustCompile(`^dropped with what it stands beside: `)},
	{"a person's message goes with a block of it that may not be there", regexp.MustCompile(`^(a person's words are dropped|what stands beside a person's words is dropped): drop `)},
	{"a role is guessed for words of somebody else", regexp.MustCompile(` are put into (another's|a person's) mouth$`)},
}

// knownWords returns the row that a class belongs to, "" if it is new.
func knownWords(class string) string {
	for _, row := range knownWordClasses {
		if row.class.MatchString(class) {
			return row.name
		}
	}
	return ""
}
