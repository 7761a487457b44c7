package agentlog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// claude reads the transcripts of Claude Code. Lines with a uuid form a tree by
// parentUuid. What is sent on resume is the path from the newest leaf to its root,
// a compaction boundary being a root, and besides it the parallel calls of the
// messages on it, with their results: these sit on side branches, because each
// line of a message is the parent of its own result.
type claude struct{}

var claudeRow = row{
	format: ClaudeCode, name: "claude-code", maker: "Claude Code", dialect: wire.Anthropic, form: claude{},
	line: claudeLine, marked: claudeMarked, lenient: true, settles: claudeSettles,
	usage: usageAt("message.usage", []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}, []string{"output_tokens"}),
}

// claudeMarked: from 2.0 on a byte order mark is passed over; 1.0 does not read the line behind
// it.
func claudeMarked(l *Log) bool { return claudeSince(l, 2) }

// claudeSettles: a reply that was stopped before the model had done anything but think is not
// sent.
func claudeSettles(l *Log, t *Thread, f wire.Finding) bool {
	if f.Rule != "thinking-last" || !claudeSince(l, 2, 1, 7) {
		return false
	}
	reply := func(i int) string { return l.object(t.parts[i].unit).Object("message").Text("id") }
	done := func(b transcript.Block) bool { return b.Kind != transcript.Thinking }
	tr := t.Request.Transcript()
	ms := tr.Messages()
	for i := f.Index; i >= 0 && ms[i].Turn == ms[f.Index].Turn; i-- { // a line for each block
		if reply(i) == reply(f.Index) && slices.ContainsFunc(tr.Blocks()[ms[i].First:ms[i].End], done) {
			return false
		}
	}
	return true
}

// claudeSince reports whether the session goes on with a version or a later one. The last line
// that tells one tells which.
func claudeSince(l *Log, version ...int) bool {
	for u := len(l.units) - 1; u >= 0; u-- {
		if v := l.object(u).Text("version"); v != "" {
			var got []int
			for part := range strings.SplitSeq(v, ".") {
				n, err := strconv.Atoi(part)
				if err != nil {
					break
				}
				got = append(got, n)
			}
			return slices.Compare(got, version) >= 0
		}
	}
	return false
}

func claudeLine(o object) evidence {
	kind := o.Kind()
	m := o.Object("message")
	switch {
	case m.Has("parts"), kind == "tool_result", kind == "system" && qwenLine(o) != silent:
		return silent // qwen-code
	case (kind == "user" || kind == "assistant") && m.Has("content") && (o.Has("sessionId") || o.Has("uuid") && o.Has("parentUuid")),
		o.Has("leafUuid") && kind == "summary",
		kind == "file-history-snapshot" && o.Has("messageId"):
		return proof
	case o.Has("parentUuid") && o.Has("sessionId"), o.Has("uuid") && o.Has("parentUuid"),
		(kind == "user" || kind == "assistant") && o.Has("message") && o.Has("sessionId"):
		return hint
	}
	return silent
}

// An entry is what a line of Claude Code says.
type entry struct {
	kind, subtype string
	uuid, parent  string
	agent, stamp  string
	session       string
	leaf          string // of a last-prompt: the line to go on at
	explicit      bool   // even if others come after that line
	linked        bool   // it has a uuid and takes part in the tree
	side          bool
	entryMessage
}

// An entryMessage is what the message of a line says.
type entryMessage struct {
	message        jsonspan.Span // empty if there is none
	content        jsonspan.Span
	assistant      bool
	id, model      string
	calls, results []string
	speaks         bool // holds something that is no result
	counts         bool // has a message, readable or not
	blank          bool // the assistant says nothing but white space
}

// A ccChain is the tree of a Claude Code file.
type ccChain struct {
	entries []entry        // by unit
	index   map[string]int // the last unit of a uuid
	path    []int          // units on the walk from the leaf, root first
	named   int            // the line that names the leaf, where no other would lead there; -1: none
	kept    *ccKept        // what a compaction has kept of what stands in front of it; nil: nothing
	astray  map[int]string // lines of results that hang on a lost line
	callers map[string]int // by call id: the unit that makes it
}

func (e *entry) speaking() bool { return e.message.Len() > 0 }

// chained reports whether the agent follows links over the line: of lines of other types it is
// not known.
func (e *entry) chained() bool {
	return e.kind == "user" || e.kind == "assistant" || e.kind == "system" || e.kind == "attachment"
}

func (c claude) read(l *Log) {
	es := l.readClaude()
	index := make(map[string]int, len(es))
	for i := range es {
		if !es[i].linked {
			continue
		}
		if o, ok := index[es[i].uuid]; ok {
			l.repeatedUUID(o, i)
			if n := len(l.copies); n > 0 && l.copies[n-1] == i {
				es[i] = entry{kind: "copy"}
				continue
			}
		}
		index[es[i].uuid] = i
	}
	t := newClaudeTree(l, es, index)
	t.findStrays()
	t.threads(false)
	t.threads(true)
	for i := range es {
		if (es[i].kind == "user" || es[i].kind == "assistant") && !es[i].speaking() {
			l.damageUnit(i, "skipped-message")
		}
	}
}

// repeatedUUID files a line that carries the uuid of an earlier one: a copy, or
// another line.
func (l *Log) repeatedUUID(first, again int) {
	a, b := l.units[first].span, l.units[again].span
	if string(l.raw[a.Start:a.End]) == string(l.raw[b.Start:b.End]) {
		l.copies = append(l.copies, again)
		l.damageAt(b.Start, l.units[again].line, "duplicate-line")
		return
	}
	l.damageAt(b.Start, l.units[again].line, "duplicate-uuid")
}

// sent reports whether the agent sends the message. It keeps its own error notes out
// of requests, and lines of the model that are blank.
func (e *entry) sent() bool { return e.speaking() && e.model != "<synthetic>" && !e.blank }

// threads makes the threads of the main list or of the side chains.
func (t *ccTree) threads(side bool) {
	n, pairs := 0, 0
	for i := range t.entries {
		if e := &t.entries[i]; e.side == side && e.counts {
			n++
			pairs += len(e.calls)
		}
	}
	if n == 0 {
		return
	}
	all, messages := newTalk(), 0
	ids, last := make(map[string]int), ""
	mine := make([]int, 0, n)
	for i := range t.entries {
		e := &t.entries[i]
		if e.side != side || !e.counts {
			continue
		}
		if e.id == "" {
			messages++
		} else if e.id != last { // lines of one message mostly follow each other
			if ids[e.id]++; ids[e.id] == 1 {
				messages++
			}
			last = e.id
		}
		if !e.speaking() {
			continue
		}
		mine = append(mine, i)
		for _, id := range e.calls {
			all.calls[id]++
		}
		for _, id := range e.results {
			all.results[id]++
		}
	}
	if len(mine) == 0 {
		return
	}
	t.l.count(all, messages)
	if side {
		for _, group := range t.agents(mine) {
			t.live(group, "side "+t.nameOf(group), Side, all)
		}
	} else {
		t.live(t.own(mine), "main", Main, all)
	}
	t.dormant(mine, side, all)
}

// nameOf names a sub-agent's conversation after its id or its first line.
func (t *ccTree) nameOf(group []int) string {
	if a := t.entries[group[0]].agent; a != "" {
		return a
	}
	return fmt.Sprintf("line %d", t.l.units[group[0]].line)
}

// agents groups the lines of side chains: by the agent's id, or by their root.
func (t *ccTree) agents(mine []int) [][]int {
	byKey := make(map[string]int)
	var groups [][]int
	for _, i := range mine {
		key := "agent " + t.entries[i].agent
		if t.entries[i].agent == "" {
			key = fmt.Sprint("root ", t.rootOf(i))
		}
		g, ok := byKey[key]
		if !ok {
			g = len(groups)
			byKey[key] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// claudePrompt is what a session that ends with the assistant is continued with.
var claudePrompt = write("role", "user", "content", promptText)

// live makes the thread that is sent when the newest leaf of some lines is resumed.
func (t *ccTree) live(mine []int, name string, kind Kind, all *talk) {
	leaf, named := t.leafOf(mine), -1
	if kind == Main {
		leaf, named = t.checkpoint(leaf)
	}
	path := t.walk(leaf, len(mine)+1)
	path, kept := t.preserved(path)
	if path == nil { // lines without links are read as they stand
		path = mine
	}
	model := t.modelOf(path)
	if model == "" { // all that the model has said lies in front of a compaction
		model = t.modelOf(mine)
	}
	order, last := t.order(path, all), -1
	b := t.newBody(model, order, func(i int) bool { return t.entries[i].sent() })
	for _, i := range order {
		t.used[i] = true
		if t.entries[i].sent() {
			t.say(b, i)
			last = i
		}
	}
	if last < 0 {
		return
	}
	var prompt []byte
	if t.entries[last].assistant && !t.callsAtEnd(b.parts) {
		prompt = claudePrompt
	}
	if th := t.l.thread(name, kind, wire.Anthropic, model, b, prompt); th != nil {
		th.tree, th.talk = &ccChain{entries: t.entries, index: t.index, callers: t.callers, path: path, named: named, kept: kept, astray: t.astray}, all
	}
}

// newBody makes room for the messages of some lines.
func (t *ccTree) newBody(model string, lines []int, wanted func(int) bool) *bodyBuilder {
	n, parts := 0, 0
	for _, i := range lines {
		if wanted(i) {
			n += t.entries[i].content.Len() + 32
			parts++
		}
	}
	b := t.l.newBody(wire.Anthropic, model)
	b.reserve(n)
	b.parts = make([]part, 0, parts)
	return b
}

// say adds what is sent of a line: the program keeps ids, usage and more beside it.
func (t *ccTree) say(b *bodyBuilder, i int) {
	e := &t.entries[i]
	role := "user"
	if e.assistant {
		role = "assistant"
	}
	b.say(i, t.l.raw, e.message, role, e.content)
}

// callsAtEnd reports whether the assistant's last turn makes calls: they are open.
func (t *ccTree) callsAtEnd(parts []part) bool {
	for i := len(parts) - 1; i >= 0; i-- {
		e := &t.entries[parts[i].unit]
		if !e.assistant {
			return false
		}
		if len(e.calls) > 0 {
			return true
		}
	}
	return false
}

func (t *ccTree) modelOf(path []int) string {
	for k := len(path) - 1; k >= 0; k-- {
		if e := &t.entries[path[k]]; e.assistant && e.sent() && e.model != "" {
			return e.model
		}
	}
	return ""
}

// dormant makes one thread of what no other thread of the list holds.
func (t *ccTree) dormant(mine []int, side bool, all *talk) {
	name := "dormant"
	if side {
		name = "dormant side"
	}
	if !slices.ContainsFunc(mine, func(i int) bool { return !t.used[i] }) {
		return
	}
	b := t.newBody("", mine, func(i int) bool { return !t.used[i] })
	for _, i := range mine {
		if !t.used[i] {
			t.say(b, i)
		}
	}
	if th := t.l.thread(name, Dormant, wire.Anthropic, "", b, nil); th != nil {
		th.tree, th.talk = &ccChain{entries: t.entries, index: t.index, callers: t.callers, named: -1}, all
	}
}
