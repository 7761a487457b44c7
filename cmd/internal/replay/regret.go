package replay

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A deed is a call of the recorded agent, and what it took from the history in front of it.
type deed struct {
	call  transcript.BlockID
	edit  bool // it replaces lines that stood there
	lines []need
	names []need
}

// A need is a line or a name that a call uses, by its hash, and the newest block that has it.
type need struct {
	mark   uint64
	source transcript.BlockID
}

// Memory is what the history shows: the marks of each message, and what calls needed.
type memory struct {
	marks [][]uint64     // by message: lines and names, by hash
	block [][]uint64     // by block
	deeds map[int][]deed // by message
	calls int
	edits int
}

// remember reads a history. It takes time in proportion to its length.
func remember(r *wire.Request, replies func(int) bool) *memory {
	t := r.Transcript()
	m := &memory{deeds: make(map[int][]deed), block: make([][]uint64, len(t.Blocks())), marks: make([][]uint64, len(t.Messages()))}
	held := make(map[uint64]transcript.BlockID)
	for i, msg := range t.Messages() {
		for b := msg.First; b < msg.End; b++ {
			m.block[b] = marksOf(r, b)
			if t.Block(b).Kind == transcript.Call && replies(i) {
				m.act(t, held, b)
			}
		}
		for b := msg.First; b < msg.End; b++ {
			m.marks[i] = append(m.marks[i], m.block[b]...)
			for _, mark := range m.block[b] {
				held[mark] = b
			}
		}
	}
	return m
}

// act enters what a call needs. What the model said in the same turn it knows anyway.
func (m *memory) act(t *transcript.Transcript, held map[uint64]transcript.BlockID, call transcript.BlockID) {
	at := t.Block(call).Message
	d := deed{call: call}
	find := func(all *[]need, text string) {
		mark := names.Hash(text)
		if b, ok := held[mark]; ok {
			if t.Messages()[t.Block(b).Message].Turn != t.Messages()[at].Turn {
				*all = append(*all, need{mark, b})
			}
		}
	}
	each(wire.Arguments(t, call), "", func(key, text string) {
		replaced(key, text, func(line string) { find(&d.lines, line) })
		names.Each(text, func(name string) { find(&d.names, name) })
	})
	d.edit = len(d.lines) > 0
	m.calls++
	m.edits += one(d.edit)
	if len(d.lines)+len(d.names) > 0 {
		m.deeds[at] = append(m.deeds[at], d)
	}
}

// marksOf are the lines and names that a block shows.
func marksOf(r *wire.Request, b transcript.BlockID) (all []uint64) {
	add := func(text string) {
		names.Each(text, func(name string) { all = append(all, names.Hash(name)) })
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if len(line) >= shortLine {
				all = append(all, names.Hash(line))
			}
			if bare := unnumbered(line); len(bare) < len(line) && len(bare) >= shortLine {
				all = append(all, names.Hash(bare))
			}
		}
	}
	switch t := r.Transcript(); t.Block(b).Kind {
	case transcript.Call, transcript.ServerCall:
		each(wire.Arguments(t, b), "", func(_, text string) { add(text) })
	default:
		add(r.Text(b))
	}
	return all
}

// shortLine is the shortest line that says something.
const shortLine = 4

// unnumbered takes off what tools put in front of a line: its number, its file, or the sign of a
// diff.
func unnumbered(line string) string {
	i := 0
	if at := strings.IndexByte(line, ':'); at > 0 && at+1 < len(line) && line[at+1] >= '0' && line[at+1] <= '9' && !strings.ContainsAny(line[:at], " \t\"") {
		i = at + 1 // file:12:text
	}
	from := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	if i > from {
		for _, sign := range []string{"→", "\t", ":", "|", "-"} {
			if rest, ok := strings.CutPrefix(line[i:], sign); ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	if line != "" && (line[0] == '+' || line[0] == '-') {
		return strings.TrimSpace(line[1:])
	}
	return line
}

// each calls found with every text in some arguments and the name of the member it stands in.
func each(args []byte, key string, found func(key, text string)) {
	var v any
	if json.Unmarshal(args, &v) != nil {
		found(key, string(args))
		return
	}
	eachIn(v, key, found)
}

func eachIn(v any, key string, found func(key, text string)) {
	switch v := v.(type) {
	case string:
		found(key, v)
	case []any:
		var words []string // of a command
		for _, e := range v {
			if s, ok := e.(string); ok {
				words = append(words, s)
				continue
			}
			eachIn(e, key, found)
		}
		if len(words) > 0 {
			found(key, strings.Join(words, "\n"))
		}
	case map[string]any:
		for k, e := range v { // the order does not matter: needs are counted, not listed
			eachIn(e, k, found)
		}
	}
}

// oldNames are the usual names of the argument with the text that an edit replaces.
var oldNames = map[string]bool{
	"old_string": true, "old_str": true, "oldString": true, "oldText": true, "old_text": true, "old_content": true, "TargetContent": true, "oldStr": true,
}

// replaced calls found with every line of a file that an argument says is there: what an edit
// replaces, and what a patch takes out or leaves around it.
func replaced(key, text string, found func(line string)) {
	tell := func(line string) {
		if line = strings.TrimSpace(line); len(line) >= shortLine {
			found(line)
		}
	}
	switch _, patch, ok := strings.Cut(text, "*** Begin Patch"); {
	case oldNames[key]:
		for line := range strings.SplitSeq(text, "\n") {
			tell(line)
		}
	case ok:
		inside := false // a file that is changed, not a new one
		for line := range strings.SplitSeq(patch, "\n") {
			switch {
			case strings.HasPrefix(line, "*** "):
				inside = strings.HasPrefix(line, "*** Update File")
			case inside && line != "" && (line[0] == '-' || line[0] == ' '):
				tell(line[1:])
			}
		}
	default:
		_, rest, _ := strings.Cut(text, "<<<<<<< SEARCH\n")
		if old, _, ok := strings.Cut(rest, "\n======="); ok {
			for line := range strings.SplitSeq(old, "\n") {
				tell(line)
			}
		}
	}
}

// A showing is what is in sight in what a policy sends: how often each mark, and what was read
// again, until which request.
type showing struct {
	sent  *view
	marks [][]uint64 // by message of it
	count map[uint64]int
	back  map[uint64]int
}

// show takes in what is sent now. What it has in common with what was sent before is not read
// again.
func (s *showing) show(p *player, v *view) {
	same := 0
	if s.sent != nil {
		same = max(v.shared(s.sent), 0)
	} else {
		s.count, s.back = make(map[uint64]int), make(map[uint64]int)
	}
	for _, marks := range s.marks[same:] {
		for _, mark := range marks {
			if s.count[mark]--; s.count[mark] == 0 {
				delete(s.count, mark)
			}
		}
	}
	s.marks, s.sent = s.marks[:same], v
	for i := same; i < v.n; i++ {
		marks := p.shows(v, i)
		for _, mark := range marks {
			s.count[mark]++
		}
		s.marks = append(s.marks, marks)
	}
}

// shows are the marks of message i of what is sent.
func (p *player) shows(v *view, i int) (marks []uint64) {
	if v.of == nil {
		return p.memory.marks[i]
	}
	if m := v.original(p.walk.whole, i); m >= 0 {
		return p.memory.marks[m]
	}
	for m, b := v.r.Transcript().Messages()[i], v.r.Transcript().Messages()[i].First; b < m.End; b++ {
		marks = append(marks, marksOf(v.r, b)...)
	}
	return marks
}

// again is for how many requests what was read again stays in sight.
const again = 10

// regret judges the calls that follow request k: was all that they used in sight? What was not is
// read again, at the price of one more request for each call, and carried along for a while.
func (s *showing) regret(p *player, k int, step *Step) {
	if step.Rewrote {
		clear(s.back) // cut again
	}
	seen := func(mark uint64) bool { return s.count[mark] > 0 || s.back[mark] > k }
	from, end := p.walk.reply(k)
	for i := from; i < end; i++ {
		for _, d := range p.memory.deeds[i] {
			missing := make(map[transcript.BlockID]bool)
			blind, unseen := false, false
			for _, n := range d.lines {
				if !seen(n.mark) {
					blind, missing[n.source] = true, true
				}
			}
			for _, n := range d.names {
				if !seen(n.mark) {
					unseen, missing[n.source] = true, true
				}
			}
			step.Blind, step.Unseen, step.Missed = step.Blind+one(blind), step.Unseen+one(unseen), step.Missed+one(blind || unseen)
			if len(missing) > 0 {
				u := s.fetch(p, k, step.Sent, missing)
				step.again = step.again.plus(u)
				step.regrets = append(step.regrets, p.regret(k, d, blind, missing, u))
			}
		}
	}
}

// A Regret is a call that needs something which is nowhere in sight in what was sent. Many goroutines
// may read it.
type Regret struct {
	Request int      `json:"request"` // whose reply the call is in, counted from 1
	Message int      `json:"message"` // with the call, counted from 0
	Call    string   `json:"call"`
	Tool    string   `json:"tool"`
	Edit    bool     `json:"edit"`    // it replaces lines that are not in sight
	Missing []string `json:"missing"` // the calls whose results are needed, or whose arguments are
	Money   float64  `json:"money"`   // for reading them again; zero: no list price
}

// regret enters a call that misses something.
func (p *player) regret(k int, d deed, blind bool, missing map[transcript.BlockID]bool, u usage) Regret {
	t := p.walk.whole.Transcript()
	name := func(b transcript.BlockID) (id, tool string) {
		if x := t.ExchangeOf(b); x >= 0 {
			return t.Exchanges()[x].CallID, t.Exchanges()[x].Tool
		}
		return "", ""
	}
	r := Regret{Request: k + 1, Message: t.Block(d.call).Message, Edit: blind, Money: p.price.Cost(p.setting.Cache, tokens.Usage(u))}
	r.Call, r.Tool = name(d.call)
	for _, b := range slices.Sorted(maps.Keys(missing)) {
		if id, _ := name(b); id != "" && !slices.Contains(r.Missing, id) {
			r.Missing = append(r.Missing, id)
		}
	}
	return r
}

// repeats counts the calls that had been made before and were answered in the same words: what the
// recorded agent has looked up again although it had it.
func repeats(r *wire.Request) (n int) {
	t := r.Transcript()
	seen := make(map[[3]string]bool)
	for _, x := range t.Exchanges() {
		if x.Call == transcript.NoBlock || len(x.Results) == 0 {
			continue
		}
		key := [3]string{x.Tool, string(wire.Arguments(t, x.Call)), string(t.Bytes(t.Block(x.Results[0]).Body))}
		n += one(seen[key])
		seen[key] = true
	}
	return n
}

// fetch brings blocks back into sight and returns what that is billed.
func (s *showing) fetch(p *player, k, sent int, missing map[transcript.BlockID]bool) usage {
	const call = 100 // tokens of a call that reads something
	u := usage{Read: sent, Written: call, Output: call}
	for b := range missing {
		u.Written += p.scale.text(p.blocks[b])
		u.Read += p.scale.text(p.blocks[b]) * min(again, p.walk.Len()-k-1)
		for _, mark := range p.memory.block[b] {
			s.back[mark] = k + again
		}
	}
	return u
}

// A usage can be added up.
type usage tokens.Usage

func (u usage) plus(v usage) usage {
	return usage{u.Input + v.Input, u.Read + v.Read, u.Written + v.Written, u.Output + v.Output}
}
