package agentlog

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A round of repairs is kept if nobody is worse off for it.

// holds reports whether a repaired file has no fault that it did not have before, is one JSON value
// if it has to be, and sends what it sent.
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
	taken := 0 // messages that may be gone
	for _, c := range fixed.Changes {
		if _, physical := damageRules[c.Rule]; !physical && c.Action != wire.ActionInsert && c.Action != wire.ActionEdit {
			taken++ // a copy of a line, or a head, is no message
		}
	}
	return after.countSentMessages()+taken >= l.countSentMessages() && l.keepsUserTexts(after)
}

// isDocument reports whether a file is called JSON and is that: one value. What is put in front of
// it or behind it, as among lines, would make it unreadable for whoever takes it by its name.
func (l *Log) isDocument() bool {
	if !strings.EqualFold(path.Ext(l.name), ".json") {
		return false
	}
	_, ok := soleValue(l.raw)
	return ok
}

// heard reports whether all words of the user that were sent are sent of a repaired file, too, be
// it as a part of others.
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

// texts visits the texts of the user that are sent, or all texts and results, without what a
// repair may change in them.
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

// helps reports whether changes made a fault go, or the file a better one. Repairs that leave
// all faults as they are would be made again at every run.
func isImprovement(before, after *Log, changes []Change, o Options) bool {
	was := before.countFaults(o)
	if len(was) == 0 || !maps.Equal(was, after.countFaults(o)) {
		return true
	}
	return slices.ContainsFunc(changes, func(c Change) bool {
		_, physical := damageRules[c.Rule]
		return physical
	})
}

// sending counts the messages that are sent.
func (l *Log) countSentMessages() int {
	n := 0
	for _, t := range l.Threads {
		if l.isSent(t) {
			n += t.Messages()
		}
	}
	return n
}

// faults counts what keeps the session from being resumed.
func (l *Log) countFaults(o Options) map[string]int {
	all := make(map[string]int)
	for _, f := range l.findFaults(o.Check) {
		if f.Effect == Refused {
			all[f.Rule+"\x00"+strings.Join(f.IDs, "\x00")]++
		}
	}
	return all
}
