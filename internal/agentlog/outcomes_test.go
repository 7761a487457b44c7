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

// clientRecords are the records of tools/campaign for a client.
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

// damagesOfLinks remove no words from the file, so the client forgets everything that it does not
// send.
var damagesOfLinks = []string{"dangling", "joined", "twice", "swapped", "again at the end", "foreign", "foreign head", "foreign at the end", "object", "typed object", "log line", "array", "blank", "head again", "other call"}

// forgotten returns the share of the file's words that the client did not send.
func (r resumedRecord) forgotten() int {
	if slices.Contains(damagesOfLinks, r.Damage) {
		return r.Gone
	}
	return r.Lost
}

// truth returns the recorded outcome.
func (r resumedRecord) truth() outcome {
	switch {
	case r.Outcome == "nothing", r.Outcome == "refused":
		return fails
	case r.forgotten() > 0, r.Outcome == "anew", !r.Noted: // also without the new prompt
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

// A recordedCase is a record with its session as Pare reads it.
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
				continue // not a session
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

// spokenBefore returns the number of texts, calls and results before a line.
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

// spokenWords match a part of each prompt and reply in the recorded sessions.
var spokenWords = regexp.MustCompile(`prompt [1-9]: |reply [1-9]: `)

// leastRecords is the number of sessions that must show the outcome of a kind of damage.
const leastRecords = 2

// heldOut is the session that is excluded from the table.
const heldOut = "mixed"

// learn builds the table of a version of an agent from cases.
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

// note adds the outcome of a kind. A single record is not sufficient, but prevents a harmful kind
// from counting as harmless.
func (r agentRecord) note(kind string, all []recordedCase) {
	switch {
	case len(all) >= leastRecords:
		r.Outcomes[kind] = outcomeOf(all)
	case all[0].truth() != keepsAll:
		r.Outcomes[kind] = contradictory
	}
}

// seen returns an outcome without the extent of the loss.
func (o outcome) seen() outcome {
	if o == losesEarlier {
		return losesSome
	}
	return o
}

// learnRoles adds outcomes of rules that are equal for all roles.
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

// learnRest adds outcomes of kinds that occur only together with others. If nothing is lost, none
// has an effect; if the others have none, the remaining one has the effect.
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
			if explained != keepsAll { // the others have an effect too
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

// truthOf returns the outcome that all cases have in common.
func truthOf(cases []recordedCase) outcome {
	for _, c := range cases {
		if c.truth() != cases[0].truth() {
			return contradictory
		}
	}
	return cases[0].truth()
}

// cutting are the rules after which an agent may resume from the damaged line.
var cutting = []string{"dangling-parent", "joined-lines", "second-head", "stray-line", "idless-line", "parent-loop"}

// outcomeOf returns the outcome that all cases of a kind have in common.
func outcomeOf(cases []recordedCase) outcome {
	rule, _, _ := strings.Cut(cases[0].kinds[0].name, " ")
	earlier := slices.Contains(cutting, rule)
	var lost []recordedCase
	split := false
	for _, c := range cases {
		last := c.kinds[0].lastLost()
		if earlier && c.truth() == fails && c.log.splitsPair(last) {
			split = true // because of the result without its call
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

// tabulated are outcomes recorded by tools/campaign of stores that are not files of lines. Their
// damaged sessions are not kept.
var tabulated = []agentRecord{
	{"continue", "1.5.47", map[string]outcome{"orphan-call": fails, "orphan-result": fails, markRule: losesSome}},
	{"opencode", "1.1.65", map[string]outcome{"orphan-call that is completed": fails, "orphan-call at the end": keepsAll, "orphan-call that is running": keepsAll, "duplicate-call-id": fails}},
	{"opencode", "1.18.33", map[string]outcome{"orphan-call that is completed": fails, "orphan-call at the end": keepsAll, "orphan-call that is running": keepsAll, "torn-row": contradictory}},
}

// learnAll builds the table from cases.
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

// A score counts how the outlook compares with records.
type score struct{ records, right, wrong, unknown int }

// compareOutcomes compares a table with cases and requires an outcome for a share of them in
// percent.
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

// TestOutcomesFollowRecords compares the outlook of every recorded session with the client's
// behavior. No outlook is wrong, and four of five sessions of each client have one.
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

// TestOutcomesHoldForUnseenSessions builds the table without one session of each client and applies
// it to that session. No outlook is wrong.
func TestOutcomesHoldForUnseenSessions(t *testing.T) {
	cases := readCases(t)
	unseen := func(c recordedCase) bool { return c.Session == heldOut }
	compareOutcomes(t, learnAll(slices.DeleteFunc(slices.Clone(cases), unseen)), slices.DeleteFunc(slices.Clone(cases), func(c recordedCase) bool { return !unseen(c) }), 70)
}

// outlookOf returns the outlook of a session.
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

// TestOutlookNeedsRecordOfVersion checks that a version without records has no outlook, and that
// without a version all records must agree.
func TestOutlookNeedsRecordOfVersion(t *testing.T) {
	session := func(version string) string {
		return `{"parentUuid":null,"sessionId":"s","version":"` + version + `","type":"user","message":{"role":"user","content":"Go"},"uuid":"a1"}` + "\n" +
			`{"parentUuid":"a1","sessionId":"s","version":"` + version + `","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"uuid":"a2"}` + "\n"
	}
	// A call at the end.
	for version, want := range map[string]Outlook{"1.0.128": Forgets, "1.0.3": Forgets, "2.1.325": Repairs, "2.1.1": Repairs, "2.2.0": Unknown, "7.0.0": Unknown, "": Unknown} {
		if got := outlookOf(t, "claude-code", "s.jsonl", session(version)); got != want {
			t.Errorf("version %q: %v, want %v", version, got, want)
		}
	}
}
