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

// claude reads the transcripts of Claude Code. Lines with a uuid form a tree by parentUuid. A
// resumed session sends the path from the newest leaf to its root, where a compaction boundary
// counts as a root. It also sends the parallel calls of the messages on that path, with their
// results. Those are on side branches, because each line of a message is the parent of its own
// result.
type claude struct{}

var claudeRow = formatSpec{
	format: ClaudeCode, name: "claude-code", maker: "Claude Code", dialect: wire.Anthropic, form: claude{},
	lineEvidence: claudeLine, readsByteOrderMark: claudeReadsMark, lenientUTF8: true, repairsItself: claudeRepairsItself,
	unitUsage: usageAt("message.usage", []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}, []string{"output_tokens"}),
}

// claudeReadsMark reports whether the agent ignores a byte order mark. Version 2.0 and later do;
// 1.0 does not read the line with the mark.
func claudeReadsMark(l *Log) bool { return isClaudeSince(l, 2) }

// claudeRepairsItself reports whether Claude Code itself omits the faulty message. Since 2.1.7 it
// does not send a reply that was stopped while the model was still thinking.
func claudeRepairsItself(l *Log, t *Thread, f wire.Finding) bool {
	if f.Rule != "thinking-last" || !isClaudeSince(l, 2, 1, 7) {
		return false
	}
	reply := func(i int) string { return l.object(t.sources[i].unit).Object("message").Text("id") }
	done := func(b transcript.Block) bool { return b.Kind != transcript.Thinking }
	tr := t.Request.Transcript()
	ms := tr.Messages()
	for i := f.Index; i >= 0 && ms[i].Turn == ms[f.Index].Turn; i-- { // each block has its own line
		if reply(i) == reply(f.Index) && slices.ContainsFunc(tr.Blocks()[ms[i].First:ms[i].End], done) {
			return false
		}
	}
	return true
}

// isClaudeSince reports whether the session was last written by the given version or a later one.
func isClaudeSince(l *Log, version ...int) bool {
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
	case m.Has("parts"), kind == "tool_result", kind == "system" && qwenLine(o) != noEvidence:
		return noEvidence // qwen-code
	case (kind == "user" || kind == "assistant") && m.Has("content") && (o.Has("sessionId") || o.Has("uuid") && o.Has("parentUuid")),
		o.Has("leafUuid") && kind == "summary",
		kind == "file-history-snapshot" && o.Has("messageId"):
		return strongEvidence
	case o.Has("parentUuid") && o.Has("sessionId"), o.Has("uuid") && o.Has("parentUuid"),
		(kind == "user" || kind == "assistant") && o.Has("message") && o.Has("sessionId"):
		return weakEvidence
	}
	return noEvidence
}

// A claudeEntry holds the members of one line of Claude Code that matter here.
type claudeEntry struct {
	kind, subtype    string
	uuid, parent     string
	agent, timestamp string
	session          string
	leafUUID         string // of a last-prompt line: the uuid of the line to resume from
	isExplicit       bool   // resume there even if other lines follow
	inTree           bool   // has a uuid and is a node of the tree
	isSide           bool
	entryMessage
}

// An entryMessage holds the members of the message of a line.
type entryMessage struct {
	message        jsonspan.Span // empty if the line has no valid message
	content        jsonspan.Span
	isAssistant    bool
	id, model      string
	calls, results []string
	hasNonResult   bool // has a block other than a result
	isMessage      bool // has a message, valid or not
	isBlank        bool // the assistant's text is only white space
}

// A claudeThread is a thread of a Claude Code file, with the tree of the file.
type claudeThread struct {
	entries []claudeEntry  // by unit
	index   map[string]int // by uuid: the last unit
	path    []int          // units from the root to the leaf
	// The unit whose leafUUID selected the leaf; -1 if the links alone lead there.
	leafNamer     int
	preserved     *preservedLines // lines that a compaction preserved; nil if none
	orphanResults map[int]string  // result lines whose parent is lost
	callers       map[string]int  // by call id: the unit with the call
}

func (e *claudeEntry) hasMessage() bool { return e.message.Len() > 0 }

// isChained reports whether the agent follows links through the line. For other types of lines this
// is not known.
func (e *claudeEntry) isChained() bool {
	return e.kind == "user" || e.kind == "assistant" || e.kind == "system" || e.kind == "attachment"
}

func (c claude) read(l *Log) {
	es := l.readClaude()
	index := make(map[string]int, len(es))
	for i := range es {
		if !es[i].inTree {
			continue
		}
		if o, ok := index[es[i].uuid]; ok {
			l.repeatedUUID(o, i)
			if n := len(l.duplicates); n > 0 && l.duplicates[n-1] == i {
				es[i] = claudeEntry{kind: "copy"}
				continue
			}
		}
		index[es[i].uuid] = i
	}
	t := newClaudeTree(l, es, index)
	t.findStrays()
	t.addThreads(false)
	t.addThreads(true)
	for i := range es {
		if (es[i].kind == "user" || es[i].kind == "assistant") && !es[i].hasMessage() {
			l.damageUnit(i, "skipped-message")
		}
	}
}

// repeatedUUID reports a line with the uuid of an earlier line: either a copy or a different line.
func (l *Log) repeatedUUID(first, repeated int) {
	a, b := l.units[first].span, l.units[repeated].span
	if string(l.raw[a.Start:a.End]) == string(l.raw[b.Start:b.End]) {
		l.duplicates = append(l.duplicates, repeated)
		l.damageAt(b.Start, l.units[repeated].line, "duplicate-line")
		return
	}
	l.damageAt(b.Start, l.units[repeated].line, "duplicate-uuid")
}

// isSent reports whether the agent sends the message. It omits its own error notes and blank
// replies.
func (e *claudeEntry) isSent() bool { return e.hasMessage() && e.model != "<synthetic>" && !e.isBlank }

// addThreads adds the threads of the main chain or of the side chains.
func (t *claudeTree) addThreads(side bool) {
	n, pairs := 0, 0
	for i := range t.entries {
		if e := &t.entries[i]; e.isSide == side && e.isMessage {
			n++
			pairs += len(e.calls)
		}
	}
	if n == 0 {
		return
	}
	all, messages := newPairCounts(), 0
	ids, last := make(map[string]int), ""
	candidates := make([]int, 0, n)
	for i := range t.entries {
		e := &t.entries[i]
		if e.isSide != side || !e.isMessage {
			continue
		}
		if e.id == "" {
			messages++
		} else if e.id != last { // the lines of one message are mostly adjacent
			if ids[e.id]++; ids[e.id] == 1 {
				messages++
			}
			last = e.id
		}
		if !e.hasMessage() {
			continue
		}
		candidates = append(candidates, i)
		for _, id := range e.calls {
			all.calls[id]++
		}
		for _, id := range e.results {
			all.results[id]++
		}
	}
	if len(candidates) == 0 {
		return
	}
	t.file.addToTally(all, messages)
	if side {
		for _, group := range t.agentGroups(candidates) {
			t.addLiveThread(group, "side "+t.agentName(group), Side, all)
		}
	} else {
		t.addLiveThread(t.ownLines(candidates), "main", Main, all)
	}
	t.addDormantThread(candidates, side, all)
}

// agentName names the conversation of a sub-agent after its id or its first line.
func (t *claudeTree) agentName(group []int) string {
	if a := t.entries[group[0]].agent; a != "" {
		return a
	}
	return fmt.Sprintf("line %d", t.file.units[group[0]].line)
}

// agentGroups groups side-chain lines by the id of their agent or, without one, by their root.
func (t *claudeTree) agentGroups(candidates []int) [][]int {
	byKey := make(map[string]int)
	var groups [][]int
	for _, i := range candidates {
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

// claudePrompt continues a session that ends with a reply.
var claudePrompt = write("role", "user", "content", promptText)

// addLiveThread adds the thread that the agent sends when it resumes from the newest leaf of the
// given lines.
func (t *claudeTree) addLiveThread(candidates []int, name string, kind Kind, all *pairCounts) {
	leaf, named := t.leafOf(candidates), -1
	if kind == Main {
		leaf, named = t.resumePoint(leaf)
	}
	path := t.pathTo(leaf, len(candidates)+1)
	path, kept := t.insertPreserved(path)
	if path == nil { // lines without links are in file order
		path = candidates
	}
	model := t.lastModel(path)
	if model == "" { // all replies precede a compaction
		model = t.lastModel(candidates)
	}
	order, last := t.sendOrder(path, all), -1
	b := t.newBodyBuilder(model, order, func(i int) bool { return t.entries[i].isSent() })
	for _, i := range order {
		t.used[i] = true
		if t.entries[i].isSent() {
			t.appendEntry(b, i)
			last = i
		}
	}
	if last < 0 {
		return
	}
	var prompt []byte
	if t.entries[last].isAssistant && !t.endsWithCalls(b.parts) {
		prompt = claudePrompt
	}
	if th := t.file.addThread(name, kind, model, b, prompt); th != nil {
		th.claude, th.counts = &claudeThread{entries: t.entries, index: t.index, callers: t.callers, path: path, leafNamer: named, preserved: kept, orphanResults: t.orphanResults}, all
	}
}

// newBodyBuilder returns a builder with room for the wanted lines.
func (t *claudeTree) newBodyBuilder(model string, lines []int, wanted func(int) bool) *bodyBuilder {
	n, parts := 0, 0
	for _, i := range lines {
		if wanted(i) {
			n += t.entries[i].content.Len() + 32
			parts++
		}
	}
	b := t.file.newBodyBuilder(wire.Anthropic, model)
	b.reserve(n)
	b.parts = make([]messageSource, 0, parts)
	return b
}

// appendEntry adds the sent part of a line's message, without ids, usage and other members.
func (t *claudeTree) appendEntry(b *bodyBuilder, i int) {
	e := &t.entries[i]
	role := "user"
	if e.isAssistant {
		role = "assistant"
	}
	b.appendContent(i, t.file.raw, e.message, role, e.content)
}

// endsWithCalls reports whether the last turn of the assistant has calls, which are then open.
func (t *claudeTree) endsWithCalls(parts []messageSource) bool {
	for i := len(parts) - 1; i >= 0; i-- {
		e := &t.entries[parts[i].unit]
		if !e.isAssistant {
			return false
		}
		if len(e.calls) > 0 {
			return true
		}
	}
	return false
}

func (t *claudeTree) lastModel(path []int) string {
	for k := len(path) - 1; k >= 0; k-- {
		if e := &t.entries[path[k]]; e.isAssistant && e.isSent() && e.model != "" {
			return e.model
		}
	}
	return ""
}

// addDormantThread adds one thread with the lines that no other thread contains.
func (t *claudeTree) addDormantThread(candidates []int, side bool, all *pairCounts) {
	name := "dormant"
	if side {
		name = "dormant side"
	}
	if !slices.ContainsFunc(candidates, func(i int) bool { return !t.used[i] }) {
		return
	}
	b := t.newBodyBuilder("", candidates, func(i int) bool { return !t.used[i] })
	for _, i := range candidates {
		if !t.used[i] {
			t.appendEntry(b, i)
		}
	}
	if th := t.file.addThread(name, Dormant, "", b, nil); th != nil {
		th.claude, th.counts = &claudeThread{entries: t.entries, index: t.index, callers: t.callers, leafNamer: -1}, all
	}
}
