package agentlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// openCode reads the storage folder of opencode: a file for each message and each
// part of it. A tool part holds a call and, once it has ended, its result; one that
// is still pending or running when the session is resumed is a call that nobody
// will answer.
type openCode struct{}

// openCodeRow has no evidence: it is a folder.
var openCodeRow = row{format: OpenCode, name: "opencode", maker: "opencode", dialect: wire.Anthropic, form: openCode{}}

// A File is one file of a folder.
type File struct {
	Path string
	Raw  []byte
}

// A stored file is where a file of a folder lies in the bytes of its log.
type stored struct {
	path string
	span jsonspan.Span
}

// ReadFolder reads the storage folder of opencode, or the folder it is in. Each
// session is a thread. [Fixed.Files] has the files that Fix changes.
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

// openCodeFiles finds the files of messages and parts, in the layout of today or
// the one before it, in the order of their names.
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
		return files, nil
	}
	return nil, nil
}

// readFiles makes one log of several files.
func readFiles(files []File, o Options) *Log {
	l := &Log{Format: OpenCode, name: "opencode", o: o, links: make(map[int]int), top: -1, form: openCode{}}
	for _, f := range files {
		start := len(l.raw)
		l.raw = append(append(l.raw, f.Raw...), '\n')
		l.files = append(l.files, stored{f.Path, jsonspan.Span{Start: start, End: len(l.raw) - 1}})
	}
	l.form.read(l)
	return l
}

func (c openCode) read(l *Log) {
	type message struct {
		unit  int
		parts []int
	}
	sessions := make(map[string][]string) // ids of messages, in order
	messages := make(map[string]*message)
	var names []string
	for _, f := range l.files {
		at, ok := one(l.raw[f.span.Start:f.span.End])
		if !ok || l.raw[f.span.Start+at.Start] != '{' {
			l.damageAt(f.span.Start, 1, "unreadable")
			continue
		}
		u := len(l.units)
		l.units = append(l.units, unit{span: jsonspan.Span{Start: f.span.Start + at.Start, End: f.span.Start + at.End}, line: 1})
		o := objectAt(l.raw, l.units[u].span)
		id, session := o.text("messageID"), o.text("sessionID")
		switch {
		case id != "" && messages[id] != nil:
			messages[id].parts = append(messages[id].parts, u)
		case id == "" && o.text("id") != "" && o.has("role"):
			if sessions[session] == nil {
				names = append(names, session)
			}
			sessions[session] = append(sessions[session], o.text("id"))
			messages[o.text("id")] = &message{unit: u}
		}
	}
	slices.Sort(names)
	for _, session := range names {
		k := newTalk()
		b := l.newBody(wire.Anthropic, "")
		slices.Sort(sessions[session])
		for _, id := range sessions[session] {
			m := messages[id]
			c.message(l, b, m.unit, m.parts, k)
		}
		l.count(k, len(sessions[session]))
		if len(b.parts) == 0 {
			continue
		}
		if t := l.thread("session "+session, Main, wire.Anthropic, "", b, nil); t != nil {
			t.pairs, t.talk = true, k
		}
	}
}

// message adds a message and the results that its parts hold. Each part becomes a
// message of its own, so that a finding names its file.
func (openCode) message(l *Log, b *bodyBuilder, u int, parts []int, k *talk) {
	role := "user"
	if objectAt(l.raw, l.units[u].span).text("role") == "assistant" {
		role = "assistant"
	}
	slices.SortFunc(parts, func(a, b int) int {
		return strings.Compare(objectAt(l.raw, l.units[a].span).text("id"), objectAt(l.raw, l.units[b].span).text("id"))
	})
	var results []func()
	flush := func() {
		for _, put := range results {
			put()
		}
		results = nil
	}
	for _, p := range parts {
		o := objectAt(l.raw, l.units[p].span)
		at := []jsonspan.Span{l.units[p].span}
		put := func(role string, block []byte) { b.put(p, write("role", role, "content", array(block)), at) }
		switch o.text("type") {
		case "text":
			put(role, write("type", "text", "text", stringOr(o.value("text"))))
		case "step-start": // results of the step before are sent first
			flush()
		case "tool":
			id, state := o.text("callID"), o.object("state")
			k.calls[id]++
			put("assistant", toolUse(id, o.text("tool"), state.value("input")))
			status := state.text("status")
			if status != "completed" && status != "error" {
				continue
			}
			k.results[id]++
			name := map[string]string{"completed": "output", "error": "error"}[status]
			v, _ := state.get(name)
			results = append(results, func() { put("user", toolResult(id, textsIn(l.raw, v), status == "error")) })
		}
	}
	flush()
}

// mend ends calls that are still running.
func (openCode) mend(e *edits, t *Thread, o Options) error {
	tr := t.Request.Transcript()
	for _, f := range e.l.checkThread(t, o.Check) {
		if f.Rule != "orphan-call" || f.Block == transcript.NoBlock || f.Open && o.Repair.Open {
			continue
		}
		if o.AppendOnly {
			return ErrAppendOnly
		}
		part := objectAt(e.l.raw, e.l.units[f.unit].span)
		text := stubText(o.Repair, tr, f.Block)
		state, ok := part.get("state")
		if !ok || e.l.raw[state.Start] != '{' {
			continue
		}
		s := objectAt(e.l.raw, state)
		start := s.object("time").value("start")
		if start == nil {
			start = []byte("0")
		}
		e.replaceIn(f.unit, state.Start, state.Len(), setMembers(e.l.raw, state, "status", "error", "error", text, "time", write("start", start, "end", start)))
		e.log(Change{Thread: t.Name, File: f.File, Line: f.Line}, "insert", f.Rule, f.IDs, len(text), "a stub: %s", text)
	}
	return nil
}

// filesOf returns the files of a log after some edits, and those that changed.
func (e *edits) filesOf() (all, changed []File) {
	u := 0
	for _, f := range e.l.files {
		raw := e.l.raw[f.span.Start:f.span.End]
		for u < len(e.l.units) && e.l.units[u].span.Start < f.span.Start {
			u++
		}
		if u < len(e.l.units) && e.l.units[u].span.End <= f.span.End && e.units[u] != nil && e.units[u].body != nil {
			s := e.l.units[u].span
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
