package planner

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A lostText is a text of the person that a plan's result does not contain.
type lostText struct{ path, role string }

func (e *lostText) Error() string {
	return fmt.Sprintf("the result would lose %s of the user at %s; the request is left as it was", e.role, e.path)
}

// errOutside is the error for a plan that would change a member of the body next to the history,
// such as the system prompt or the parameters, without a finding in the request that calls for it.
var errOutside = errors.New("the result would change a part of the request outside of its history; the request is left as it was")

// checkPromises returns a *FaultError if a result breaks a promise that holds for all rules,
// windows and summaries: it contains the task and the newest words of the user, unless the caller
// has unpinned them, and nothing outside of the history differs from the repaired request.
func checkPromises(input, repaired, result *wire.Request, unpin Pin) error {
	if result == input {
		return nil
	}
	err := findLostText(input, result, unpin)
	if err == nil && !dialect.SameOutside(result, repaired) {
		err = errOutside
	}
	if err == nil {
		return nil
	}
	return &FaultError{Part: "plan", Err: err}
}

// findLostText returns a *lostText for the first text of the person's newest turn or of the task in
// r that out does not contain.
func findLostText(r, out *wire.Request, unpin Pin) error {
	task, newest := personTexts(r)
	if unpin&PinTask != 0 {
		if len(task) > 0 && len(newest) > 0 && task[0].block == newest[0].block {
			newest = nil
		}
		task = nil
	}
	if unpin&PinNewest != 0 {
		newest = nil
	}
	for _, p := range newest {
		if !containsWords(out, p.words, true) {
			return &lostText{r.Path(p.block), "the newest words"}
		}
	}
	for _, p := range task {
		if !containsWords(out, p.words, false) {
			return &lostText{r.Path(p.block), "the task"}
		}
	}
	return nil
}

// A personText is a text of the person: a block, or the part of it before or after a summary.
type personText struct {
	block transcript.BlockID
	words string
}

// personTexts returns the texts of the task and of the person's newest turn. The task is in the
// first message with a text of the person, before any summary; a history that the provider has
// compacted has none, because its compaction contains the task. The newest turn is the last such
// message.
func personTexts(r *wire.Request) (task, newest []personText) {
	t := r.Transcript()
	ms := t.Messages()
	first, isCompacted := 0, t.IsCompacted()
	if isCompacted {
		first = t.StartMessage()
	}
	for i := len(ms) - 1; i >= first && len(newest) == 0; i-- {
		before, after := personTextsOf(r, &ms[i])
		newest = append(before, after...)
	}
	for i := first; i < len(ms) && !isCompacted; i++ {
		before, after := personTextsOf(r, &ms[i])
		if len(before)+len(after) > 0 {
			return before, newest
		}
	}
	return nil, newest
}

// personTextsOf returns the texts of the person in a message, before and after its first summary.
func personTextsOf(r *wire.Request, m *transcript.Message) (before, after []personText) {
	if m.Role != transcript.User || !m.Speaks {
		return nil, nil
	}
	hasSummary := false
	for b := m.First; b < m.End; b++ {
		if r.Transcript().Block(b).Kind != transcript.Text {
			continue
		}
		head, _, tail, isSummary := cutSummary(r.Text(b))
		for i, text := range []string{head, tail} {
			hasSummary = hasSummary || i == 1 && isSummary
			words := strings.TrimSpace(dialect.PersonsWords(text))
			switch {
			case words == "":
			case hasSummary:
				after = append(after, personText{b, words})
			default:
				before = append(before, personText{b, words})
			}
		}
	}
	return before, after
}

// containsWords reports whether a text of the user contains words. It begins with the last message
// or with the first one.
func containsWords(r *wire.Request, words string, fromEnd bool) bool {
	t := r.Transcript()
	ms := t.Messages()
	for i := range ms {
		m := &ms[i]
		if fromEnd {
			m = &ms[len(ms)-1-i]
		}
		if m.Role == transcript.Assistant {
			continue
		}
		for b := m.First; b < m.End; b++ {
			if t.Block(b).Kind == transcript.Text && textContainsWords(r.Text(b), words) {
				return true
			}
		}
	}
	return false
}

// textContainsWords reports whether a text contains words as lines, or anywhere in its summary. Short
// words occur in other lines by chance, such as in notes of Pare.
func textContainsWords(text, words string) bool {
	head, summary, tail, _ := cutSummary(text)
	return containsLines(head, words) || strings.Contains(summary, words) || containsLines(tail, words)
}

// containsLines reports whether words are one or more whole lines of a text, apart from white space
// around them.
func containsLines(text, words string) bool {
	for {
		before, after, found := strings.Cut(text, words)
		if !found {
			return false
		}
		before, after = strings.TrimRight(before, " \t"), strings.TrimLeft(after, " \t\r")
		startsLine := before == "" || strings.HasSuffix(before, "\n")
		endsLine := after == "" || strings.HasPrefix(after, "\n")
		if startsLine && endsLine {
			return true
		}
		if _, text, found = strings.Cut(text[len(text)-len(after):], "\n"); !found {
			return false
		}
	}
}
