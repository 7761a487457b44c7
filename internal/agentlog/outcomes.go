package agentlog

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
)

// outcomesJSON holds the outcomes of resuming damaged sessions, by agent, version and kind of
// damage. TestOutcomesFollowRecords generates it from recorded runs of the agents.
//
//go:embed outcomes.json
var outcomesJSON []byte

// An agentRecord is the recorded behavior of a version of an agent.
type agentRecord struct {
	Agent    string             `json:"agent"`
	Version  string             `json:"version"`
	Outcomes map[string]outcome `json:"outcomes"` // by kind of damage
}

// An outcome is the recorded effect of a kind of damage.
type outcome string

const (
	keepsAll     outcome = "keeps all"     // the agent sends everything in the file
	losesSome    outcome = "loses some"    // it continues without a part of that
	losesEarlier outcome = "loses earlier" // it continues without everything before the damage
	// The provider refuses the request, or the agent sends none.
	fails         outcome = "fails"
	contradictory outcome = "contradictory" // the records of this kind differ
	notRecorded   outcome = ""              // there are none
)

// recordsOf returns the records that apply to a version of an agent: those of the same minor
// version, or all of the agent if the version is not known.
func recordsOf(all []agentRecord, agent, version string) (apply []agentRecord) {
	for _, r := range all {
		if r.Agent == agent && (version == "" || minorOf(r.Version) == minorOf(version)) {
			apply = append(apply, r)
		}
	}
	return apply
}

// minorOf returns the first two numbers of a version.
func minorOf(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

func readRecords() ([]agentRecord, error) {
	var all []agentRecord
	err := json.Unmarshal(outcomesJSON, &all)
	return all, err
}

// A damageKind is the kind of a damage as records distinguish it, and its place.
type damageKind struct {
	name    string
	line    int
	harmful bool // the format requires a repair
	open    bool // a call at the end that may still be running
	finding int  // its index
}

// damageKinds classifies findings: by rule, and by the role of the line in the conversation where
// that changes the outcome.
func (l *Log) damageKinds(found []Finding) (all []damageKind) {
	roles := l.roles()
	for i, f := range found {
		if f.Dormant || f.Rule == OverWindow {
			continue
		}
		k := damageKind{name: f.Rule, line: f.Line, harmful: f.Effect == Refused, open: f.Open, finding: i}
		switch {
		case f.Open:
			k.name += " at the end"
		case f.Rule == "dangling-parent" && l.parentFollows(f):
			k.name += " whose parent follows"
		case f.Rule == "dangling-parent", f.Rule == encodingRule, f.Rule == "joined-lines":
			k.name += " of " + l.roleAt(roles, f.Line)
		case f.Rule == "duplicate-line" && k.harmful:
			k.name += l.duplicateKind(f.Line)
		case f.Rule == "duplicate-line" && len(l.units) > 0 && f.Line == l.units[len(l.units)-1].line:
			k.name += " at the end of " + l.object(len(l.units)-1).Kind()
		case f.Rule == "orphan-call" && (l.Format == OpenCode || l.Format == OpenCodeExport):
			k.name += " that is " + l.object(f.unit).Object("state").Text("status")
		}
		all = append(all, k)
	}
	if k, ok := l.unlinkedEnd(found); ok {
		all = append(all, k)
	}
	return all
}

// noFinding is the finding of damage that Check does not report.
const noFinding = -1

// unlinkedEnd returns the last line as a damage of its own if its parent is not in the file: a line
// of another session, which some agents take for their newest one.
func (l *Log) unlinkedEnd(found []Finding) (damageKind, bool) {
	ids := make(map[string]bool, len(l.units))
	last := -1
	for u := range l.units {
		o := l.object(u)
		if id := cmp.Or(o.Text("uuid"), o.Text("id")); id != "" {
			ids[id], last = true, u
		}
	}
	if last < 0 {
		return damageKind{}, false
	}
	line, o := l.units[last].line, l.object(last)
	parent := cmp.Or(o.Text("parentUuid"), o.Text("parentId"))
	reported := slices.ContainsFunc(found, func(f Finding) bool { return f.Line == line })
	if parent == "" || ids[parent] || reported {
		return damageKind{}, false
	}
	return damageKind{name: "unlinked-end of " + o.Kind(), line: line, finding: noFinding}, true
}

// parentFollows reports whether the line that another one refers to comes later.
func (l *Log) parentFollows(f Finding) bool {
	for u := range l.units {
		if id := l.object(u).Text("uuid"); l.units[u].line > f.Line && id != "" && slices.Contains(f.IDs, id) {
			return true
		}
	}
	return false
}

// duplicateKind distinguishes copies of lines that affect the agent: a copy of only the head, a
// copy of the head and all following lines, and copies of other lines.
func (l *Log) duplicateKind(line int) string {
	kind := l.object(0).Kind()
	before, after, head := 0, 0, false
	for u := range l.units {
		switch {
		case l.units[u].line == line:
			head = u > 0 && l.object(u).Kind() == kind && kind == "session_meta"
		case l.units[u].line < line && l.object(u).Kind() == "response_item":
			before++
		}
	}
	if !head {
		return " that is sent"
	}
	for _, u := range l.duplicates {
		if l.units[u].line > line && l.object(u).Kind() == "response_item" {
			after++
		}
	}
	if after < before {
		return " of the head"
	}
	return " of the head and all that follows it"
}

// The roles of lines.
const (
	promptRole = "a prompt"
	replyRole  = "a reply"
	callRole   = "a call"
	resultRole = "a result"
	headRole   = "the head"
	otherRole  = "no message"
)

// roles returns the roles of the units that are sent.
func (l *Log) roles() map[int]string {
	all := make(map[int]string)
	for _, t := range l.Sent() {
		tr := t.Request.Transcript()
		for i, p := range t.sources {
			m := tr.Messages()[i]
			role := replyRole
			if m.Role == transcript.User {
				role = promptRole
			}
			for b := m.First; b < m.End; b++ {
				switch tr.Block(b).Kind {
				case transcript.Call:
					role = callRole
				case transcript.Result:
					role = resultRole
				}
			}
			all[p.unit] = role
		}
	}
	return all
}

// roleAt returns the role of the first unit of a line that has one.
func (l *Log) roleAt(roles map[int]string, line int) string {
	found := otherRole
	for u := range l.units {
		if l.units[u].line != line {
			continue
		}
		if role, ok := roles[u]; ok && l.object(u).Kind() != "attachment" {
			return role
		}
		if l.object(u).Kind() == "attachment" {
			found = l.attachmentRole(u)
		}
		if line == 1 {
			found = headRole
		}
	}
	return found
}

// attachmentRole distinguishes the attachments of Claude Code 2.1. The agent finds attachments of a
// continued request again when a line is lost.
func (l *Log) attachmentRole(u int) string {
	for ; u < len(l.units); u++ {
		if o := l.object(u); o.Kind() == "api-request" {
			if o.Has("base") {
				return "an attachment to a later request"
			}
			break
		}
	}
	return "an attachment to a prompt"
}

// splitsPair reports whether a result that follows a line answers a call that does not.
func (l *Log) splitsPair(line int) bool {
	for _, t := range l.Sent() {
		tr := t.Request.Transcript()
		at := func(b transcript.BlockID) int { return l.units[t.sources[tr.Block(b).Message].unit].line }
		for _, x := range tr.Exchanges() {
			if x.Call < 0 || at(x.Call) > line {
				continue
			}
			for _, b := range x.Results {
				if tr.Block(b).Message < t.Messages() && at(b) > line {
					return true
				}
			}
		}
	}
	return false
}

// A forecast is the outcome of resuming a session with some damages.
type forecast struct {
	outcome outcome
	worst   damageKind // the damage with this outcome
}

// forecastFor combines the outcomes of the kinds of damage in a session.
func (l *Log) forecastFor(kinds []damageKind, record agentRecord) forecast {
	kinds, fromSignature := l.inEffect(kinds, record)
	if fromSignature != notRecorded {
		return forecast{fromSignature, worstOf(kinds, record)}
	}
	out := forecast{outcome: keepsAll}
	for _, k := range kinds {
		o := record.lookup(k)
		if out.worst.name == "" && o != keepsAll || severity(o) > severity(out.outcome) {
			out = forecast{o, k}
		}
	}
	return out
}

// inEffect returns the kinds of damage that have an effect, and the outcome if it was recorded for
// all of them together. Damage that precedes a line from which the agent goes on has none; a result
// there has lost its call if that precedes the line.
func (l *Log) inEffect(kinds []damageKind, record agentRecord) ([]damageKind, outcome) {
	if o := record.Outcomes[signature(kinds)]; o != notRecorded && o != losesEarlier {
		return kinds, o
	}
	cut := -1
	for i, k := range kinds {
		if record.lookup(k) == losesEarlier && (cut < 0 || k.lastLost() > kinds[cut].lastLost()) {
			cut = i
		}
	}
	if cut < 0 {
		return kinds, notRecorded
	}
	from := kinds[cut]
	if !l.hasMessagesUpTo(from.lastLost()) {
		return slices.DeleteFunc(slices.Clone(kinds), func(k damageKind) bool { return k == from }), notRecorded
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k damageKind) bool { return k != from && k.line <= from.lastLost() })
	if l.splitsPair(from.lastLost()) {
		kinds = append(kinds, damageKind{name: "orphan-result", line: from.line, harmful: true, finding: from.finding})
	}
	if o := record.Outcomes[signature(kinds)]; o != losesEarlier {
		return kinds, o
	}
	return kinds, notRecorded
}

// hasMessagesUpTo reports whether the lines up to a line contain a message.
func (l *Log) hasMessagesUpTo(line int) bool {
	for u := range l.roles() {
		if kind := l.object(u).Kind(); l.units[u].line <= line && kind != "attachment" && kind != "system" && l.object(u).Object("message").Text("role") != "system" {
			return true
		}
	}
	return false
}

// lastLost returns the last line that the agent forgets if it goes on from the damage.
func (k damageKind) lastLost() int {
	if strings.HasPrefix(k.name, "joined-lines") {
		return k.line
	}
	return k.line - 1
}

// lookup returns the outcome of a kind of damage. Without a record for the role of the line, it
// uses the one for the rule, and keepsAll for harmless damage.
func (r agentRecord) lookup(k damageKind) outcome {
	if o, ok := r.Outcomes[k.name]; ok {
		return o
	}
	rule, _, _ := strings.Cut(k.name, " ")
	if o, ok := r.Outcomes[rule+anyRole]; ok {
		return o
	}
	if !k.harmful {
		return keepsAll
	}
	return notRecorded
}

// anyRole follows a rule that has the same outcome for lines of all roles that were recorded.
const anyRole = " of any line"

// worstOf returns the damage with the worst outcome.
func worstOf(kinds []damageKind, record agentRecord) (worst damageKind) {
	for _, k := range kinds {
		if worst.name == "" || severity(record.lookup(k)) > severity(record.lookup(worst)) {
			worst = k
		}
	}
	return worst
}

// severity orders outcomes. notRecorded is the worst, because an unknown outcome of one damage
// makes the whole session unknown.
func severity(o outcome) int {
	return slices.Index([]outcome{keepsAll, losesSome, losesEarlier, fails, contradictory, notRecorded}, o)
}

// signature names the kinds of damage of a session, for records of damages that occur together.
func signature(kinds []damageKind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " + ")
}

// A prediction is the outlook of a damaged session.
type prediction struct {
	outlook Outlook
	worst   damageKind
	version string // of the recorded agent
}

// predict returns the outlook of a session with some damages. Records of several versions have to
// agree.
func (l *Log) predict(agent, version string, kinds []damageKind) (p prediction) {
	all, err := readRecords()
	if err != nil {
		panic(err) // the table is embedded in the program
	}
	harm := slices.IndexFunc(kinds, func(k damageKind) bool { return k.harmful })
	if harm >= 0 {
		p = prediction{outlook: Unknown, worst: kinds[harm]}
	}
	for i, record := range recordsOf(all, agent, version) {
		next := l.forecastFor(kinds, record).prediction(harm >= 0)
		next.version = record.Version
		if next.worst.name == "" {
			next.worst = p.worst
		}
		if i > 0 && next.outlook != p.outlook {
			return prediction{outlook: Unknown, worst: p.worst}
		}
		p = next
	}
	return p
}

// prediction returns the outlook that a forecast means.
func (f forecast) prediction(damaged bool) prediction {
	p := prediction{worst: f.worst}
	switch f.outcome {
	case keepsAll:
		if damaged {
			p.outlook = Repairs
		}
	case losesSome, losesEarlier:
		p.outlook = Forgets
	case fails:
		p.outlook = Unusable
	default:
		p.outlook = Unknown
	}
	return p
}

// agentVersion returns the version of the agent that wrote the last line with one; "" if the format
// has none.
func (l *Log) agentVersion() string {
	for u := len(l.units) - 1; u >= 0; u-- {
		o := l.object(u)
		if v := cmp.Or(o.Text("version"), o.Object("payload").Text("cli_version"), o.Object("data").Text("copilotVersion")); v != "" {
			return v
		}
	}
	return ""
}
