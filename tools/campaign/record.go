package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A record is the outcome of one damaged session that a client resumed.
type record struct {
	Session string  `json:"session"`
	Damage  string  `json:"damage"`
	Line    int     `json:"line"`
	Pieces  []piece `json:"pieces"` // the damaged file, made of the sound one
	Outcome string  `json:"outcome"`
	Rule    string  `json:"rule,omitempty"` // the first rule that the request breaks
	Lost    int     `json:"lost"`           // texts, calls and results that the file holds and the request lacks
	Gone    int     `json:"gone"`           // the same, with those that the damage took out of the file
	Items   int     `json:"items"`          // texts, calls and results that the sound session sends
	Noted   bool    `json:"noted"`          // the file holds the new prompt afterwards
	Says    string  `json:"says,omitempty"` // the last line of a client that sent nothing
}

// A piece is a part of a damaged file: lines of the undamaged file, or other bytes.
type piece struct {
	From int    `json:"from,omitempty"` // first line, from 0
	To   int    `json:"to,omitempty"`   // the line after the last one
	Text []byte `json:"text,omitempty"`
}

// recordedKinds are the sessions of the records; the last one is held out: the table of doctor
// is made without it, and compared with it.
var recordedKinds = []kind{
	{name: "basic", steps: []step{{order: "hello"}, {order: "run"}, {order: "read"}, {order: "run"}, {order: "thanks"}}},
	{name: "open", steps: []step{{order: "run"}, {order: "chain"}, {order: "sleep", end: killed}}},
	{name: "again", steps: []step{{order: "hello"}, {order: "run"}, {order: "read"}, {order: "run"}, {order: "thanks"}}},
	{name: "compacted", steps: []step{{order: "run"}, {order: "large"}, {order: "read"}, {order: "run"}}},
	{name: "mixed", steps: []step{{order: "chain"}, {order: "miss"}, {order: "run"}, {order: "thanks"}}},
}

// recordOutcomes damages sessions of the client at positions drawn by seed, resumes each, and writes the
// sound sessions and the records into a folder.
func (c *campaign) recordOutcomes(kinds []kind, to string, positions int, only string) error {
	to = filepath.Join(to, c.folder)
	for _, k := range kinds {
		s, err := c.hold(k)
		if err != nil {
			fmt.Fprintf(os.Stderr, "campaign: %s: not held: %s\n", k.name, oneLine(err.Error()))
			c.keepFolder(s.dir, k.name, "not held", true)
			continue
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		out, err := os.Create(filepath.Join(to, k.name+".json"))
		if err != nil {
			return err
		}
		encoder := json.NewEncoder(out)
		sound := c.recordSession(s, k, positions, only, func(r record) {
			if err := encoder.Encode(r); err != nil {
				fail(err)
			}
		})
		c.keepFolder(s.dir, k.name, "held", false)
		if err := errors.Join(out.Close(), os.WriteFile(filepath.Join(to, k.name+".session"), sound, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// recordSession calls write with a record for each damage of a session that was held, and returns the
// sound file.
func (c *campaign) recordSession(s seat, k kind, positions int, only string, write func(record)) (sound []byte) {
	whole := c.resume(s, nil)
	c.keepFolder(whole.dir, k.name, "sound", false)
	s.restore()
	file := c.newest(s)
	sound, err := os.ReadFile(file)
	if err != nil {
		fail(err)
	}
	lines := slices.Collect(bytes.Lines(sound))
	add := func(name string, at int, damaged []byte) {
		if bytes.Equal(damaged, sound) && name != none {
			return
		}
		r := c.resume(s, func(string) bool {
			st, err := os.Stat(file)
			return err == nil && os.WriteFile(file, damaged, 0o644) == nil && os.Chtimes(file, st.ModTime(), st.ModTime()) == nil
		})
		rec := c.compare(whole, r)
		rec.Session, rec.Damage, rec.Line, rec.Pieces = k.name, name, at+1, pieces(lines, damaged)
		fmt.Printf("%-10s %-24s %3d  %-10s %-16s lost %d gone %d of %d\n", k.name, name, at+1, rec.Outcome, rec.Rule, rec.Lost, rec.Gone, rec.Items)
		c.keepFolder(r.dir, k.name, fmt.Sprintf("%s %d", name, at+1), false)
		write(rec)
	}
	add(none, -1, sound)
	for _, h := range harms {
		if !slices.ContainsFunc(strings.Split(only, ";"), func(name string) bool { return strings.Contains(h.name, name) }) {
			continue
		}
		random := rand.New(rand.NewPCG(seedOf(k.name), seedOf(h.name)))
		tried := map[int]bool{}
		for range positions {
			at := c.position(lines, h, random)
			if at < 0 || tried[at] {
				continue
			}
			tried[at] = true
			if now := h.change(lines, at); now != nil {
				add(h.name, at, bytes.Join(now, nil))
			}
		}
	}
	return sound
}

func seedOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// position draws a line that a damage is done to: two of three are lines of the conversation.
func (c *campaign) position(lines [][]byte, h harm, random *rand.Rand) int {
	var spoken, all []int
	for i, line := range lines {
		if h.fits != nil && !h.fits.Match(line) {
			continue
		}
		all = append(all, i)
		if c.spoken(line) && marks.Match(line) {
			spoken = append(spoken, i)
		}
	}
	if len(spoken) > 0 && random.IntN(3) > 0 {
		all = spoken
	}
	if len(all) == 0 {
		return -1
	}
	return all[random.IntN(len(all))]
}

// pieces describes a damaged file by the lines of the sound one.
func pieces(lines [][]byte, damaged []byte) (all []piece) {
	at := map[string][]int{}
	for i, line := range lines {
		at[string(line)] = append(at[string(line)], i)
	}
	for line := range bytes.Lines(damaged) {
		last := len(all) - 1
		if last >= 0 && all[last].Text == nil && all[last].To < len(lines) && bytes.Equal(lines[all[last].To], line) {
			all[last].To++
			continue
		}
		if found := at[string(line)]; found != nil {
			all = append(all, piece{From: found[0], To: found[0] + 1})
			continue
		}
		if last >= 0 && all[last].Text != nil {
			all[last].Text = append(all[last].Text, line...)
			continue
		}
		all = append(all, piece{Text: bytes.Clone(line)})
	}
	return all
}

// The outcomes of records.
const (
	sent     = "sent"    // a request that breaks no rule which the sound one does not
	refused  = "refused" // a request that the provider would refuse
	nothing  = "nothing" // no request
	anew     = "anew"    // a request with nothing of the session
	timedOut = "timeout" // none: the client was killed
)

// compare returns the outcome of a resumption next to that of the sound session.
func (c *campaign) compare(whole, r *resumption) (rec record) {
	was := c.items(whole.body)
	rec.Items, rec.Noted = len(was), r.noted
	now := c.items(r.body)
	for i, item := range was {
		if slices.Contains(now, item) || slices.Contains(was[:i], item) { // some clients send a result several times
			continue
		}
		rec.Gone++
		if !slices.ContainsFunc(marksIn([]byte(item)), func(m string) bool { return !slices.Contains(r.left, m) }) {
			rec.Lost++
		}
	}
	rec.Outcome = sent
	switch {
	case r.status != nil && strings.Contains(r.status.Error(), "killed"):
		rec.Outcome = timedOut
	case r.body == nil:
		rec.Outcome, rec.Says = nothing, oneLine(lastLine(r.out))
	case r.err != nil:
		rec.Outcome, rec.Rule = refused, "unreadable"
	case len(now) == 0 && len(was) > 0:
		rec.Outcome = anew
	case c.fresh(whole, r) != "":
		rec.Outcome, rec.Rule = refused, c.fresh(whole, r)
	}
	return rec
}

// items are the texts, calls and results of a request, by their marks.
func (c *campaign) items(body []byte) (all []string) {
	req, err := wire.Parse(body, wire.Options{Dialect: c.dialect})
	if body == nil || err != nil {
		return nil
	}
	t := req.Transcript()
	kinds := map[transcript.Kind]string{transcript.Text: "text", transcript.Call: "call", transcript.Result: "result"}
	for _, b := range t.Blocks() {
		kind, said := kinds[b.Kind], marksIn(t.Bytes(b.Span))
		if kind != "" && len(said) > 0 {
			all = append(all, kind+" "+strings.Join(said, ", "))
		}
	}
	return all
}

// A harm is a damage at a line.
type harm struct {
	name   string
	fits   *regexp.Regexp // of the lines that it can be done to; nil: all
	change func(lines [][]byte, at int) [][]byte
}

func splice(lines [][]byte, from, to int, in ...[]byte) [][]byte {
	return slices.Concat(lines[:from], in, lines[to:])
}

// linked are the members by which a line names the one before it.
var linked = regexp.MustCompile(`"parent(Uuid|Id)":"[^"]+"`)

// ownID is the member by which a line is linked to.
var ownID = regexp.MustCompile(`"(uuid|id)":"([0-9a-f-]{8,36})"`)

// callIDs are the members by which calls and results name their pair.
var callIDs = regexp.MustCompile(`"(tool_use_id|call_id|toolCallId|callId)":"[^"]+"`)

// itemIDs are the ids of messages, calls and items, whole.
var itemIDs = regexp.MustCompile(`"((call|toolu|msg|fc|rs|item|ctc|chatcmpl|prt)_[A-Za-z0-9_]+|[0-9a-f]{8})"`)

// withOtherID is a line as another session could have it: all ids are others.
func withOtherID(line []byte) []byte {
	return itemIDs.ReplaceAllFunc(elsewhere(line), func(id []byte) []byte {
		return slices.Concat(id[:len(id)-2], []byte{other(id[len(id)-2])}, id[len(id)-1:])
	})
}

var harms = []harm{
	{"lost", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i+1) }},
	{"two lost", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, min(i+2, len(l))) }},
	{"dangling", linked, func(l [][]byte, i int) [][]byte {
		return splice(l, i, i+1, linked.ReplaceAllFunc(l[i], func(m []byte) []byte {
			name, _, _ := bytes.Cut(m, []byte(":"))
			return append(slices.Clone(name), `:"00000000-0000-4000-8000-000000000000"`...)
		}))
	}},
	{"other call", callIDs, func(l [][]byte, i int) [][]byte {
		return splice(l, i, i+1, callIDs.ReplaceAllFunc(l[i], func(m []byte) []byte {
			name, _, _ := bytes.Cut(m, []byte(":"))
			return append(slices.Clone(name), `:"call_of_nothing"`...)
		}))
	}},
	{"result lost, relinked", callIDs, func(l [][]byte, i int) [][]byte {
		id, parent := ownID.FindSubmatch(l[i]), linked.FindSubmatch(l[i])
		if id == nil || parent == nil || i+1 == len(l) {
			return nil
		}
		_, to, _ := bytes.Cut(parent[0], []byte(":"))
		now := splice(l, i, i+1)
		for k := i; k < len(now); k++ {
			now[k] = bytes.ReplaceAll(now[k], []byte(`"parent`+string(parent[1])+`":"`+string(id[2])+`"`), []byte(`"parent`+string(parent[1])+`":`+string(to)))
		}
		return now
	}},
	{"joined", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i+1, open(l[i])) }},
	{"torn", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i+1, append(half(l[i]), '\n')) }},
	{"torn, joined", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i+1, half(l[i])) }},
	{"torn at the end", nil, func(l [][]byte, i int) [][]byte { return splice(l[:i+1], i, i+1, half(l[i])) }},
	{"cut off", nil, func(l [][]byte, i int) [][]byte { return l[:i+1] }},
	{"last byte lost", nil, func(l [][]byte, i int) [][]byte {
		line := open(l[i])
		return splice(l, i, i+1, append(line[:len(line)-1], '\n'))
	}},
	{"twice", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i, l[i]) }},
	{"again at the end", nil, func(l [][]byte, i int) [][]byte { return splice(l, len(l), len(l), l[i]) }},
	{"swapped", nil, func(l [][]byte, i int) [][]byte {
		if i+1 == len(l) {
			return nil
		}
		return splice(l, i, i+2, l[i+1], l[i])
	}},
	{"foreign", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i, withOtherID(l[i])) }},
	{"foreign head", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i, withOtherID(l[0])) }},
	{"foreign at the end", nil, func(l [][]byte, i int) [][]byte { return splice(l, len(l), len(l), withOtherID(l[i])) }},
	{"object", nil, func(l [][]byte, i int) [][]byte {
		return splice(l, i, i, []byte(`{"note":"written by another program","time":1}`+"\n"))
	}},
	{"typed object", nil, func(l [][]byte, i int) [][]byte {
		return splice(l, i, i, []byte(`{"type":"note","text":"written by another program"}`+"\n"))
	}},
	{"log line", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i, []byte("WARN written by another program\n")) }},
	{"array", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i, []byte("[1,2]\n")) }},
	{"blank", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i, []byte("\n")) }},
	{"bytes that are no text", marks, func(l [][]byte, i int) [][]byte { return splice(l, i, i+1, invalidLine(l[i])) }},
	{"head again", nil, func(l [][]byte, i int) [][]byte { return splice(l, i, i, l[0]) }},
	{"all twice", nil, wholeFile(func(l [][]byte, _ int) [][]byte { return slices.Concat(l, l) })},
	{"all but the head twice", nil, wholeFile(func(l [][]byte, _ int) [][]byte { return slices.Concat(l, l[1:]) })},
	{"head lost", nil, wholeFile(func(l [][]byte, _ int) [][]byte { return l[1:] })},
	{"head torn", nil, wholeFile(func(l [][]byte, _ int) [][]byte { return splice(l, 0, 1, append(half(l[0]), '\n')) })},
	{"byte order mark", nil, wholeFile(func(l [][]byte, _ int) [][]byte { return splice(l, 0, 1, slices.Concat(mark, l[0])) })},
	{"zeros at the end", nil, wholeFile(func(l [][]byte, _ int) [][]byte { return splice(l, len(l), len(l), make([]byte, 64)) })},
	{"empty", nil, wholeFile(func([][]byte, int) [][]byte { return [][]byte{} })},
}

// wholeFile makes a damage of the whole file, for which the drawn line does not matter.
func wholeFile(change func(l [][]byte, at int) [][]byte) func(l [][]byte, at int) [][]byte {
	return change
}
