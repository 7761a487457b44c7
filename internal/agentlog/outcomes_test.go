package agentlog

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

var updateOutcomes = flag.Bool("update-outcomes", false, "write outcomes.json from the records in testdata/resumed")

// A clientRecords is what tools/campaign has recorded of a client.
type clientRecords struct {
	Agent, Version string
	Sessions       map[string][]string
	Records        []resumedRecord
}

// A resumedRecord is a damaged session that a client resumed.
type resumedRecord struct {
	Session, Damage string
	Line            int
	Pieces          []struct {
		From, To int
		Text     []byte
	}
	Outcome, Rule     string
	Lost, Gone, Items int
	Noted             bool
}

// bytes returns the damaged file.
func (r resumedRecord) bytes(sound []string) []byte {
	var b bytes.Buffer
	for _, p := range r.Pieces {
		b.WriteString(strings.Join(sound[p.From:p.To], ""))
		b.Write(p.Text)
	}
	return b.Bytes()
}

// damagesOfLinks take no words out of the file: all that is not sent is forgotten by the client.
var damagesOfLinks = []string{"dangling", "joined", "twice", "swapped", "again at the end", "foreign", "foreign head", "foreign at the end", "object", "typed object", "log line", "array", "blank", "head again", "other call"}

// forgotten is how much of the file's words the client left out.
func (r resumedRecord) forgotten() int {
	if slices.Contains(damagesOfLinks, r.Damage) {
		return r.Gone
	}
	return r.Lost
}

// truth is the outcome of the record.
func (r resumedRecord) truth() outcome {
	switch {
	case r.Outcome == "nothing", r.Outcome == "refused":
		return fails
	case r.forgotten() > 0, r.Outcome == "anew", !r.Noted: // without the new prompt, too
		return losesSome
	}
	return keepsAll
}

func readClients(t *testing.T) (all []clientRecords) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(recordsFolder(), "*.json.gz"))
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		var c clientRecords
		if err := json.NewDecoder(z).Decode(&c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func recordsFolder() string {
	if dir := os.Getenv("PARE_RECORDS"); dir != "" {
		return dir
	}
	return "testdata/resumed"
}

// A case is a record with the session as Pare reads it.
type recordedCase struct {
	resumedRecord
	agent, version string
	log            *Log
	kinds          []damageKind
}

func readCases(t *testing.T) (all []recordedCase) {
	t.Helper()
	for _, c := range readClients(t) {
		for _, r := range c.Records {
			raw := r.bytes(c.Sessions[r.Session])
			if len(raw) == 0 {
				continue // no session
			}
			raw, marked := bytes.CutPrefix(raw, []byte("\xef\xbb\xbf"))
			l, err := Read("s.jsonl", raw, Options{Format: formatOf(c.Agent), HasByteOrderMark: marked})
			if err != nil {
				t.Errorf("%s %s, %s in line %d: %v", c.Agent, r.Session, r.Damage, r.Line, err)
				continue
			}
			all = append(all, recordedCase{resumedRecord: r, agent: c.Agent, version: c.Version, log: l, kinds: l.damageKinds(l.Check(wire.CheckOptions{}))})
		}
	}
	return all
}

func formatOf(agent string) Format {
	for _, a := range agents {
		if a.Name == agent {
			return a.Format
		}
	}
	return Auto
}

// spokenBefore counts the texts, calls and results that precede a line.
func (c recordedCase) spokenBefore(line int) (n int) {
	for _, t := range c.log.Sent() {
		tr := t.Request.Transcript()
		for _, blk := range tr.Blocks() {
			if blk.Message >= t.Messages() || c.log.units[t.sources[blk.Message].unit].line >= line {
				continue
			}
			said := spokenWords.Match(tr.Bytes(blk.Span))
			if blk.Kind == transcript.Call || blk.Kind == transcript.Result || blk.Kind == transcript.Text && said {
				n++
			}
		}
	}
	return n
}

// spokenWords are in each prompt and reply of the recorded sessions.
var spokenWords = regexp.MustCompile(`prompt [1-9]: |reply [1-9]: `)

// leastRecords is how many sessions have to show the outcome of a kind of damage.
const leastRecords = 2

// heldOut is the session that the table is made without.
const heldOut = "mixed"

// learn makes the table of a version of an agent from cases.
func learn(agent, version string, cases []recordedCase) agentRecord {
	rec := agentRecord{Agent: agent, Version: version, Outcomes: map[string]outcome{}}
	alone, together := map[string][]recordedCase{}, map[string][]recordedCase{}
	var own []recordedCase
	for _, c := range cases {
		if c.agent != agent || c.version != version {
			continue
		}
		own = append(own, c)
		sig := signature(c.kinds)
		if strings.Contains(sig, " + ") {
			together[sig] = append(together[sig], c)
		} else if sig != "" {
			alone[sig] = append(alone[sig], c)
		}
	}
	for sig, all := range alone {
		rec.note(sig, all)
	}
	for range 4 {
		rec.learnRoles()
		rec.learnRest(own)
	}
	for sig, all := range together {
		o := truthOf(all)
		if len(all) < leastRecords {
			o = contradictory
		}
		for _, c := range all {
			if f := c.log.forecastFor(c.kinds, rec); f.outcome.seen() != c.truth() {
				rec.Outcomes[sig] = o
			}
		}
	}
	return rec
}

// note adds the outcome of a kind. One record alone is none, but keeps a harmless kind from being taken for one.
func (r agentRecord) note(kind string, all []recordedCase) {
	switch {
	case len(all) >= leastRecords:
		r.Outcomes[kind] = outcomeOf(all)
	case all[0].truth() != keepsAll:
		r.Outcomes[kind] = contradictory
	}
}

// seen is an outcome without the extent of what is lost.
func (o outcome) seen() outcome {
	if o == losesEarlier {
		return losesSome
	}
	return o
}

// learnRoles adds the outcome of a rule that is the same for all roles.
func (r agentRecord) learnRoles() {
	byRule := map[string][]outcome{}
	for kind, o := range r.Outcomes {
		if rule, role, ok := strings.Cut(kind, " of "); ok && !strings.Contains(kind, " + ") && role != "any line" && role != otherRole {
			byRule[rule] = append(byRule[rule], o)
		}
	}
	for rule, all := range byRule {
		if slices.Sort(all); len(all) > 1 && all[0] == all[len(all)-1] && all[0] != contradictory {
			r.Outcomes[rule+anyRole] = all[0]
		} else {
			delete(r.Outcomes, rule+anyRole)
		}
	}
}

// learnRest adds the outcomes of kinds that occur with others only: all have no effect if nothing is lost; one alone has the
// effect if the others have none.
func (r agentRecord) learnRest(cases []recordedCase) {
	implied, mixed := map[string][]recordedCase{}, map[string][]recordedCase{}
	for _, c := range cases {
		kinds, _ := c.log.inEffect(c.kinds, r)
		var unknown []damageKind
		explained := keepsAll
		for _, k := range kinds {
			o := r.lookup(k)
			if o == notRecorded && !slices.ContainsFunc(unknown, func(u damageKind) bool { return u.name == k.name }) {
				unknown = append(unknown, k)
			} else if o != notRecorded && severity(o) > severity(explained) {
				explained = o
			}
		}
		if len(unknown) == 1 && (severity(c.truth()) > severity(explained) && explained != losesEarlier || c.truth() == fails && explained != fails || c.truth() == keepsAll) {
			c.kinds = unknown
			by := implied
			if explained != keepsAll { // the others have an effect, too
				by = mixed
			}
			by[unknown[0].name] = append(by[unknown[0].name], c)
		} else if c.truth() == keepsAll {
			for _, k := range unknown {
				c.kinds = []damageKind{k}
				implied[k.name] = append(implied[k.name], c)
			}
		}
	}
	for kind, all := range mixed {
		if implied[kind] == nil {
			implied[kind] = all
		}
	}
	for kind, all := range implied {
		r.note(kind, all)
	}
}

// truthOf is the outcome that all cases have.
func truthOf(cases []recordedCase) outcome {
	for _, c := range cases {
		if c.truth() != cases[0].truth() {
			return contradictory
		}
	}
	return cases[0].truth()
}

// cutting are the rules after which an agent may go on from the line.
var cutting = []string{"dangling-parent", "joined-lines", "second-head", "stray-line", "idless-line", "parent-loop"}

// outcomeOf is the outcome that all cases of a kind have.
func outcomeOf(cases []recordedCase) outcome {
	rule, _, _ := strings.Cut(cases[0].kinds[0].name, " ")
	earlier := slices.Contains(cutting, rule)
	var lost []recordedCase
	split := false
	for _, c := range cases {
		last := c.kinds[0].lastLost()
		if earlier && c.truth() == fails && c.log.splitsPair(last) {
			split = true // by the result that has lost its call
			continue
		}
		before := c.spokenBefore(last + 1)
		earlier = earlier && c.forgotten() == before
		if before > 0 {
			lost = append(lost, c)
		}
	}
	if !split && (len(lost) == 0 || truthOf(lost) != losesSome) || !earlier {
		return truthOf(cases)
	}
	return losesEarlier
}

// tabulated are outcomes recorded by tools/campaign, of stores that are no files of lines. Their damaged
// sessions are not kept.
var tabulated = []agentRecord{
	{"continue", "1.5.47", map[string]outcome{"orphan-call": fails, "orphan-result": fails, markRule: losesSome}},
	{"opencode", "1.1.65", map[string]outcome{"orphan-call that is completed": fails, "orphan-call at the end": keepsAll, "orphan-call that is running": keepsAll, "duplicate-call-id": fails}},
	{"opencode", "1.18.33", map[string]outcome{"orphan-call that is completed": fails, "orphan-call at the end": keepsAll, "orphan-call that is running": keepsAll, "torn-row": contradictory}},
}

// learnAll makes the table from cases.
func learnAll(cases []recordedCase) (all []agentRecord) {
	for _, c := range cases {
		if !slices.ContainsFunc(all, func(r agentRecord) bool { return r.Agent == c.agent && r.Version == c.version }) {
			all = append(all, learn(c.agent, c.version, cases))
		}
	}
	all = append(all, tabulated...)
	slices.SortFunc(all, func(a, b agentRecord) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// A score counts how the words of doctor compare with records.
type score struct{ records, right, wrong, unknown int }

// compareOutcomes compares the outcomes of a table with those of cases, and wants one for a share of them in percent.
func compareOutcomes(t *testing.T, table []agentRecord, cases []recordedCase, share int) {
	t.Helper()
	all := map[string]score{}
	for _, c := range cases {
		s := all[c.agent+" "+c.version]
		s.records++
		f := forecast{}
		for _, r := range recordsOf(table, c.agent, c.version) {
			f = c.log.forecastFor(c.kinds, r)
		}
		switch f.outcome {
		case notRecorded, contradictory:
			s.unknown++
		default:
			if f.outcome.seen() == c.truth() {
				s.right++
				break
			}
			s.wrong++
			t.Errorf("%s %s, %s in line %d: the client %s (%s, %d of %d), not %s in line %d: %s", c.agent, c.Session, c.Damage, c.Line, c.truth(), c.Rule, c.forgotten(), c.Items, f.outcome, f.worst.line, signature(c.kinds))
		}
		all[c.agent+" "+c.version] = s
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		t.Logf("%s: %d records, %d right, %d wrong, %d without an outcome", name, s.records, s.right, s.wrong, s.unknown)
		if 100*(s.right+s.wrong) < share*s.records {
			t.Errorf("%s: an outcome for %d of %d records only", name, s.right+s.wrong, s.records)
		}
	}
}

// TestOutcomesFollowRecords compares the outlook of every recorded session with what its client did: no outcome is
// wrong, and four of five sessions of each client have one.
func TestOutcomesFollowRecords(t *testing.T) {
	cases := readCases(t)
	table := learnAll(cases)
	text, err := json.MarshalIndent(table, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *updateOutcomes {
		if err := os.WriteFile("outcomes.json", text, 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(text, outcomesJSON) {
		t.Error("outcomes.json is not made from the records: go test ./internal/agentlog -run TestOutcomes -update-outcomes")
	}
	compareOutcomes(t, table, cases, 80)
}

// TestOutcomesHoldForUnseenSessions makes the table without one session of each client, and compares it with the
// damages of that session: no outcome is wrong. The kinds of damage that the others do not have twice have none.
func TestOutcomesHoldForUnseenSessions(t *testing.T) {
	cases := readCases(t)
	unseen := func(c recordedCase) bool { return c.Session == heldOut }
	compareOutcomes(t, learnAll(slices.DeleteFunc(slices.Clone(cases), unseen)), slices.DeleteFunc(slices.Clone(cases), func(c recordedCase) bool { return !unseen(c) }), 70)
}

// outlookOf is the outlook of a session of an agent.
func outlookOf(t *testing.T, agent, name, raw string) Outlook {
	t.Helper()
	l, err := Read(name, []byte(raw), Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &Diagnosis{Place: Place{Agent: &agents[slices.IndexFunc(agents, func(a Agent) bool { return a.Name == agent })]}}
	d.addOutlook(l, l.Check(wire.CheckOptions{}))
	return d.Outlook
}

// TestOutlookNeedsRecordOfVersion: a version without records has no outcome; without a version the records of
// all versions have to agree.
func TestOutlookNeedsRecordOfVersion(t *testing.T) {
	session := func(version string) string {
		return `{"parentUuid":null,"sessionId":"s","version":"` + version + `","type":"user","message":{"role":"user","content":"Go"},"uuid":"a1"}` + "\n" +
			`{"parentUuid":"a1","sessionId":"s","version":"` + version + `","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"uuid":"a2"}` + "\n"
	}
	for version, want := range map[string]Outlook{"1.0.128": Forgets, "1.0.3": Forgets, "2.1.325": Repairs, "2.1.1": Repairs, "2.2.0": Unknown, "7.0.0": Unknown, "": Unknown} { // a call at the end
		if got := outlookOf(t, "claude-code", "s.jsonl", session(version)); got != want {
			t.Errorf("version %q: %v, want %v", version, got, want)
		}
	}
}
