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
	"github.com/pare-llm/pare/internal/dialect"
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
	envelope := wire.Unwrap(raw)
	opts.Conditions = dialect.JoinConditions(opts.Conditions, envelope.Conditions)
	if envelope.Model != "" {
		opts.Model = envelope.Model
	}
	if opts.Dialect == wire.Auto && envelope.Dialect != wire.Auto {
		// If the body fits several dialects, the URL decides.
		if d, err := wire.Detect(envelope.Body); err == nil && !d.Sure && d.Dialect.List() == envelope.Dialect.List() {
			opts.Dialect = envelope.Dialect
		}
	}
	req, err := wire.Parse(envelope.Body, opts)
	if err != nil {
		p := locateProblem(err, from, raw, envelope)
		p.err = err
		return nil, envelope, &p
	}
	return req, envelope, nil
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

// locateProblem returns the problem for an error in raw, with its position. The body of the
// request in raw is that of the envelope.
func locateProblem(err error, from origin, raw []byte, envelope wire.Envelope) problem {
	p := newProblem(err)
	switch session, isSession := findReformattedSession(raw); {
	case isSession:
		p.Message = "this was a session file of " + session.agent + ", and its lines were laid out anew: neither its agent nor Pare reads it so"
		p.hint = "give each object a line of its own again, then fix that: jq -c '" + session.filter + "' FILE > NEW"
	case len(bytes.TrimSpace(raw)) == 0:
		p.Message, p.hint = "the input is empty", "expected a request body, a list of messages, or JSON lines of either"
	case bytes.HasPrefix(raw, []byte("SQLite format 3")):
		return describeDatabase(p, from)
	case hasErrorType[*wire.SyntaxError](err):
		p.describeSyntax(err, from, raw, envelope)
	case errors.Is(err, wire.ErrNotRequest):
		p.describeNotRequest(err, from, raw, envelope)
	default:
		return p
	}
	before := slices.Concat(from.prefix, raw[:min(p.Offset, len(raw))])
	p.Line = max(from.line, 1) + bytes.Count(before, []byte{'\n'})
	p.Column = len(before) - bytes.LastIndexByte(before, '\n')
	p.Offset += from.skippedBytes + len(from.prefix)
	return p
}

// describeDatabase returns p with the message for an SQLite database.
func describeDatabase(p problem, from origin) problem {
	p.Message = "this is an SQLite database, which Pare does not read"
	if name := agentlog.Database(from.source); name != "" {
		p.Message = "this is " + name + ", with tables that Pare does not know"
	}
	p.hint = "of databases those of opencode and goose are read; pare doctor lists the sessions that it finds"
	return p
}

// describeSyntax sets the message, the hint and the offset for text that is not JSON.
func (p *problem) describeSyntax(err error, from origin, raw []byte, envelope wire.Envelope) {
	syntax, _ := errors.AsType[*wire.SyntaxError](err)
	p.Offset = envelope.At + syntax.Offset
	p.Path = envelope.Pointer + syntax.Pointer
	p.hint = syntaxHint(raw, syntax)
	inFile := wire.SyntaxError{
		Offset:  from.skippedBytes + len(from.prefix) + p.Offset,
		Pointer: screen.Clip(p.Path, 120),
		Reason:  syntax.Reason,
	}
	p.Message = inFile.Error()
	description, advice, ok := recognizeForeignInput(err, from, raw)
	if !ok {
		return
	}
	p.hint = advice
	p.Message = description
	if syntax.Offset > 0 {
		p.Message += " (" + inFile.Error() + ")"
	}
}

// describeNotRequest sets the message, the hint and the offset for JSON that is not a request.
func (p *problem) describeNotRequest(err error, from origin, raw []byte, envelope wire.Envelope) {
	p.Offset, p.Path = envelope.At, envelope.Pointer
	description, advice, ok := recognizeForeignInput(err, from, raw)
	p.hint = cmp.Or(advice, partHint(raw))
	if p.hint == partOf && from.line > 0 {
		p.hint = unknownAgent
	}
	if req, err := wire.Parse(envelope.Body, wire.Options{}); err == nil {
		// The request has a different dialect than --as says.
		dialect := req.Dialect.String()
		p.hint = "it looks like " + dialect + ": give --as " + dialect + ", or omit it"
		return
	}
	if ok {
		p.Message = description
	}
}

// A reformattedSession is a session file whose lines an editor or jq has changed: objects over
// several lines, or one list.
type reformattedSession struct {
	agent  string
	filter string // for jq, to restore the lines
}

// findReformattedSession reports whether raw is such a session file.
func findReformattedSession(raw []byte) (session reformattedSession, ok bool) {
	values, isList := leadingValues(raw)
	if len(values) < 2 {
		return session, false
	}
	spansLines := bytes.IndexByte(raw[values[0].Start:values[0].End], '\n') >= 0
	if !isList && !spansLines {
		return session, false
	}
	var detector agentlog.Detector
	for _, value := range values {
		if raw[value.Start] == '{' {
			detector.Line(raw[value.Start:value.End])
		}
	}
	format, ok := detector.Format()
	if !ok || !detector.Settled() {
		return session, false
	}
	session = reformattedSession{agent: format.Maker(), filter: "."}
	if isList {
		session.filter = ".[]"
	}
	return session, true
}

// maxLeadingValues is enough to detect the format of a session.
const maxLeadingValues = 64

// leadingValues returns the first JSON values of raw, or the first elements if raw is a list.
func leadingValues(raw []byte) (values []jsonspan.Span, isList bool) {
	scanner := jsonspan.Borrow(raw, jsonspan.Structural)
	defer scanner.Return()
	value := scanner.Skip()
	if scanner.Failed() || value.Len() == 0 {
		return nil, false
	}
	if raw[value.Start] == '[' {
		elements := jsonspan.Elements(raw, value)
		return elements[:min(len(elements), maxLeadingValues)], true
	}
	for {
		values = append(values, value)
		if len(values) == maxLeadingValues {
			return values, false
		}
		end := value.End
		scanner.Reset(raw[end:], jsonspan.Structural)
		value = scanner.Skip()
		if scanner.Failed() || value.Len() == 0 {
			return values, false
		}
		value.Start += end
		value.End += end
	}
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
		if all := jsonspan.Elements(raw, whole); len(all) > 0 && dialect.IsRequest(raw[all[0].Start:all[0].End]) {
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
