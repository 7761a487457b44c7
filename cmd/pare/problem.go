package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A problem describes why a transcript cannot be read. Offset counts from the start of the
// transcript, Line and Column from the start of the file. Line and Column are 0 if the problem has
// no position.
type problem struct {
	Message string `json:"message"`
	Offset  int    `json:"offset"`
	Path    string `json:"path"` // a JSON pointer
	Line    int    `json:"line"`
	Column  int    `json:"column"` // in bytes
	hint    string
	err     error // the error behind the problem; may be nil
}

// parseRequest parses the request in raw, which may be in an envelope such as a recorded HTTP
// request.
func parseRequest(from origin, raw []byte, opts wire.Options) (*wire.Request, wire.Envelope, *problem) {
	b := wire.Unwrap(raw)
	opts.Conditions = wirex.JoinConditions(opts.Conditions, b.Conditions)
	if b.Model != "" {
		opts.Model = b.Model
	}
	if opts.Dialect == wire.Auto && b.Dialect != wire.Auto {
		// If the body fits several dialects, the URL decides.
		if d, err := wire.Detect(b.Body); err == nil && !d.Sure && d.Dialect.List() == b.Dialect.List() {
			opts.Dialect = b.Dialect
		}
	}
	req, err := wire.Parse(b.Body, opts)
	if err != nil {
		p := locateProblem(err, from, raw, b)
		p.err = err
		return nil, b, &p
	}
	return req, b, nil
}

// isOtherJSON reports whether the file is JSON in a folder that is not a transcript, so that it is
// skipped.
func (p *problem) isOtherJSON(from origin) bool {
	return from.isInFolder && from.line == 0 && errors.Is(p.err, wire.ErrNotRequest)
}

// newSkippedOutcome returns the outcome for such a file.
func newSkippedOutcome(from origin, why error) outcome {
	return outcome{isGap: true, otherFile: &source.Other{Path: from.source, Why: why}}
}

// newProblem returns a problem without a position.
func newProblem(err error) problem {
	p := problem{Message: err.Error()}
	var path *fs.PathError
	if errors.As(err, &path) {
		p.Message = path.Err.Error() // the message names the file already
	}
	var unread *agentlog.UnreadError
	if errors.As(err, &unread) {
		p.Message = unread.Error() // the message names the file already
	}
	var h hintedError
	var clash *atomicfile.Clash
	var large *source.TooLargeError
	var unpack *source.UnpackError
	switch {
	case errors.As(err, &h):
		p.hint = h.hint
	case errors.As(err, &clash):
		p.hint = clashAdvice
	case errors.As(err, &large):
		p.hint = "if it is meant to be that large, give --max-size " + strings.ReplaceAll(source.SizeString(4*large.Max), " ", "") + ", for example"
	case errors.Is(err, fs.ErrPermission) && path != nil:
		p.hint = ownerHint(path.Path)
	case errors.Is(err, fs.ErrNotExist):
		p.hint = "give a file, a folder, or - for standard input"
	case errors.As(err, &unpack):
		p.hint = "the compressed file is damaged or cut off"
	}
	return p
}

// newBugProblem returns the problem for a panic of our own code.
func newBugProblem(p any) problem {
	return newProblem(hintedError{fmt.Errorf("pare has met a bug of its own: %v", p), "please report it, with the transcript if you may share it"})
}

// locateProblem returns the problem for an error in raw, with its position. The body of the request
// in raw is b.
func locateProblem(err error, from origin, raw []byte, b wire.Envelope) problem {
	p := newProblem(err)
	var syntax *wire.SyntaxError
	whose, way := findReformattedSession(raw)
	switch {
	case whose != "":
		p.Message = "this was a session file of " + whose + ", and its lines were laid out anew: neither its agent nor Pare reads it so"
		p.hint = "give each object a line of its own again, then fix that: jq -c '" + way + "' FILE > NEW"
	case len(bytes.TrimSpace(raw)) == 0:
		p.Message, p.hint = "the input is empty", "expected a request body, a list of messages, or JSON lines of either"
	case bytes.HasPrefix(raw, []byte("SQLite format 3")):
		p.Message = "this is an SQLite database, which Pare does not read"
		if is := agentlog.Database(from.source); is != "" {
			p.Message = "this is " + is + ", with tables that Pare does not know"
		}
		p.hint = "of databases those of opencode and goose are read; pare doctor lists the sessions that it finds"
		return p
	case errors.As(err, &syntax):
		p.Offset, p.Path, p.hint = b.At+syntax.Offset, b.Pointer+syntax.Pointer, syntaxHint(raw, syntax)
		said := wire.SyntaxError{Offset: from.skippedBytes + len(from.prefix) + p.Offset, Pointer: screen.Clip(p.Path, 120), Reason: syntax.Reason}
		p.Message = said.Error()
		if what, next, ok := recognizeForeignInput(err, from, raw); ok {
			p.hint = next
			if p.Message = what; syntax.Offset > 0 {
				p.Message += " (" + said.Error() + ")"
			}
		}
	case errors.Is(err, wire.ErrNotRequest):
		p.Offset, p.Path = b.At, b.Pointer
		what, next, ok := recognizeForeignInput(err, from, raw)
		if p.hint = cmp.Or(next, partHint(raw)); p.hint == partOf && from.line > 0 {
			p.hint = unknownAgent
		}
		if req, err := wire.Parse(b.Body, wire.Options{}); err == nil { // the request has a different dialect than --as says
			p.hint = "it looks like " + req.Dialect.String() + ": give --as " + req.Dialect.String() + ", or omit it"
		} else if ok {
			p.Message = what
		}
	default:
		return p
	}
	before := slices.Concat(from.prefix, raw[:min(p.Offset, len(raw))])
	p.Line = max(from.line, 1) + bytes.Count(before, []byte{'\n'})
	p.Column = len(before) - bytes.LastIndexByte(before, '\n')
	p.Offset += from.skippedBytes + len(from.prefix)
	return p
}

// findReformattedSession returns the agent whose session file raw was before an editor or jq
// changed its lines: objects over several lines, or one list. filter is the jq filter that restores
// the lines. Both are "" for other texts.
func findReformattedSession(raw []byte) (whose, way string) {
	s := jsonspan.Borrow(raw, jsonspan.Structural)
	defer s.Return()
	var values []jsonspan.Span
	way = "."
	first := s.Skip()
	switch {
	case s.Failed() || first.Len() == 0:
		return "", ""
	case raw[first.Start] == '[':
		way, values = ".[]", jsonspan.Elements(raw, first)
	default:
		for at := first; ; {
			if values = append(values, at); len(values) == 64 {
				break
			}
			end := at.End
			s.Reset(raw[end:], jsonspan.Structural)
			if at = s.Skip(); s.Failed() || at.Len() == 0 {
				break
			}
			at.Start, at.End = at.Start+end, at.End+end
		}
	}
	if len(values) < 2 || way == "." && bytes.IndexByte(raw[first.Start:first.End], '\n') < 0 {
		return "", ""
	}
	var d agentlog.Detector
	for _, v := range values[:min(len(values), 64)] {
		if raw[v.Start] == '{' {
			d.Line(raw[v.Start:v.End])
		}
	}
	if f, ok := d.Format(); ok && d.Settled() {
		return f.Maker(), way
	}
	return "", ""
}

const (
	partOf       = "if the request is a part of this, check that part alone, for example: jq .request FILE | pare check"
	unknownAgent = "if these lines are a session, its agent is none that Pare reads: pare run -- AGENT repairs what it sends; of other logs check the part that is the request, as in: jq -c .request FILE | pare check"
)

// partHint returns advice about JSON that is not a request: the request may be a part of it.
func partHint(raw []byte) string {
	whole := jsonspan.Span{End: len(raw)}
	whole.Start = len(raw) - len(bytes.TrimLeft(raw, " \t\r\n"))
	if whole.Start == whole.End {
		return ""
	}
	switch raw[whole.Start] {
	case '[':
		if all := jsonspan.Elements(raw, whole); len(all) > 0 && wirex.IsRequest(raw[all[0].Start:all[0].End]) {
			return "this is a list of requests; give each a line of its own: jq -c '.[]' FILE | pare check"
		}
	case '{':
		way := findRequestPath(raw, whole, 3)
		_, body := jsonspan.Find(raw, whole, "body")
		if url, ok := jsonspan.Find(raw, whole, "url"); ok && body { // a recorded exchange whose request is not a conversation
			return "what is sent to " + screen.Clip(string(raw[url.Value.Start:url.Value.End]), 80) + " is no conversation"
		}
		if way != "" {
			return "the request may be a part of this; check that part alone: jq -c '" + way + "' FILE | pare check"
		}
		return partOf
	}
	return "expected a request body, a list of messages, or JSON lines of either"
}

// findRequestPath returns the jq path of the first member that is a request, at most depth levels
// deep, or "".
func findRequestPath(raw []byte, object jsonspan.Span, deep int) string {
	for _, m := range jsonspan.Members(raw, object) {
		key, value := raw[m.Key.Start:m.Key.End], raw[m.Value.Start:m.Value.End]
		if !isPlainKey(key) || value[0] != '{' && value[0] != '[' {
			continue
		}
		if value[0] == '[' { // a list that does not start with an object is not a history
			if all := jsonspan.Elements(raw, m.Value); len(all) == 0 || raw[all[0].Start] != '{' {
				continue
			}
		}
		if _, err := wire.Parse(value, wire.Options{}); err == nil {
			return "." + string(key)
		}
		if value[0] == '{' && deep > 1 {
			if way := findRequestPath(raw, m.Value, deep-1); way != "" {
				return "." + string(key) + way
			}
		}
	}
	return ""
}

// isPlainKey reports whether jq accepts a key without quotes.
func isPlainKey(key []byte) bool {
	for i, c := range key {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'; !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return len(key) > 0
}

// syntaxHint returns advice about bytes that are not JSON.
func syntaxHint(raw []byte, e *wire.SyntaxError) string {
	switch {
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}) || bytes.HasPrefix(raw, []byte{0xfe, 0xff}):
		return "this looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8"
	case bytes.IndexByte(raw[:min(len(raw), 512)], 0) >= 0:
		return "this looks like a binary file, not like JSON"
	case strings.Contains(e.Reason, "ends in the middle"):
		return "it is cut off there; was it still being written?"
	case strings.Contains(e.Reason, "more data") && e.Offset < len(raw) && raw[e.Offset] == ',':
		return "JSON lines have no commas between them: sed 's/,$//' FILE"
	case strings.Contains(e.Reason, "more data") && isRefusal(raw):
		return "this is the error of a provider: pare explain FILE says what it means"
	case strings.Contains(e.Reason, "more data"):
		return "several documents in one file need a line each: jq -c . FILE"
	case e.Reason == jsonspan.TooMany:
		return "a request has half a million of each at most; is this a history?"
	case strings.Contains(e.Reason, "nest"):
		return "no provider reads that"
	case e.Offset == 0:
		return "expected a request body, a list of messages, or JSON lines of either"
	}
	return "repair the JSON there, then check again"
}

// format returns the problem as a line for people, with its position.
func (p problem) format(from origin) []byte {
	at := from.String()
	switch {
	case p.Line > 0 && from.line > 0:
		at = fmt.Sprintf("%s:%d", at, p.Column)
	case p.Line > 0:
		at = fmt.Sprintf("%s:%d:%d", at, p.Line, p.Column)
	}
	return screen.Appendf(nil, "pare: %s: %s\n", at, p.Message)
}
