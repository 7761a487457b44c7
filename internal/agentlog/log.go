package agentlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ErrFormat is wrapped by the error for a file of no known agent.
var ErrFormat = errors.New("not the session file of an agent that is known")

// Options says how to read and repair a file. The zero value detects the format and
// repairs for a session that is about to be resumed. Many goroutines may read it.
type Options struct {
	Format  Format // Auto: detect
	Profile string // whose rules apply; "": those of the model that the file names
	Model   string // used where the file names none
	// Marked: a byte order mark stood in front of the bytes. Some agents do not open a
	// file that has one.
	Marked bool

	Repair wire.Repair
	// Check says what Fix repairs beyond what the provider refuses.
	Check wire.CheckOptions
	// AppendOnly keeps every line that is there and adds the repaired branch behind
	// them, where the format can tell branches apart; else Fix returns
	// ErrAppendOnly.
	AppendOnly bool
}

// A Kind is what a thread is to the agent.
type Kind uint8

const (
	Main    Kind = iota // what is sent when the session is resumed
	Side                // a sub-agent's conversation
	Dormant             // no longer sent: before a compaction, or a branch that was left
)

func (k Kind) String() string { return [...]string{"main", "side", "dormant"}[k] }

// A Thread is one conversation of a file. It is part of its Log: one goroutine at a time
// may use them.
type Thread struct {
	Name string // "main", or what the format calls it
	Kind Kind
	// Request is the thread as a body of the provider's dialect. It may end with a
	// short prompt that is not in the file: a session goes on with what the user says
	// next.
	Request *wire.Request

	sources       []messageSource // by message of Request; without the prompt
	hasPrompt     bool            // Request ends with a prompt of ours
	pairsOnly     bool            // only pairs are checked: the agent writes everything else anew
	claude        *claudeThread
	counts        *pairCounts // of the conversation that a dormant part belongs to
	targetPercent int         // how full it is made when it is too long, in percent
}

// A part is the unit that a message comes from.
type messageSource struct {
	unit int
	// at is where the message's bytes begin in the file, and by how far the bytes of its
	// blocks lie behind their places in the message; at is -1 if they were put together:
	// blocks then says where each of its blocks stands.
	start, shift int
	blockSpans   []jsonspan.Span
}

// Messages returns how many messages of the thread are in the file.
func (t *Thread) Messages() int { return len(t.sources) }

// A Log is one session file. One goroutine at a time may use it.
type Log struct {
	Format  Format
	Threads []*Thread

	source
	layout
	defects
	formatState
	reader formatReader
	tally  Tally
	recent recentUnit
}

// A recentUnit caches the unit that was read last. A repair reads a unit once for each of its calls, which would
// take quadratic time without it (TestLinear).
type recentUnit struct {
	unit   int
	object object
	member string // of which inner is the value
	inner  object
}

// A source is the bytes of a file, and how to read them.
type source struct {
	name     string
	raw      []byte
	options  Options
	original []byte       // the file, if raw is what an agent reads of bytes that are no text
	patches  []invalidRun // and where they differ
	lines    []int        // where each line begins
}

// A layout is where the records of a file are.
type layout struct {
	units           []unit
	lists           []list       // that units are elements of, if they are not lines
	owners          []int        // opencode: by unit, that of the message that a part belongs to
	files           []storedFile // of a folder
	sealed          map[int]bool // units that hold more than one message, and are not changed
	unterminated    bool         // the last line is whole but lacks its newline
	hasValidStrings bool         // all strings were read strictly, and hold no half of a surrogate pair
}

// A defects is what is wrong with the bytes and the links of a file.
type defects struct {
	damage          []Finding
	missingNewlines []int        // where a newline is missing
	newParents      map[int]int  // units whose parents are not there, and what they are to hang on
	duplicates      []int        // units that repeat an earlier one
	strays          []int        // units that make the agent forget others: lines of another session, heads in the middle
	lostPrompts     []lostPrompt // Codex: what the user said in lines that are torn
}

// A formatState is what the reader of one format found for its repairs.
type formatState struct {
	chatRecords []chatRecord // Gemini CLI: the messages that are left
	snapshotGap *snapshotGap // Gemini CLI: where what was said before has to be said again
	pi          *piTree      // pi: its lines as it sees them
	lastEventID int          // OpenHands: the highest number of an event
}

func newSource(name string, raw []byte, o Options) source {
	s := source{name: name, raw: raw, options: o, lines: []int{0}}
	for at := bytes.IndexByte(raw, '\n'); at >= 0; {
		at++
		s.lines = append(s.lines, at)
		next := bytes.IndexByte(raw[at:], '\n')
		if next < 0 {
			break
		}
		at += next
	}
	return s
}

func newLog(f Format, from source) *Log {
	r, _ := f.spec()
	return &Log{
		Format: f, source: from, reader: r.form,
		layout: layout{sealed: make(map[int]bool)}, defects: defects{newParents: make(map[int]int)},
	}
}

// object returns the members of a unit.
func (l *Log) object(u int) object {
	if l.recent.unit != u || l.recent.object.Members == nil {
		l.recent = recentUnit{unit: u, object: objectAt(l.raw, l.units[u].span)}
	}
	return l.recent.object
}

// objectIn returns the members of an object in a unit.
func (l *Log) objectIn(u int, name string) object {
	o := l.object(u)
	if l.recent.member != name {
		l.recent.member, l.recent.inner = name, o.Object(name)
	}
	return l.recent.inner
}

// link says what a unit whose parent is not there is to hang on.
func (l *Log) setNewParent(u, to int) {
	l.newParents[u] = to
}

// seal keeps a unit from being changed.
func (l *Log) sealUnit(u int) {
	l.sealed[u] = true
}

// A list is a list of units: those from first up to end.
type list struct {
	span       jsonspan.Span
	first, end int
}

// readList makes units of the elements of the list at span.
func (l *Log) readList(at jsonspan.Span) list {
	out := list{span: at, first: len(l.units)}
	for _, e := range jsonspan.Elements(l.raw, at) {
		line, _ := l.position(e.Start)
		l.units = append(l.units, unit{span: e, line: line})
	}
	out.end = len(l.units)
	l.lists = append(l.lists, out)
	return out
}

// document returns the one value that the file is, or false with a finding.
func (l *Log) documentSpan() (jsonspan.Span, bool) {
	if at, ok := soleValue(l.raw); ok {
		return at, true
	}
	l.markUnreadable()
	return jsonspan.Span{}, false
}

// lose notes that nothing of the file can be read: there is no session to go on with.
func (l *Log) markUnreadable() {
	l.damageAt(0, 1, "unreadable")
	l.markHarmful("its agent does not find the conversation in it")
}

// readItems reads a file that is one object with a list, as one thread: add puts an element of the
// list into the body and says which model it names, if any.
func (l *Log) readListDocument(name string, add func(b *bodyBuilder, u int, item object, k *pairCounts) (model string)) {
	at, ok := l.documentSpan()
	if !ok {
		return
	}
	whole := objectAt(l.raw, at)
	list, ok := whole.Get(name)
	if !ok || l.raw[list.Start] != '[' {
		return
	}
	all := l.readList(list)
	k, model := newPairCounts(), ""
	b := l.newBodyBuilder(wire.Anthropic, "")
	for u := all.first; u < all.end; u++ {
		model = cmp.Or(add(b, u, l.object(u), k), model)
	}
	if len(b.parts) > 0 {
		l.addToTally(k, len(b.parts))
		l.addPairsThread("main", Main, model, b, k)
	}
}

// A form reads a format. One that is no unitWriter is a threadRepairer.
type formatReader interface {
	// read fills units and threads.
	read(*Log)
}

// A threadRepairer is a form with a repair of its own.
type threadRepairer interface {
	// repair changes what must be changed to make the findings of a thread go.
	repair(*edits, *Thread, Options) error
}

// A Tally counts what a file holds, all threads together. Many goroutines may read it.
type Tally struct {
	Conversations int
	Messages      int // lines with one message id count once
	Calls         int
	Results       int
	OrphanCalls   int // calls whose id no result of the conversation has
	OrphanResults int // results whose id no call of the conversation has
}

// Tally returns the counts of the file.
func (l *Log) Tally() Tally { return l.tally }

// Raw returns the bytes of the file.
func (s *source) Raw() []byte {
	if s.original != nil {
		return s.original
	}
	return s.raw
}

// Read reads one session file. It never fails on damage, only on files that no
// known agent has written; its error then wraps [ErrFormat]. The log keeps raw,
// which must not change afterwards.
func Read(name string, raw []byte, o Options) (*Log, error) {
	f := o.Format
	if f == Auto {
		var ok bool
		if f, ok = Detect(name, raw); !ok {
			return nil, fmt.Errorf("read %s: %w", name, ErrFormat)
		}
	}
	r, _ := f.spec()
	switch {
	case r.form == nil && r.maker != "":
		return nil, fmt.Errorf("read %s: %w", name, &UnreadError{f})
	case r.form == nil, f == OpenCode: // it keeps a folder
		return nil, fmt.Errorf("read %s: %w", name, ErrFormat)
	}
	l := newLog(f, newSource(name, raw, o))
	l.reader.read(l)
	l = l.readDecoded(r)
	if o.Marked {
		l.damageAt(0, 1, markRule)
		if r.readsByteOrderMark != nil && r.readsByteOrderMark(l) {
			l.markHarmless(readsMarkNote)
		}
	}
	return l, nil
}

// damageUnit notes something that is wrong with a unit.
func (l *Log) damageUnit(u int, rule string, ids ...string) {
	l.damageAt(l.units[u].span.Start, l.units[u].line, rule, ids...)
}

// damageAt notes something that is wrong with the file itself.
func (l *Log) damageAt(offset, line int, rule string, ids ...string) {
	if ids == nil {
		ids = []string{}
	}
	f := Finding{Offset: offset, Line: line, Physical: true, unit: -1, logOffset: offset}
	d := damageRules[rule]
	f.Rule, f.Message, f.IDs, f.Source = rule, d.message, ids, "agentlog/"+rule
	f.Effect, f.Advice, f.Instead = d.effect, d.adviceOnly, d.advice
	f.Index, f.Block = -1, transcript.NoBlock
	f.Path = fmt.Sprintf("line.%d", line)
	f.Column = offset - l.lineStart(line) + 1
	if l.files != nil {
		l.moveToFile(&f)
	}
	l.damage = append(l.damage, f)
}

// worsen says that the damage that was noted last keeps the session from being resumed as it
// should be, and why.
func (l *Log) markHarmful(why string) {
	f := &l.damage[len(l.damage)-1]
	f.Effect, f.Message = Refused, f.Message+"; "+why
}

// soften says that the damage that was noted last is none to the agent, and why.
func (l *Log) markHarmless(why string) {
	f := &l.damage[len(l.damage)-1]
	means, _, _ := strings.Cut(f.Message, "; ")
	f.Effect, f.Message = Cosmetic, means+"; "+why
}

// inFile tells the place of a finding in the file of a folder.
func (l *Log) moveToFile(f *Finding) {
	at := l.fileAt(f.Offset)
	f.File = at.path
	first, _ := l.position(at.span.Start)
	line, column := l.position(f.Offset)
	f.Line, f.Column, f.Offset = line-first+1, column, f.Offset-at.span.Start
	if f.Physical {
		f.Path = f.File
	}
}

// lineStart returns where a line begins.
func (s *source) lineStart(line int) int {
	return s.lines[min(max(line, 1), len(s.lines))-1]
}

// position returns line and column of an offset, both counted from one.
func (s *source) position(offset int) (line, column int) {
	i, found := slices.BinarySearch(s.lines, offset)
	if !found {
		i--
	}
	return i + 1, offset - s.lines[i] + 1
}

// promptText is what a thread that ends with the assistant is continued with, so
// that the check sees what the agent will send.
const promptText = "Continue."

// A bodyBuilder puts the messages of a thread together.
type bodyBuilder struct {
	dialect wire.Dialect
	body    []byte
	parts   []messageSource
}

func (l *Log) newBodyBuilder(dialect wire.Dialect, model string) *bodyBuilder {
	b := new(bodyBuilder)
	b.begin(dialect, model)
	return b
}

// begin writes what stands in front of the messages.
func (b *bodyBuilder) begin(dialect wire.Dialect, model string) {
	b.dialect = dialect
	b.body = append(b.body, '{')
	if model != "" && !wirex.ModelInURL(dialect) {
		b.body = append(append(append(b.body, `"model":`...), quote(model)...), ',')
	}
	b.body = append(append(append(b.body, '"'), dialect.List()...), `":[`...)
}

// reserve makes room for so many bytes of messages: growing by and by would take several
// times the memory.
func (b *bodyBuilder) reserve(n int) { b.body = slices.Grow(b.body, n+64) }

func (b *bodyBuilder) appendComma() {
	if b.body[len(b.body)-1] != '[' {
		b.body = append(b.body, ',')
	}
}

// copy adds a message as it lies in the file.
func (b *bodyBuilder) appendVerbatim(unit int, raw []byte, at jsonspan.Span) {
	b.appendComma()
	b.body = append(b.body, raw[at.Start:at.End]...)
	b.parts = append(b.parts, messageSource{unit: unit, start: at.Start, shift: at.Start})
}

// say adds what is sent of a message that an agent keeps with members of its own: who
// speaks, and the content as it lies in the file.
func (b *bodyBuilder) appendContent(unit int, raw []byte, at jsonspan.Span, role string, content jsonspan.Span) {
	b.appendComma()
	start := len(b.body)
	b.body = append(append(append(b.body, `{"role":"`...), role...), `","content":`...)
	by := content.Start - (len(b.body) - start)
	b.body = append(append(b.body, raw[content.Start:content.End]...), '}')
	b.parts = append(b.parts, messageSource{unit: unit, start: at.Start, shift: by})
}

// put adds a message that was put together; blocks says where in the file each of
// its blocks comes from.
func (b *bodyBuilder) appendBuilt(unit int, message []byte, blocks []jsonspan.Span) {
	b.appendComma()
	b.body = append(b.body, message...)
	b.parts = append(b.parts, messageSource{unit: unit, start: -1, blockSpans: blocks})
}

// thread parses what was put together. A body that cannot be parsed is reported,
// and has no thread: everything in it was read as JSON before.
func (l *Log) addThread(name string, kind Kind, d wire.Dialect, model string, b *bodyBuilder, prompt []byte) *Thread {
	t := &Thread{Name: name, Kind: kind, sources: b.parts, targetPercent: 50}
	if row, _ := l.Format.spec(); row.targetPercent > 0 {
		t.targetPercent = row.targetPercent
	}
	if prompt != nil {
		b.appendComma()
		b.body = append(b.body, prompt...)
		t.hasPrompt = true
	}
	b.body = append(b.body, "]}"...)
	if l.options.Model != "" && model == "" {
		model = l.options.Model
	}
	r, err := wire.Parse(b.body, wire.Options{Dialect: d, Profile: l.options.Profile, Model: model, Structural: l.hasValidStrings})
	if err != nil {
		first := l.units[b.parts[0].unit]
		l.damageAt(first.span.Start, first.line, "unreadable")
		return nil
	}
	t.Request = r
	l.Threads = append(l.Threads, t)
	return t
}

// A talk counts the calls and results of one conversation by id.
type pairCounts struct {
	calls, results map[string]int
}

func newPairCounts() *pairCounts {
	return &pairCounts{make(map[string]int), make(map[string]int)}
}

// written makes a thread of what was put together, if anything was, for an agent that writes its
// requests anew from a form of its own: only pairs are checked.
func (l *Log) addPairsThread(name string, kind Kind, model string, b *bodyBuilder, k *pairCounts) {
	if len(b.parts) == 0 {
		return
	}
	if t := l.addThread(name, kind, b.dialect, model, b, nil); t != nil {
		t.pairsOnly, t.counts = true, k
	}
}

// count adds a conversation to the tally.
func (l *Log) addToTally(k *pairCounts, messages int) {
	l.tally.Conversations++
	l.tally.Messages += messages
	for id, n := range k.calls {
		l.tally.Calls += n
		l.tally.OrphanCalls += countUnmatched(id, n, k.results[id])
	}
	for id, n := range k.results {
		l.tally.Results += n
		l.tally.OrphanResults += countUnmatched(id, n, k.calls[id])
	}
}

// unmatched returns how many of n halves have no other half. An id may be used
// again; without one, halves are counted off.
func countUnmatched(id string, n, others int) int {
	switch {
	case id == "":
		return max(0, n-others)
	case others == 0:
		return n
	}
	return 0
}
