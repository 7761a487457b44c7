package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/wire"
)

// These are the outcomes of a resumed session, the worst last.
const (
	whole   = "resumes"
	forgets = "forgets"
	full    = "full"
	dead    = "unusable"
)

// These are the sessions, and the damages of each client, that doctor judges.
var (
	judgedKinds   = []string{"plain", "parallel calls", "killed", "compacted"}
	judgedDamages = []string{
		"result lost", "call lost", "result twice", "torn in the result",
		"part of a call lost", "part of a call torn", "output lost", "call still running",
		"states lost", "calls lost", "all twice",
	}
)

// An opinion is doctor's prediction for a session, with the outcome.
type opinion struct {
	session, damage     string
	predicted, happened string // doctor, the client
	count               string // how many texts the client sends, of those that it could
	remedy              string // the request after the remedy, or "" if there was none
	faults              []string
}

// cameTrue reports whether the prediction came true. A client that repairs a session loses
// nothing.
func (o opinion) cameTrue() bool {
	return o.predicted == o.happened || o.predicted == "repairs" && o.happened == whole
}

// isTooHopeful reports whether doctor promises more than the client keeps.
func (o opinion) isTooHopeful() bool {
	order := []string{whole, "repairs", forgets, full, dead}
	return !o.cameTrue() && slices.Index(order, o.predicted) < slices.Index(order, o.happened)
}

func (o opinion) cell() string {
	if o.predicted == "" {
		return noCell
	}
	cell := o.predicted
	if !o.cameTrue() {
		cell += ", **but " + o.happened + "**"
	}
	if o.count != "" {
		cell += " " + o.count
	}
	if o.remedy != "" {
		cell += "; " + o.remedy
	}
	for _, f := range o.faults {
		cell += "; **" + f + "**"
	}
	return cell
}

// judge compares predictions with outcomes for damaged and filled sessions.
func (c *campaign) judge(all []kind, fill bool) (rows []opinion) {
	fmt.Printf("\n## %s\n\n", c.name)
	add := func(o opinion) {
		fmt.Printf("%-16s %-26s %s\n", o.session, o.damage, o.cell())
		rows = append(rows, o)
	}
	if c.small != "" {
		c.models = [2]string{c.small, c.small}
	}
	for _, k := range all {
		s, err := c.hold(k)
		if err != nil {
			fmt.Fprintf(os.Stderr, "campaign: %s: not held: %s\n", k.name, oneLine(err.Error()))
			c.keepFolder(s.dir, k.name, "not held", true)
			continue
		}
		sound := c.resume(s, nil)
		for _, d := range append([]damage{{name: none}}, c.damages...) {
			add(c.opinion(s, sound, k, d))
		}
		if fill {
			for _, o := range c.full(s, sound, k) {
				add(o)
			}
		}
		c.keepFolder(sound.dir, k.name, "sound", false)
		c.keepFolder(s.dir, k.name, "held", false)
	}
	return rows
}

// askDoctor judges the client's sessions, prints a table, and returns the number of wrong
// predictions and failed remedies. Without a choice of kinds or damages it judges a few of
// them; the damage "results too long" is also a choice.
func (c *campaign) askDoctor(chosen []kind, session, harm string) (failed int) {
	fill := harm == "" || strings.Contains(overfull, harm)
	if fill && harm != "" {
		chosen = named(fullKinds, session)
	} else if session == "" {
		chosen = pick(judgedKinds...)
	}
	if harm == "" {
		c.damages = slices.DeleteFunc(c.damages, func(d damage) bool { return !slices.Contains(judgedDamages, d.name) })
	}
	rows := c.judge(chosen, fill)
	table, sum := opinionTable(rows)
	fmt.Printf("\n%s\n%s\n", table, sum)
	for _, o := range rows {
		if o.predicted != "" && (!o.cameTrue() || len(o.faults) > 0) {
			failed++
		}
	}
	return failed
}

// opinion judges one session.
func (c *campaign) opinion(held seat, sound *resumption, k kind, d damage) opinion {
	o := opinion{session: k.name, damage: d.name}
	hit := func(dir string) bool { return d.hit == nil || d.hit(c, dir) }
	before := sound
	if d.hit == nil {
		held.restore()
		o.predicted = c.doctor(held)
	} else if before = c.resume(held, func(dir string) bool {
		if !hit(dir) {
			return false
		}
		o.predicted = c.doctor(held)
		return true
	}); before == nil {
		return o
	}
	want := newExpectation(sound, before)
	o.happened, o.count = c.outcomeOf(sound, before, want)
	said, changed := "", false
	after := c.resume(held, func(dir string) bool {
		hit(dir)
		was := c.bytes(held)
		if said, changed = c.repair(dir); !changed {
			return false
		}
		o.faults = c.repeatAndUndo(held, was, "fix")
		return true
	})
	switch {
	case !changed && o.predicted == dead: // there is nothing that could be done
		o.remedy = "not repaired"
	case after != nil:
		o.remedy = "fix " + short(after.verdict(want))
		if !strings.HasPrefix(after.verdict(want), clean) && (len(sound.found) == 0 || len(after.found) > 0) {
			o.faults = append(o.faults, "not clean after fix")
			fmt.Fprintf(os.Stderr, "campaign: %s, %s: %s\n", k.name, d.name, oneLine(said+" "+after.out))
		}
	}
	if before != sound {
		c.keepFolder(before.dir, k.name, d.name+", damaged", !o.cameTrue())
	}
	if after != nil {
		c.keepFolder(after.dir, k.name, d.name+", repaired", len(o.faults) > 0)
	}
	return o
}

// outcomeOf returns the outcome of a session, compared with the undamaged one.
func (c *campaign) outcomeOf(sound, r *resumption, w expectation) (does, count string) {
	if r.body == nil || r.err != nil {
		return dead, ""
	}
	got := intersect(r.marks, w.texts)
	count = fmt.Sprintf("%d/%d", len(got), len(w.texts))
	if rule := c.fresh(sound, r); rule != "" {
		return dead, rule + " " + count
	}
	switch {
	case len(got) < len(w.texts) || len(intersect(w.pairs, r.pairs)) < len(w.pairs):
		return forgets, count
	case sound.noted && !r.noted:
		return forgets, count + ", and the next prompt later"
	}
	return whole, count
}

// fresh is the first rule that a request breaks and that of the sound session does not; "": none.
func (c *campaign) fresh(sound, r *resumption) string {
	for _, f := range r.found {
		if !slices.ContainsFunc(sound.found, func(s wire.Finding) bool { return s.Rule == f.Rule }) {
			return string(f.Rule)
		}
	}
	return ""
}

// doctor returns the prediction of pare doctor.
func (c *campaign) doctor(s seat) string {
	out, _ := exec.Command(c.pare, "doctor", "--json", "--home", s.home()).Output()
	newest, at := "not found", ""
	for line := range bytes.Lines(out) {
		var d struct{ Path, Outlook, Modified, Error string }
		if json.Unmarshal(line, &d) != nil || d.Modified < at {
			continue
		}
		if file, _, _ := strings.Cut(d.Path, "#"); c.storage == "" && file != c.newest(s) {
			continue
		}
		if newest, at = d.Outlook, d.Modified; d.Error != "" {
			newest = dead
		}
	}
	return newest
}

// target returns the file or folder for pare.
func (c *campaign) target(s seat) string {
	if c.storage != "" {
		return filepath.Join(s.home(), c.storage)
	}
	return c.newest(s)
}

// bytes are those of the session.
func (c *campaign) bytes(s seat) []byte {
	if c.client.stored != nil {
		return tableRows(c.newest(s))
	}
	var all []byte
	file := c.target(s)
	_ = filepath.WalkDir(file, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(filepath.Base(name), ".bak") {
			data, _ := os.ReadFile(name)
			all = append(append(append(all, name...), 0), data...)
		}
		return nil
	})
	return all
}

// repeatAndUndo repeats a command and undoes it: the second run must change nothing, and undo must
// restore every byte. Afterwards the session is as after the first run.
func (c *campaign) repeatAndUndo(s seat, was []byte, command string) (faults []string) {
	now := c.bytes(s)
	if c.lines() && !kept(was, now, command != "fix") {
		faults = append(faults, "other lines changed")
	}
	args := []string{command, "--in-place", c.target(s)}
	if command == "fix" {
		args = append(args, "--force")
	}
	c.age(s)
	_ = exec.Command(c.pare, args...).Run()
	if !bytes.Equal(now, c.bytes(s)) {
		faults = append(faults, "a second "+command+" changes more")
	}
	out, err := exec.Command(c.pare, "undo", "--force", c.target(s)).CombinedOutput()
	if !bytes.Equal(was, c.bytes(s)) {
		faults = append(faults, "undo does not restore the bytes")
		fmt.Fprintf(os.Stderr, "campaign: undo: %v %s\n", err, oneLine(string(out)))
	}
	_ = exec.Command(c.pare, "undo", "--force", c.target(s)).Run()
	if !bytes.Equal(now, c.bytes(s)) {
		faults = append(faults, "undo of undo is not what it was")
	}
	return faults
}

// age sets the times of a session back by an hour, so that its agent counts as ended.
func (c *campaign) age(s seat) {
	at := time.Now().Add(-time.Hour)
	_ = filepath.WalkDir(s.home(), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && time.Since(at) > 0 {
			_ = os.Chtimes(name, at, at)
		}
		return nil
	})
}

// lines reports whether the session is a file of lines.
func (c *campaign) lines() bool { return strings.HasSuffix(c.sessions, ".jsonl") }

// ordinals matches the line numbers of Codex, which change after an inserted line.
var ordinals = regexp.MustCompile(`"ordinal":\d+`)

// kept reports whether all lines but six, far from damages and repairs, are byte-identical. If
// shortened is set, lines with texts of the conversation may change.
func kept(was, now []byte, shortened bool) bool {
	was, now = ordinals.ReplaceAll(was, nil), ordinals.ReplaceAll(now, nil)
	there := map[string]int{}
	for line := range bytes.Lines(now) {
		there[string(line)]++
	}
	lost := 0
	for line := range bytes.Lines(was) {
		if there[string(line)] == 0 && !(shortened && marks.Match(line)) {
			lost++
		}
	}
	return lost <= 6
}
