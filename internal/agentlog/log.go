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

// Options configure reading and repairing a file. The zero value detects the format and repairs the
// session for resuming it.
type Options struct {
	Format  Format // Auto detects it
	Profile string // of the rules; "" means those of the model in the file
	Model   string // for files that name none
	// HasByteOrderMark is true if a byte order mark precedes the bytes. Some agents do not open
	// such a file.
	HasByteOrderMark bool

	Repair wire.Repair
	// Check selects additional findings that Fix repairs.
	Check wire.CheckOptions
	// AppendOnly keeps every line and appends the repaired branch, if the format has branches.
	// Otherwise Fix returns ErrAppendOnly.
	AppendOnly bool
}

// A Kind is the role of a thread for the agent.
type Kind uint8

const (
	Main    Kind = iota // sent when the session is resumed
	Side                // a sub-agent's conversation
	Dormant             // no longer sent: precedes a compaction, or is an abandoned branch
)

func (k Kind) String() string { return [...]string{"main", "side", "dormant"}[k] }

// A Thread is one conversation of a file. It shares data with its Log and is not safe for
// concurrent use with it.
type Thread struct {
	Name string // "main", or a name from the format
	Kind Kind
	// Request is the thread as a request body of the dialect. It may end with a short prompt that
	// is not in the file, because the session continues with the user's next message.
	Request *wire.Request

	sources       []messageSource // by message of Request, without the prompt
	hasPrompt     bool            // Request ends with an added prompt
	pairsOnly     bool            // check only pairs, because the agent rebuilds everything else
	claude        *claudeThread
	counts        *pairCounts // of the conversation that the thread belongs to
	targetPercent int         // fill of the window after shortening, in percent
}

// A messageSource is the place in the file from which a message was built.
type messageSource struct {
	unit int
	// start is the offset of the message in the file, and shift the distance from the content in
	// the message to the content in the file. If start is -1, the message was assembled and
	// blockSpans holds the span of each block.
	start, shift int
	blockSpans   []jsonspan.Span
}

// Messages returns the number of messages of the thread that are in the file.
func (t *Thread) Messages() int { return len(t.sources) }

// A Log is one session file. It is not safe for concurrent use.
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

// A recentUnit caches the unit that was read last. A repair reads a unit once for each of its
// calls, which would take quadratic time without the cache (TestLinear).
type recentUnit struct {
	unit   int
	object object
	member string // name of inner
	inner  object
}

// A source holds the bytes of a file and the options for reading it.
type source struct {
	name     string
	raw      []byte
	options  Options
	original []byte       // the file, if raw was decoded from invalid UTF-8
	patches  []invalidRun // the differences between raw and original
	lines    []int        // offsets of the lines
}

// A layout holds the places of the records in a file.
type layout struct {
	units           []unit
	lists           []list       // lists of units, if the units are not lines
	owners          []int        // opencode: by unit of a part, the unit of its message
	files           []storedFile // the files of a folder
	sealed          map[int]bool // units with several messages, which must not change
	unterminated    bool         // the last line is complete but lacks its newline
	hasValidStrings bool         // all strings were validated and contain no half of a surrogate pair
}

// defects are the faults in the bytes and links of a file.
type defects struct {
	damage          []Finding
	missingNewlines []int       // offsets of missing newlines
	newParents      map[int]int // by unit without a valid parent: the parent to use instead
	duplicates      []int       // units that repeat an earlier one
	// Units that make the agent forget others: lines of other sessions and heads in the middle.
	strays      []int
	lostPrompts []lostPrompt // Codex: user input in torn lines
}

// A formatState holds results of one format's reader for its repairs.
type formatState struct {
	chatRecords []chatRecord // Gemini CLI: the resulting messages
	snapshotGap *snapshotGap // Gemini CLI: the place of a lost snapshot
	pi          *piTree      // pi: the tree of entries
	lastEventID int          // OpenHands: the highest event id
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

// setNewParent sets the parent to use for a unit without a valid one.
func (l *Log) setNewParent(u, to int) {
	l.newParents[u] = to
}

// sealUnit prevents changes of a unit.
func (l *Log) sealUnit(u int) {
	l.sealed[u] = true
}

// A list is a list whose elements are the units from first up to end.
type list struct {
	span       jsonspan.Span
	first, end int
}

// readList adds a unit for each element of the list at span.
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

// documentSpan returns the span of the single value in the file. If there is none, it reports
// damage and returns false.
func (l *Log) documentSpan() (jsonspan.Span, bool) {
	if at, ok := soleValue(l.raw); ok {
		return at, true
	}
	l.markUnreadable()
	return jsonspan.Span{}, false
}

// markUnreadable reports that nothing in the file can be read.
func (l *Log) markUnreadable() {
	l.damageAt(0, 1, "unreadable")
	l.markHarmful("its agent does not find the conversation in it")
}

// readListDocument reads a file that is one object with a list, as one thread. add appends an
// element of the list to the body and returns the element's model, or "".
func (l *Log) readListDocument(name string, add func(b *bodyBuilder, u int, item object, pairs *pairCounts) (model string)) {
	at, ok := l.documentSpan()
	if !ok {
		return
	}
	document := objectAt(l.raw, at)
	list, ok := document.Get(name)
	if !ok || l.raw[list.Start] != '[' {
		return
	}
	all := l.readList(list)
	pairs, model := newPairCounts(), ""
	b := l.newBodyBuilder(wire.Anthropic, "")
	for u := all.first; u < all.end; u++ {
		model = cmp.Or(add(b, u, l.object(u), pairs), model)
	}
	if len(b.parts) > 0 {
		l.addToTally(pairs, len(b.parts))
		l.addPairsThread("main", Main, model, b, pairs)
	}
}

// A formatReader reads a format. It also implements threadRepairer or unitWriter.
type formatReader interface {
	// read fills the units and threads of a log.
	read(*Log)
}

// A threadRepairer is a format with its own repair.
type threadRepairer interface {
	// repair collects the edits that remove the findings of a thread.
	repair(*edits, *Thread, Options) error
}

// A Tally counts the contents of all threads of a file.
type Tally struct {
	Conversations int
	Messages      int // lines with the same message id count once
	Calls         int
	Results       int
	OrphanCalls   int // calls without a result in their conversation
	OrphanResults int // results without a call in their conversation
}

func (l *Log) Tally() Tally { return l.tally }

// Raw returns the original bytes of the file.
func (s *source) Raw() []byte {
	if s.original != nil {
		return s.original
	}
	return s.raw
}

// Read reads one session file. Damage is not an error; the error for a file of no known agent wraps
// [ErrFormat]. The log retains raw, which must not change afterwards.
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
	case r.form == nil, f == OpenCode: // a folder
		return nil, fmt.Errorf("read %s: %w", name, ErrFormat)
	}
	l := newLog(f, newSource(name, raw, o))
	l.reader.read(l)
	l = l.readDecoded(r)
	if o.HasByteOrderMark {
		l.damageAt(0, 1, markRule)
		if r.readsByteOrderMark != nil && r.readsByteOrderMark(l) {
			l.markHarmless(readsMarkNote)
		}
	}
	return l, nil
}

// damageUnit reports damage of a unit.
func (l *Log) damageUnit(u int, rule string, ids ...string) {
	l.damageAt(l.units[u].span.Start, l.units[u].line, rule, ids...)
}

// damageAt reports damage of the file.
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

// markHarmful changes the last reported damage to one that keeps the session from being resumed
// properly, and adds the reason.
func (l *Log) markHarmful(why string) {
	f := &l.damage[len(l.damage)-1]
	f.Effect, f.Message = Refused, f.Message+"; "+why
}

// markHarmless changes the last reported damage to one that does not affect the agent, and adds the
// reason.
func (l *Log) markHarmless(why string) {
	f := &l.damage[len(l.damage)-1]
	means, _, _ := strings.Cut(f.Message, "; ")
	f.Effect, f.Message = Cosmetic, means+"; "+why
}

// moveToFile converts the place of a finding to its file in a folder.
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

// lineStart returns the offset of a line.
func (s *source) lineStart(line int) int {
	return s.lines[min(max(line, 1), len(s.lines))-1]
}

// position returns the line and column of an offset, both from one.
func (s *source) position(offset int) (line, column int) {
	i, found := slices.BinarySearch(s.lines, offset)
	if !found {
		i--
	}
	return i + 1, offset - s.lines[i] + 1
}
