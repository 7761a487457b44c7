package agentlog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Outlook is the expected result of resuming a session.
type Outlook uint8

const (
	Resumes  Outlook = iota // nothing is wrong
	Repairs                 // the agent itself repairs the damage and loses nothing
	Unknown                 // damaged in a way without recorded runs
	Forgets                 // the agent resumes and has forgotten something
	Full                    // rejected because it exceeds the window of its model
	Unusable                // rejected, or not opened at all
)

// String returns the outlook's name in JSON.
func (o Outlook) String() string {
	return [...]string{"resumes", "repairs", "unknown", "forgets", "full", "unusable"}[o]
}

// MarshalText returns the outlook's name.
func (o Outlook) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// addOutlook adds the recorded outcome of the damage and its cause to a diagnosis.
func (d *Diagnosis) addOutlook(l *Log, found []Finding) {
	if d.Title = strings.Clone(l.Title()); len(l.Sent()) > 0 {
		s := l.Size(l.Sent()[0])
		// Without references to the file.
		d.Size = Size{Tokens: s.Tokens, Window: s.Window, Guess: s.Guess, Reply: s.Reply}
	}
	d.Version = strings.Clone(cmp.Or(l.agentVersion(), d.Client))
	kinds := l.damageKinds(found)
	p := l.predict(d.Agent.Name, d.Version, kinds)
	d.Outlook, d.RecordedVersion = p.outlook, p.version
	d.Running = l.predict(d.Agent.Name, d.Version, slices.DeleteFunc(slices.Clone(kinds), func(k damageKind) bool { return k.open })).outlook
	switch {
	case p.worst.name == "":
	case p.worst.finding == noFinding:
		d.Cause = fmt.Sprintf("the last line is not linked to this session (line %d)", p.worst.line)
	default:
		d.Cause = strings.Clone(l.cause(found[p.worst.finding]))
	}
	for _, f := range found {
		o := Full
		if row, _ := l.Format.spec(); row.shortensItself {
			o = Forgets
		}
		if f.Rule == OverWindow && o > d.Outlook {
			d.Outlook, d.Running, d.Cause = o, max(d.Running, o), strings.Clone(l.cause(f))
		}
	}
}

// cause describes a finding in plain words.
func (l *Log) cause(finding Finding) string {
	at := fmt.Sprintf(" (line %d)", finding.Line)
	if finding.File != "" {
		at = ""
	}
	call := ""
	if finding.thread != nil && finding.Block != transcript.NoBlock {
		call = callName(finding.thread.Request, finding.Block)
	}
	switch {
	case finding.Rule == OverWindow && finding.thread != nil && !l.Counted(finding.thread).Refused:
		return l.tooLongMessage(l.Size(finding.thread).Amount()) // the caller shows the fill separately
	case finding.Rule == OverWindow:
		return finding.Message
	case finding.Rule == "orphan-call" && call != "":
		return "the call " + call + " has no result" + at
	case finding.Rule == "orphan-result":
		return "a result has lost its call" + at
	case finding.Rule == "displaced-result":
		return "a result is not where the provider looks for it" + at
	case finding.Rule == "duplicate-result":
		return "a call has more than one result" + at
	case finding.Physical:
		means, _, _ := strings.Cut(finding.Message, "; ")
		return means + at
	}
	means := dialect.RuleSlugs()[finding.Rule]
	if means == "" {
		means = finding.Message
	}
	return means + at
}

// callName returns a call in the form Tool(argument), with its first text argument.
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
			return blk.Tool + "(" + clipText(text, 40) + ")"
		}
	}
	return blk.Tool
}

// Title returns the first text of the user in the session, or "".
func (l *Log) Title() string {
	for _, kind := range []Kind{Dormant, Main, Side} { // dormant parts are the oldest
		for _, t := range l.Threads {
			if t.Kind != kind {
				continue
			}
			tr := t.Request.Transcript()
			for b, blk := range tr.Blocks() {
				if blk.Kind != transcript.Text || blk.Message >= t.Messages() || tr.Messages()[blk.Message].Role != transcript.User {
					continue
				}
				text := dialect.PersonsWords(t.Request.Text(transcript.BlockID(b)))
				if text = strings.TrimSpace(text); text == "" || text[0] == '<' || strings.HasPrefix(text, "# AGENTS.md") || strings.HasPrefix(text, "Caveat:") || strings.HasPrefix(text, "This session is being continued") {
					continue
				}
				return clipText(text, 60)
			}
		}
	}
	return ""
}

// clipText returns the beginning of a text on one line.
func clipText(text string, most int) string {
	words := []rune(strings.Join(strings.Fields(text[:min(len(text), 8*most)]), " "))
	if len(words) > most {
		return string(words[:most-1]) + "…"
	}
	return strings.ToValidUTF8(string(words), "")
}

// holdsNoRecord reports whether a file of lines holds no record, so that it is not a session.
func (l *Log) holdsNoRecord() bool {
	r, _ := l.Format.spec()
	return r.isDocument == nil && l.files == nil && l.lists == nil && len(l.units) == 0 && len(bytes.TrimSpace(l.raw)) > 0 && l.Format != Cline && l.Format != ADK && l.Format != OpenHands
}
