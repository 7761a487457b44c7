package agentlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// openCode reads the storage folder of opencode: a file for each message and each part. A tool part
// holds a call and, after the call has ended, its result. A part that is still pending or running
// when the session is resumed is a call that will never be answered.
type openCode struct{}

// openCodeRow has no evidence, because the format is a folder.
var openCodeRow = formatSpec{format: OpenCode, name: "opencode", maker: "opencode", dialect: wire.Anthropic, form: openCode{}, lenientUTF8: true}

// A File is one file of a folder.
type File struct {
	Path string
	Raw  []byte
}

// A storedFile is the place of a folder's file in the bytes of the log.
type storedFile struct {
	path  string
	span  jsonspan.Span
	wrong int // offset of the first invalid UTF-8 plus one; 0 if none
}

// object returns the span of the object that the file consists of. marked is true if a byte order
// mark precedes it.
func (s storedFile) object(raw []byte) (at jsonspan.Span, marked, ok bool) {
	all, marked := bytes.CutPrefix(raw[s.span.Start:s.span.End], byteOrderMark)
	at, ok = wholeObject(all)
	start := s.span.End - len(all)
	return jsonspan.Span{Start: start + at.Start, End: start + at.End}, marked, ok
}

// firstObject returns the span of an object at the start of the file. More data follows if a
// shorter file overwrote a longer one, or after a crash that left null bytes.
func (s storedFile) firstObject(raw []byte) (at jsonspan.Span, ok bool) {
	all := bytes.TrimPrefix(raw[s.span.Start:s.span.End], byteOrderMark)
	at, ok = firstValue(all)
	start := s.span.End - len(all)
	return jsonspan.Span{Start: start + at.Start, End: start + at.End}, ok && all[at.Start] == '{'
}

// isSpoiltFile reports whether the file of a unit contains more than the unit.
func (l *Log) isSpoiltFile(u int) bool {
	if l.files == nil {
		return false
	}
	_, marked, ok := l.fileAt(l.units[u].span.Start).object(l.raw)
	return marked || !ok
}

// fileAt returns the file at an offset.
func (l *Log) fileAt(offset int) storedFile {
	i, found := slices.BinarySearchFunc(l.files, offset, func(s storedFile, at int) int { return cmp.Compare(s.span.Start, at) })
	if !found {
		i--
	}
	return l.files[max(0, i)]
}

// ReadFolder reads the storage folder of opencode, or its parent folder. Each session is a thread.
// [Fixed.Files] holds the files that Fix changes.
func ReadFolder(fsys fs.FS, o Options) (*Log, error) {
	files, err := openCodeFiles(fsys)
	if err != nil {
		return nil, fmt.Errorf("read opencode storage: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read opencode storage: no messages: %w", ErrFormat)
	}
	return readFiles(files, o), nil
}

// openCodeFiles returns the files of messages and parts, in the current or the previous layout,
// sorted by name, and the unreadable files of sessions.
func openCodeFiles(fsys fs.FS) ([]File, error) {
	for _, root := range []string{".", "storage", "session", "storage/session"} {
		if info, err := fs.Stat(fsys, path.Join(root, "message")); err != nil || !info.IsDir() {
			continue
		}
		var files []File
		for _, kind := range []string{"message", "part"} {
			err := fs.WalkDir(fsys, path.Join(root, kind), func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || path.Ext(name) != ".json" {
					if errors.Is(err, fs.ErrNotExist) {
						return nil
					}
					return err
				}
				raw, err := fs.ReadFile(fsys, name)
				files = append(files, File{name, raw})
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		torn, err := tornSessions(fsys, root)
		return append(files, torn...), err
	}
	return nil, nil
}

// readFiles joins several files in one log.
func readFiles(files []File, o Options) *Log {
	var all []byte
	var places []storedFile
	for _, f := range files {
		start, wrong := len(all), 0
		raw, marked := bytes.CutPrefix(f.Raw, byteOrderMark)
		if marked {
			all = append(all, byteOrderMark...)
		}
		if text, patches := decodeInvalid(raw); patches != nil { // as opencode decodes it
			raw, wrong = text, len(all)-start+patches[0].at+1
		}
		all = append(append(all, raw...), '\n')
		places = append(places, storedFile{f.Path, jsonspan.Span{Start: start, End: len(all) - 1}, wrong})
	}
	l := newLog(OpenCode, newSource("opencode", all, o))
	l.files = places
	l.reader.read(l)
	return l
}

// An ocMessage is a message of a session with its parts.
type ocMessage struct {
	id, role string // the id is the name of the file
	object   object // for a torn file: its complete members
	parts    []int  // units
	torn     bool
}

// An ocSession is a session with its messages in order.
type ocSession struct {
	id       string
	messages []*ocMessage
}

func (c openCode) read(l *Log) {
	for _, s := range c.sessions(l) {
		c.addSession(l, s, "session "+s.id, "dormant "+s.id)
	}
}

// addSession adds a thread with the sent messages of a session and one with the others.
func (c openCode) addSession(l *Log, s *ocSession, main, dormant string) {
	pairs := newPairCounts()
	live, rest := l.newBodyBuilder(wire.Anthropic, ""), l.newBodyBuilder(wire.Anthropic, "")
	model := ""
	sent, hidden := c.splitAtCompaction(l, s)
	for _, m := range hidden {
		c.appendMessage(l, rest, m, pairs)
	}
	for _, m := range sent {
		o := m.object
		if !c.isSent(l, o, m) {
			c.appendMessage(l, rest, m, pairs)
			continue
		}
		model = cmp.Or(o.Text("modelID"), o.Object("model").Text("modelID"), model)
		c.appendMessage(l, live, m, pairs)
	}
	l.addToTally(pairs, len(s.messages))
	l.addPairsThread(main, Main, model, live, pairs)
	l.addPairsThread(dormant, Dormant, "", rest, pairs)
}

// An ocSorter groups the files of a storage into messages and sessions.
type ocSorter struct {
	file     *Log
	sessions map[string]*ocSession
	messages map[string][]*ocMessage // by file name
	renamed  map[int]int             // by unit: 1 for a part whose id differs from its file name
}

// sessions returns the sessions of a storage. It groups the files by their names, as opencode does.
func (openCode) sessions(l *Log) []*ocSession {
	sorter := ocSorter{l, make(map[string]*ocSession), make(map[string][]*ocMessage), make(map[int]int)}
	for _, f := range l.files {
		sorter.add(f)
	}
	return sorter.sorted()
}

// add adds a file and reports its damage.
func (s *ocSorter) add(f storedFile) {
	l := s.file
	at, marked, ok := f.object(l.raw)
	folder, name := path.Split(strings.TrimSuffix(f.path, ".json"))
	folder = path.Clean(folder)
	isMessage := path.Base(path.Dir(folder)) == "message"
	var torn *ocMessage
	if !ok {
		l.damageAt(f.span.Start, 1, "torn-file")
		if at, ok = f.firstObject(l.raw); !ok {
			if !isMessage {
				return
			}
			torn = tornMessage(name, l.raw[f.span.Start:f.span.End])
		}
	}
	if marked {
		l.damageAt(f.span.Start, 1, markRule)
		l.markHarmless(readsMarkNote) // seen by running 1.1
	}
	if f.wrong > 0 {
		line, _ := l.position(f.span.Start + f.wrong - 1)
		l.damageAt(f.span.Start+f.wrong-1, line, encodingRule)
		l.markHarmless(replacesBytesNote)
	}
	if torn != nil {
		s.addMessage(path.Base(folder), name, torn)
		return
	}
	l.units = append(l.units, unit{span: at, line: 1})
	o := objectAt(l.raw, at)
	switch {
	case isMessage && o.Has("role"):
		s.addMessage(path.Base(folder), name, newMessage(name, o))
	case !isMessage:
		u := len(l.units) - 1
		for _, m := range s.messages[path.Base(folder)] {
			m.parts = append(m.parts, u)
		}
		if name != o.Text("id") {
			s.renamed[u] = 1
		}
	}
}

func (s *ocSorter) addMessage(session, name string, m *ocMessage) {
	if s.sessions[session] == nil {
		s.sessions[session] = &ocSession{id: session}
	}
	s.messages[name] = append(s.messages[name], m)
	s.sessions[session].messages = append(s.sessions[session].messages, m)
}

// sorted returns the sessions, with messages and parts in the order in which opencode sends them.
func (s *ocSorter) sorted() []*ocSession {
	partID := func(u int) string { return s.file.object(u).Text("id") }
	isAssistantPart := func(u int) bool { return assistantParts[s.file.object(u).Text("type")] }
	all := slices.SortedFunc(maps.Values(s.sessions), func(a, b *ocSession) int { return cmp.Compare(a.id, b.id) })
	for _, session := range all {
		slices.SortFunc(session.messages, func(a, b *ocMessage) int { return cmp.Compare(a.id, b.id) })
		for _, m := range session.messages {
			if m.torn && !m.object.Has("role") && slices.ContainsFunc(m.parts, isAssistantPart) {
				m.role = "assistant"
			}
			slices.SortFunc(m.parts, func(a, b int) int {
				return cmp.Or(cmp.Compare(partID(a), partID(b)), cmp.Compare(s.renamed[a], s.renamed[b]))
			})
		}
	}
	return all
}

// appendMessage adds a message and the results in its parts. Each part becomes a separate message,
// so that a finding names its file.
func (openCode) appendMessage(l *Log, body *bodyBuilder, message *ocMessage, pairs *pairCounts) {
	type ended struct {
		messageBuilder
		unit int
	}
	var results []ended
	flush := func() {
		for _, r := range results {
			r.appendTo(body, r.unit, "user")
		}
		results = nil
	}
	for _, part := range message.parts {
		o, t := l.object(part), messageBuilder{counts: pairs}
		switch o.Text("type") {
		case "text":
			t.addText(o.Value("text"), o.Span)
			t.appendTo(body, part, message.role)
		case "step-start": // results of the previous step are sent first
			flush()
		case "tool":
			if message.role != "assistant" { // not sent
				continue
			}
			id, state := o.Text("callID"), o.Object("state")
			t.addCall(id, o.Text("tool"), state.Value("input"), o.Span)
			t.appendTo(body, part, "assistant")
			status := state.Text("status")
			name := map[string]string{"completed": "output", "error": "error"}[status]
			v, over := state.Get(name)
			if name == "" || !over { // opencode does not open an ended call without output
				continue
			}
			text := textBlocks(l.raw, v)
			if at := state.Object("time"); status == "completed" && at.Has("compacted") {
				text = [][]byte{textBlock(ocCleared)}
			}
			r := ended{messageBuilder{counts: pairs}, part}
			r.addResult(id, text, status == "error", o.Span)
			results = append(results, r)
		}
	}
	flush()
}

// ocCleared replaces outputs that opencode has pruned.
const ocCleared = "[Old tool result content cleared]"

// repair ends calls that are still running, with their output or with a stub.
func (c openCode) repair(e *edits, t *Thread, o Options) error {
	tr := t.Request.Transcript()
	ids := newCallIDs(tr)
	for _, finding := range e.file.checkThread(t, o.Check) {
		if finding.Rule != "orphan-call" && finding.Rule != "duplicate-call-id" || finding.Block == transcript.NoBlock || finding.Open && o.Repair.Open {
			continue
		}
		if e.file.isSpoiltFile(finding.unit) {
			continue // the next round, after the file is repaired
		}
		if o.AppendOnly {
			return ErrAppendOnly
		}
		part := e.file.object(finding.unit)
		if finding.Rule == "duplicate-call-id" {
			c.settleDuplicateID(e, t, &finding, part, ids)
			continue
		}
		text := stubText(o.Repair, tr, finding.Block)
		state, ok := part.Get("state")
		if !ok || e.file.raw[state.Start] != '{' { // opencode does not open a part without a state
			e.setMembers(finding.unit, "state", write("status", "error", "input", []byte("{}"), "error", text, "time", write("start", []byte("0"), "end", []byte("0"))))
			e.addChange(Change{Thread: t.Name, File: finding.File, Line: finding.Line, Change: wire.Change{Action: wire.ActionInsert, Rule: finding.Rule, IDs: finding.IDs, Bytes: len(text)}}, "a stub: %s", text)
			continue
		}
		s := objectAt(e.file.raw, state)
		start := s.Object("time").Value("start")
		if start == nil {
			start = []byte("0")
		}
		c := Change{Thread: t.Name, File: finding.File, Line: finding.Line}
		// The call has ended, but its state was not updated.
		if v, ok := s.Get("output"); ok && e.file.raw[v.Start] == '"' {
			end := s.Object("time").Value("end")
			if end == nil {
				end = start
			}
			pairs := []any{"status", "completed", "time", write("start", start, "end", end)}
			for _, must := range [][2]string{{"input", "{}"}, {"title", `""`}, {"metadata", "{}"}} {
				if !s.Has(must[0]) {
					pairs = append(pairs, must[0], []byte(must[1]))
				}
			}
			e.replaceSpan(finding.unit, state.Start, state.Len(), objectAt(e.file.raw, state).With(pairs...))
			e.addChange(c.with(wire.Change{Action: wire.ActionEdit, Rule: finding.Rule, IDs: finding.IDs}), "the output is there: the call has ended")
			continue
		}
		e.replaceSpan(finding.unit, state.Start, state.Len(), objectAt(e.file.raw, state).With("status", "error", "error", text, "time", write("start", start, "end", start)))
		e.addChange(c.with(wire.Change{Action: wire.ActionInsert, Rule: finding.Rule, IDs: finding.IDs, Bytes: len(text)}), "a stub: %s", text)
	}
	return nil
}

// settleDuplicateID handles a part whose call has the id of an earlier call. A copy becomes an
// empty part; a different call gets a new id.
func (c openCode) settleDuplicateID(e *edits, t *Thread, f *Finding, part object, ids *callIDs) {
	tr := t.Request.Transcript()
	x := tr.Exchanges()[tr.ExchangeOf(f.Block)]
	old := ids.first[x.CallID]
	if old == transcript.NoBlock || old == f.Block {
		return
	}
	said := func(x transcript.Exchange) (text string) {
		for _, r := range x.Results {
			text += t.Request.Text(r)
		}
		return text
	}
	if text := said(x); sameCall(tr, old, f.Block) && (text == "" || text == said(tr.Exchanges()[tr.ExchangeOf(old)])) {
		c.replaceByEmptyPart(e, t, f, part)
		return
	}
	id := ids.mint(x.CallID)
	e.setMembers(f.unit, "callID", id)
	e.addChange(Change{Thread: t.Name, File: f.File, Line: f.Line, Change: wire.Change{Action: wire.ActionRename, Rule: f.Rule, IDs: f.IDs, Bytes: len(id) - len(x.CallID)}}, "id %q becomes %q: another call has it", x.CallID, id)
}

// replaceByEmptyPart replaces a part that repeats a call by an empty one. Such copies usually come
// from a backup program.
func (openCode) replaceByEmptyPart(e *edits, t *Thread, f *Finding, part object) {
	raw := write("id", part.Text("id"), "sessionID", part.Text("sessionID"), "messageID", part.Text("messageID"), "type", "step-start")
	if name := strings.TrimSuffix(path.Base(f.File), ".json"); name != "" {
		raw = setMembers(raw, "id", name)
	}
	e.unit(f.unit).body = raw
	c := Change{Thread: t.Name, File: f.File, Line: f.Line}
	e.addChange(c.with(wire.Change{Action: wire.ActionDrop, Rule: f.Rule, IDs: f.IDs, Bytes: len(raw) - part.Span.Len()}), "a call that another file makes, too; a part that says nothing stands in its place")
	if state := part.Object("state"); state.Has("output") || state.Has("error") {
		e.addChange(c.with(wire.Change{Action: wire.ActionDrop, Rule: "duplicate-result", IDs: f.IDs}), "the result goes with its call")
	}
}

// finish replaces truncated and empty files. opencode does not open a session with one of them.
func (c openCode) finish(e *edits) {
	if e.appendOnly {
		return
	}
	var lost *ocContext
	for i, file := range e.file.files {
		raw := e.file.raw[file.span.Start:file.span.End]
		_, marked, ok := file.object(e.file.raw)
		if ok && !marked {
			continue
		}
		if ok {
			e.newFiles[i] = raw[len(byteOrderMark):]
			e.addChange(Change{File: file.path, Line: 1, Change: wire.Change{Action: wire.ActionEdit, Rule: markRule, Bytes: -len(byteOrderMark)}}, "the byte order mark goes")
			continue
		}
		if lost == nil {
			lost = c.readContext(e.file)
		}
		if preceding, ok := file.firstObject(e.file.raw); ok {
			e.newFiles[i] = e.file.raw[preceding.Start:preceding.End]
			e.addChange(Change{File: file.path, Line: 1, Change: wire.Change{Action: wire.ActionEdit, Rule: "torn-file", Bytes: len(e.newFiles[i]) - len(raw)}}, "what stands behind its object goes")
			continue
		}
		folder, name := path.Split(strings.TrimSuffix(file.path, ".json"))
		folder = strings.TrimSuffix(folder, "/")
		kind := "a part that says nothing stands in its place"
		switch path.Base(path.Dir(folder)) {
		case "message":
			kind = "a message in the manner of its neighbours stands in its place"
			e.newFiles[i] = lost.restoreMessage(path.Base(folder), name)
		case "session":
			kind = "what is left of it and in its messages stands in its place"
			e.newFiles[i] = c.sessionFile(e.file, raw, path.Base(folder), name)
		default:
			e.newFiles[i] = lost.emptyPart(path.Base(folder), name)
			if text := lost.restoreUserText(raw, path.Base(folder), name); text != nil {
				kind = "what is left of the words of the user stands in its place"
				e.newFiles[i] = text
			}
		}
		e.addChange(Change{File: file.path, Line: 1, Change: wire.Change{Action: wire.ActionEdit, Rule: "torn-file", Bytes: len(e.newFiles[i]) - len(raw)}}, "%s", kind)
	}
}

// filesOf returns the files of the log after the edits, and the changed ones among them.
func (e *edits) filesOf() (all, changed []File) {
	u := 0
	for i, f := range e.file.files {
		raw := e.file.raw[f.span.Start:f.span.End]
		if e.newFiles[i] != nil {
			raw = e.newFiles[i]
			changed = append(changed, File{f.path, raw})
			all = append(all, File{f.path, raw})
			continue
		}
		for u < len(e.file.units) && e.file.units[u].span.Start < f.span.Start {
			u++
		}
		if u < len(e.file.units) && e.file.units[u].span.End <= f.span.End && e.units[u] != nil && e.units[u].body != nil {
			s := e.file.units[u].span
			out, err := jsonspan.Splice(raw, []jsonspan.Edit{{Span: jsonspan.Span{Start: s.Start - f.span.Start, End: s.End - f.span.Start}, New: e.units[u].body}})
			if err == nil {
				raw = out
				changed = append(changed, File{f.path, raw})
			}
		}
		all = append(all, File{f.path, raw})
	}
	return all, changed
}
