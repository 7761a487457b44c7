package agentlog

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// isSafeRepair reports whether the repaired file after has no new fault, is one JSON value if l is
// one, and still sends all messages and all text of the user.
func (l *Log) isSafeRepair(after *Log, fixed *Fixed, o Options) bool {
	if l.isDocument() && !after.isDocument() {
		return false
	}
	known := l.countFaults(o)
	for key, n := range after.countFaults(o) {
		if n > known[key] {
			return false
		}
	}
	taken := 0 // number of messages that repairs removed
	for _, c := range fixed.Changes {
		if _, physical := damageRules[c.Rule]; !physical && c.Action != wire.ActionInsert && c.Action != wire.ActionEdit {
			taken++ // a duplicate line or a head is not a message
		}
	}
	return after.countSentMessages()+taken >= l.countSentMessages() && l.keepsUserTexts(after)
}

// isDocument reports whether a file named .json is one JSON value. A line added before or after it
// would make it unreadable for programs that go by its name.
func (l *Log) isDocument() bool {
	if !strings.EqualFold(path.Ext(l.name), ".json") {
		return false
	}
	_, ok := soleValue(l.raw)
	return ok
}

// keepsUserTexts reports whether after still sends all texts of the user that l sends, possibly as
// parts of other texts.
func (l *Log) keepsUserTexts(after *Log) bool {
	missing := make(map[string]bool)
	l.visitTexts(false, func(text string) { missing[text] = true })
	after.visitTexts(false, func(text string) { delete(missing, text) })
	if len(missing) == 0 {
		return true
	}
	after.visitTexts(true, func(text string) {
		maps.DeleteFunc(missing, func(part string, _ bool) bool { return strings.Contains(text, part) })
	})
	return len(missing) == 0
}

// visitTexts calls visit with the sent texts of the user, or with all texts and results. It omits
// replacement characters, which a repair may change.
func (l *Log) visitTexts(all bool, visit func(text string)) {
	for _, t := range l.Threads {
		if !l.isSent(t) {
			continue
		}
		tr := t.Request.Transcript()
		for _, m := range tr.Messages()[:t.Messages()] {
			if m.Role != transcript.User && !all {
				continue
			}
			for b := m.First; b < m.End; b++ {
				if kind := tr.Block(b).Kind; kind != transcript.Text && (!all || kind != transcript.Result) {
					continue
				}
				if text := strings.TrimSpace(strings.ReplaceAll(t.Request.Text(b), string(replacementChar), "")); text != "" {
					visit(text)
				}
			}
		}
	}
}

// isImprovement reports whether changes removed a fault or repaired the bytes of the file. Other
// repairs would be repeated in every run.
func isImprovement(before, after *Log, changes []Change, o Options) bool {
	old := before.countFaults(o)
	if len(old) == 0 || !maps.Equal(old, after.countFaults(o)) {
		return true
	}
	return slices.ContainsFunc(changes, func(c Change) bool {
		_, physical := damageRules[c.Rule]
		return physical
	})
}

// countSentMessages returns the number of messages that the agent sends.
func (l *Log) countSentMessages() int {
	n := 0
	for _, t := range l.Threads {
		if l.isSent(t) {
			n += t.Messages()
		}
	}
	return n
}

// countFaults counts the faults that keep the session from being resumed, by rule and ids.
func (l *Log) countFaults(o Options) map[string]int {
	all := make(map[string]int)
	for _, f := range l.findFaults(o.Check) {
		if f.Effect == Refused {
			all[f.Rule+"\x00"+strings.Join(f.IDs, "\x00")]++
		}
	}
	return all
}
