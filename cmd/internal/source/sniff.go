package source

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A kind is what a stream holds.
type kind uint8

const (
	foreign  kind = iota // nothing that begins like JSON
	document             // a request, a list, or what the parser will refuse
	batch                // JSON lines of either
	session              // an agent's own file
)

// sniff looks at a stream once, and tells what it is and, of a session, whose. It reads no
// further than it must, for somebody may be writing the lines of a batch one by one.
func (s *stream) sniff(name string, data bool) (kind, agentlog.Format) {
	if !s.opensJSON() && data {
		return foreign, agentlog.Auto
	}
	if !s.opensJSON() {
		if f, ok := s.damagedSession(); ok {
			return session, f
		}
		return foreign, agentlog.Auto
	}
	d := detectors.Get().(*agentlog.Detector)
	defer detectors.Put(d)
	d.Reset()
	switch lines := s.isBatch(d); {
	case data && lines:
		return batch, agentlog.Auto
	case data:
		return document, agentlog.Auto
	case lines:
		if f, ok := s.sessionOfLines(d); ok && !(f == agentlog.ATIF && s.several()) {
			return session, f
		}
		return batch, agentlog.Auto
	}
	if at := s.text(0); s.buf[at] == '[' {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
		if f, ok := agentlog.Detect(name, nil); ok {
			return session, f // by its name
		}
	}
	if data := s.all(); !dialect.IsRequest(data) {
		if f, ok := agentlog.Detect("", data); ok {
			return session, f
		}
	}
	return document, agentlog.Auto
}

// opensJSON reports whether the stream begins like a JSON object or list.
func (s *stream) opensJSON() bool {
	i := s.text(0)
	if i < 0 || s.buf[i] != '{' && s.buf[i] != '[' {
		return false
	}
	j := s.text(i + 1)
	if j < 0 {
		return true // cut off, but JSON
	}
	if s.buf[i] == '{' {
		return s.buf[j] == '"' || s.buf[j] == '}'
	}
	for len(s.buf) < j+5 && s.more() {
	}
	switch rest := s.buf[j:]; rest[0] {
	case 't', 'f', 'n':
		return bytes.HasPrefix(rest, []byte("true")) || bytes.HasPrefix(rest, []byte("false")) || bytes.HasPrefix(rest, []byte("null"))
	default:
		return bytes.IndexByte([]byte(`{["]-0123456789`), rest[0]) >= 0
	}
}

// isBatch reports whether the stream is JSON lines: its first line that is not
// blank is a whole value, and something follows it. If the first one is broken, a request
// that is a whole line tells: where no document goes on behind the first line, any that
// comes; otherwise the first line that is whole, as long as all of them begin like objects and
// there is no document. The detector has looked at the first line then.
func (s *stream) isBatch(d *agentlog.Detector) bool {
	start := s.text(0)
	end := s.newline(start)
	if end < 0 || s.text(end) < 0 {
		return false
	}
	if first := s.buf[start:end]; d.Object(first) || whole(first) {
		return true
	}
	alone := s.breaksOff(start)
	for line, at := s.line(end); line != nil; line, at = s.line(at) {
		line = bytes.TrimPrefix(line, utf8Mark)
		switch object := bytes.HasPrefix(line, []byte{'{'}); {
		case alone:
			if object && whole(line) && dialect.IsRequest(line) || isList(line) {
				return true
			}
		case !object:
			return false
		case whole(line):
			return dialect.IsRequest(line) && !whole(s.all())
		}
	}
	return false
}

// several reports whether another object is begun behind a line that is a whole value: a session that is one
// document has no second one.
func (s *stream) several() bool {
	first, at := s.line(0)
	second, _ := s.line(at)
	return whole(first) && len(second) > 0 && second[0] == '{'
}

// breaksOff reports whether the line at start is no beginning of a document that the next line
// goes on with: it is broken in itself, ends inside of a string, or what follows cannot follow.
func (s *stream) breaksOff(start int) bool {
	end := s.newline(start)
	next := s.text(end)
	_, until := s.line(next)
	scan := jsonspan.Borrow(s.buf[start:until], jsonspan.Strict)
	defer scan.Return()
	scan.Skip()
	scan.End()
	if !scan.Failed() || scan.Torn() {
		return false
	}
	var bad *jsonspan.SyntaxError
	return errors.As(scan.Err(), &bad) && bad.Offset <= next-start
}

// isList reports whether a line is a list of objects.
func isList(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte{'['})
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte{'{'}) && whole(line)
}

// line returns the line that begins at the first text from i on, and where it ends; nil
// at the end.
func (s *stream) line(i int) (line []byte, end int) {
	start := s.text(i)
	if start < 0 {
		return nil, i
	}
	if end = s.newline(start); end < 0 {
		end = len(s.buf)
	}
	return s.buf[start:end], end
}

// detectors are those that no file is looked at with.
var detectors = sync.Pool{New: func() any { return new(agentlog.Detector) }}

// sessionOfLines looks at one line after the other until they tell. A request in front
// of anything that does makes it a batch.
func (s *stream) sessionOfLines(d *agentlog.Detector) (agentlog.Format, bool) {
	some := false
	for line, at := s.line(0); line != nil && !d.Settled(); line, at = s.line(at) {
		if !some && (line[0] == '[' && whole(line) || (!d.Object(line) || d.Has(dialect.IsHistoryKey)) && dialect.IsRequest(line)) {
			break
		}
		some = d.Line(line) || some
	}
	return d.Format()
}

// damagedSession recognises a session file that begins with something else, because its
// first lines were lost, spoilt or written by hand: at least half of its lines are
// objects all the same, comments and the marks of a merge aside. Where these leave no doubt
// whose they are, what stands right behind one does not count: a repair puts what spoils the
// end of a line onto one of its own, and the file is a session still. Only text is looked at
// to its end.
func (s *stream) damagedSession() (agentlog.Format, bool) {
	if !isText(s.head()) {
		return agentlog.Auto, false
	}
	var d agentlog.Detector
	objects, others, spoilt := 0, 0, 0
	behind := false // the line in front is an object
	for line, at := s.line(0); line != nil && !(d.Settled() && objects > others); line, at = s.line(at) {
		switch line = bytes.Trim(line, "\x00"); {
		case len(line) == 0:
			continue
		case bytes.HasPrefix(line, []byte(`{"`)):
			objects++
			d.Line(line)
			behind = true
			continue
		case bytes.HasPrefix(line, []byte("//")) || line[0] == '#' || mergeMark(line):
		case behind:
			spoilt++
		default:
			others++
		}
		behind = false
	}
	if objects < others+spoilt && !(d.Settled() && objects > others) {
		return agentlog.Auto, false
	}
	return d.Format()
}

// isText reports whether the head of a file is text: a crash leaves nulls in front of lines and
// behind them, but none inside.
func isText(head []byte) bool {
	some := false
	for line := range bytes.Lines(head) {
		line = bytes.Trim(line, "\x00\r\n")
		if bytes.IndexByte(line, 0) >= 0 {
			return false
		}
		some = some || len(line) > 0
	}
	return some
}

// mergeMark reports whether a line is one of those that a merge puts around what it could not
// decide.
func mergeMark(line []byte) bool {
	for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if rest, ok := bytes.CutPrefix(line, []byte(mark)); ok {
			return len(bytes.TrimSpace(rest)) == 0 || rest[0] == ' '
		}
	}
	return false
}

// whole reports whether data is one JSON value with nothing behind it.
func whole(data []byte) bool {
	s := jsonspan.Borrow(data, jsonspan.Structural)
	defer s.Return()
	s.Skip()
	s.End()
	return !s.Failed()
}

// other says why a stream is none for anybody here: a session that is not read, or lines
// the first of which is no request. A document says so itself when it is parsed.
func (s *stream) other(k kind, agent agentlog.Format) error {
	switch {
	case k == session && !agent.Readable():
		return &agentlog.UnreadError{Format: agent}
	case k == batch:
		line, _ := s.line(0)
		if _, err := wire.Parse(wire.Unwrap(line).Body, wire.Options{}); errors.Is(err, wire.ErrNotRequest) {
			return wire.ErrNotRequest
		}
	}
	return nil
}
