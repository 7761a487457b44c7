package agentlog

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Outlook is what happens when somebody resumes a session.
type Outlook uint8

const (
	Resumes  Outlook = iota // as it was left
	Mends                   // the agent itself puts right what is wrong, and loses nothing
	Forgets                 // it is resumed, and the agent has forgotten something
	Full                    // it is longer than the window of its model, and refused
	Unusable                // it is refused, or not opened at all
)

// String is the outlook's name in JSON.
func (o Outlook) String() string {
	return [...]string{"resumes", "repairs", "forgets", "full", "unusable"}[o]
}

// MarshalText writes the outlook's name.
func (o Outlook) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// forgetful are the damages after which every agent that has them goes on, without something.
var forgetful = map[string]bool{
	"joined-lines": true, "truncated-line": true, "dangling-parent": true, "parent-loop": true, secondHeadRule: true, "idless-line": true,
	lateRule: true, "stray-line": true, "lost-snapshot": true, "lost-kept-line": true, promptRule: true,
}

// front are those after which it has forgotten everything in front of the line.
var front = map[string]bool{"dangling-parent": true, "parent-loop": true, secondHeadRule: true, "idless-line": true, "stray-line": true}

// outlook says what a finding means to whoever resumes the session. What agents do was seen by
// running them, in the versions of docs/internals/campaign.md; of others the worst is said.
func (l *Log) outlook(f Finding) Outlook {
	row, _ := l.Format.row()
	switch {
	case f.Effect != Refused:
		return Resumes
	case f.Rule == OverWindow && row.shortens:
		return Forgets
	case f.Rule == OverWindow:
		return Full
	case f.Rule == "truncated-line" && l.beginsLine():
		return Mends
	case forgetful[f.Rule]:
		return Forgets
	}
	switch pair := pairRules[f.Rule]; l.Format {
	case ClaudeCode:
		if pair && claudeSince(l, 2, 1) { // results for calls at the end, and half pairs in the middle are left out
			if f.Open {
				return Mends
			}
			return Forgets
		}
	case Codex:
		switch f.Rule {
		case "orphan-call": // it says that they were aborted
			return Mends
		case "orphan-result":
			return Forgets
		case "duplicate-line":
			return l.repeated(f)
		}
	case Pi:
		if f.Rule == "orphan-call" {
			return Mends
		}
	case GeminiCLI:
		if f.Rule == "duplicate-result" { // it writes them itself, at every resume
			return Mends
		}
	case QwenCode: // it answers calls itself, and leaves results without a call out
		switch f.Rule {
		case "orphan-call":
			return Mends
		case "orphan-result", "duplicate-line":
			return Forgets
		}
	case Copilot: // it answers calls itself, takes the first of several results, and leaves others out
		switch f.Rule {
		case "orphan-call", "duplicate-result":
			return Mends
		case "orphan-result", "displaced-result":
			return Forgets
		}
	case OpenCode, OpenCodeExport:
		// It answers a call that is still running; one that has ended without a word keeps the
		// session from being opened.
		if f.Rule == "orphan-call" && l.object(f.unit).Object("state").Text("status") != "completed" {
			return Mends
		}
	}
	return Unusable
}

// beginsLine reports whether the agent goes on with a line of its own behind one that broke off, so
// that nothing is lost but what the broken line held.
func (l *Log) beginsLine() bool {
	return l.Format == Codex || l.Format == Pi || l.Format == ClaudeCode && claudeSince(l, 2, 1)
}

// repeated is the outlook of a copied record of Codex, which sends both. Where the head comes again,
// it forgets what stands in front of that: copies behind it are sent once, and nothing is lost if
// all that was said is said again there.
func (l *Log) repeated(f Finding) Outlook {
	head, before, after := 0, 0, 0
	if l.object(0).Object("payload").Text("history_mode") == "paginated" {
		for _, u := range l.copies {
			if l.object(u).Text("type") == "session_meta" {
				head = l.units[u].line
			}
		}
	}
	if head == 0 {
		return Unusable
	}
	if f.Line != head {
		return Mends
	}
	for u := range l.units {
		if l.units[u].line < head && l.object(u).Text("type") == "response_item" {
			before++
		}
	}
	for _, u := range l.copies {
		if l.units[u].line > head && l.object(u).Text("type") == "response_item" {
			after++
		}
	}
	if after < before {
		return Forgets
	}
	return Mends
}

// addOutlook adds to a diagnosis what will happen, and why.
func (d *Diagnosis) addOutlook(l *Log, found []Finding) {
	all := 0 // messages that are forgotten at once
	for _, f := range found {
		o := l.outlook(f)
		if o > d.Outlook {
			d.Outlook, d.Cause = o, strings.Clone(l.cause(f))
		}
		if !f.Open {
			d.Running = max(d.Running, o)
		}
		switch {
		case o != Forgets || f.Rule == OverWindow: // how many it leaves out, only the agent knows
		case front[f.Rule]:
			all = max(all, l.inFront(f))
		default:
			d.Forgotten++
		}
	}
	d.Forgotten += all
	if d.Title = strings.Clone(l.title()); len(l.Sent()) > 0 {
		s := l.Size(l.Sent()[0])
		d.Size = Size{Tokens: s.Tokens, Window: s.Window, Guess: s.Guess, Reply: s.Reply} // without what holds on to the file
	}
}

// inFront counts the messages that are sent from lines in front of a finding.
func (l *Log) inFront(f Finding) (n int) {
	for _, t := range l.Sent() {
		for _, p := range t.parts {
			if l.units[p.unit].line < f.Line {
				n++
			}
		}
	}
	return n
}

// cause says what a finding is about, as people would.
func (l *Log) cause(f Finding) string {
	at := fmt.Sprintf(" (line %d)", f.Line)
	if f.File != "" {
		at = ""
	}
	call := ""
	if f.of != nil && f.Block != transcript.NoBlock {
		call = callName(f.of.Request, f.Block)
	}
	switch {
	case f.Rule == OverWindow && f.of != nil && !l.Counted(f.of).Refused:
		return l.tooLong(l.Size(f.of).Amount()) // how full that is is said beside it
	case f.Rule == OverWindow:
		return f.Message
	case f.Rule == "orphan-call" && call != "":
		return "the call " + call + " has no result" + at
	case f.Rule == "orphan-result":
		return "a result has lost its call" + at
	case f.Rule == "displaced-result":
		return "a result is not where the provider looks for it" + at
	case f.Rule == "duplicate-result":
		return "a call has more than one result" + at
	case f.Physical:
		means, _, _ := strings.Cut(f.Message, "; ")
		return means + at
	}
	means := wirex.RuleSlugs()[f.Rule]
	if means == "" {
		means = f.Message
	}
	return means + at
}

// callName is a call as people write it: the tool, and what it is told first.
func callName(r *wire.Request, b transcript.BlockID) string {
	tr := r.Transcript()
	blk := tr.Block(b)
	if blk.Tool == "" {
		return ""
	}
	raw := wire.Arguments(tr, b)
	at, ok := firstValue(raw)
	if !ok || raw[at.Start] != '{' {
		return blk.Tool
	}
	for _, m := range jsonspan.Members(raw, at) {
		if text := textAt(raw, m.Value); text != "" {
			return blk.Tool + "(" + clipped(text, 40) + ")"
		}
	}
	return blk.Tool
}

// title is what the user said first in the session; "" if nothing was found.
func (l *Log) title() string {
	for _, kind := range []Kind{Dormant, Main, Side} { // what is not sent any more was said first
		for _, t := range l.Threads {
			if t.Kind != kind {
				continue
			}
			tr := t.Request.Transcript()
			for b, blk := range tr.Blocks() {
				if blk.Kind != transcript.Text || blk.Message >= t.Messages() || tr.Messages()[blk.Message].Role != transcript.User {
					continue
				}
				text := wirex.PersonsWords(t.Request.Text(transcript.BlockID(b)))
				if text = strings.TrimSpace(text); text == "" || text[0] == '<' || strings.HasPrefix(text, "# AGENTS.md") || strings.HasPrefix(text, "Caveat:") || strings.HasPrefix(text, "This session is being continued") {
					continue
				}
				return clipped(text, 60)
			}
		}
	}
	return ""
}

// clipped is the beginning of a text, on one line.
func clipped(text string, most int) string {
	words := []rune(strings.Join(strings.Fields(text[:min(len(text), 8*most)]), " "))
	if len(words) > most {
		return string(words[:most-1]) + "…"
	}
	return strings.ToValidUTF8(string(words), "")
}

// noSession reports whether nothing in a file of lines is a record: it is no session at all.
func (l *Log) noSession() bool {
	r, _ := l.Format.row()
	return r.document == nil && l.files == nil && l.lists == nil && len(l.units) == 0 && len(bytes.TrimSpace(l.raw)) > 0 && l.Format != Cline && l.Format != ADK && l.Format != OpenHands
}
