package hosts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ErrShape is returned if a document has no list of the requested shape.
var ErrShape = errors.New("no list of that shape")

// A List is a conversation in a host's shape.
type List struct {
	Shape   string
	Request *wire.Request // the equivalent Anthropic request

	raw             []byte
	shape           *shape
	listSpan        jsonspan.Span
	elementSpans    []jsonspan.Span // of the elements
	elements        []element
	units           []unit
	blockOrigins    map[string]blockOrigin // by path in Request
	firstElements   []int                  // by message of Request: the element where it begins
	unknownFindings []wire.Finding
	options         wire.Options
}

// An element is an element of the host's list.
type element struct {
	object
	messageMember string // path of its message; "" for the element itself
	message       object
	role          role
	isFixed       bool // must stay as it is
	lists         []nestedList
	units         []int
}

// A nestedList is a list inside an element.
type nestedList struct {
	at    jsonspan.Span
	items []jsonspan.Span
}

// An itemPlace is the place of an item in one of the lists of an element.
type itemPlace struct{ list, item int }

// A unit is the smallest part that a plan keeps or removes: a text, a call, a result, or a call
// with its result.
type unit struct {
	element   int
	kind      kind
	spec      *partSpec
	span      jsonspan.Span
	places    []itemPlace // empty for the content or the whole message
	isContent bool        // is the content string of its message
	id        string
	name      string
	digest    string // of the members of a result that are not in the request
	hasResult bool   // for kindCallWithResult: has a result
}

// A blockOrigin is the unit from which a block was built, or its result.
type blockOrigin struct {
	unit     int
	isResult bool
}

// turnSeparator separates two assistant messages if calls of the first one are not answered before
// the second one. Otherwise they would be one turn of the request, which hides the fault.
const turnSeparator = "\u2063"

// madeUpPrefix begins the ids of calls without ids.
const madeUpPrefix = "pare_call_"

// Options configure reading a list.
type Options struct {
	As    string // the name of a shape; "" detects it
	Model string
}

// Read reads a host's list, or an object that holds one. It returns [ErrShape] if there is no list
// of a known shape.
func Read(raw []byte, o Options) (*List, error) {
	if err := jsonspan.Valid(raw); err != nil {
		return nil, err
	}
	l := &List{raw: raw, blockOrigins: make(map[string]blockOrigin), options: wire.Options{Dialect: wire.Anthropic, Profile: "pairs", Model: o.Model}}
	top := topObject(raw)
	if !l.findList(top, o.As) {
		if o.As != "" {
			return nil, fmt.Errorf("%w: expected %s, in a list or as %s of an object", ErrShape, findShape(o.As).description, strings.Join(findShape(o.As).listMembers, " or "))
		}
		return nil, ErrShape
	}
	l.Shape = l.shape.name
	w := newRequestWriter(l)
	if l.options.Model == "" {
		l.options.Model = cmp.Or(top.text("model"), "")
	}
	w.system = appendParagraph(w.system, top.text("system"))
	for i := range l.elementSpans {
		l.readElement(i, w)
	}
	return l, l.parseRequest(w)
}

// Find reads a body in a host's shape. It returns nil if the body has no known shape or is a valid
// request. An object is tried as a request first; only an invalid request may be a host's object.
// as is the requested shape, or "" to detect it.
func Find(body []byte, as string, reading wire.Options) (*List, error) {
	if as == "" {
		if !isBareList(body) {
			if r, err := wire.Parse(body, reading); err == nil && len(r.Check(wire.CheckOptions{})) == 0 && r.Understood(false) == nil {
				return nil, nil
			}
		}
		if !IsHostList(body) {
			return nil, nil // the dialects report its faults
		}
	}
	return Read(body, Options{As: as, Model: reading.Model})
}

// isBareList reports whether a body is a list. A request never is, so the list must be a host's.
func isBareList(body []byte) bool { return firstByte(bytes.TrimLeft(body, " \t\r\n")) == '[' }

// IsHostList reports whether a document looks like a host's list, or an object that holds one.
func IsHostList(raw []byte) bool {
	return jsonspan.Valid(raw) == nil && (&List{raw: raw}).findList(topObject(raw), "")
}

func topObject(raw []byte) object {
	start := 0
	for start < len(raw) && strings.IndexByte(" \t\r\n", raw[start]) >= 0 {
		start++
	}
	return objectAt(raw, jsonspan.Span{Start: start, End: len(raw)})
}

// findList finds the list and its shape.
func (l *List) findList(top object, as string) bool {
	var only *shape
	if as != "" {
		if only = findShape(as); only == nil {
			return false
		}
	}
	try := func(at jsonspan.Span, name string) bool {
		if at.Len() == 0 || l.raw[at.Start] != '[' {
			return false
		}
		spans := jsonspan.Elements(l.raw, at)
		l.listSpan, l.elementSpans = at, spans
		l.shape = only
		if only == nil {
			l.shape = detect(l.raw, spans, name)
		}
		return l.shape != nil
	}
	if len(top.Members) == 0 {
		return try(top.Span, "")
	}
	for _, name := range []string{"messages", "prompt", "input", "history", "conversations", "conversation"} {
		if only == nil || slices.Contains(only.listMembers, name) {
			if try(top.get(name), name) {
				return true
			}
		}
	}
	return false
}

// sampleSize is the number of elements at the beginning and at the end of a list from which its
// shape is detected.
const sampleSize = 50

// detect returns the shape that most elements identify, or nil.
func detect(raw []byte, spans []jsonspan.Span, list string) (best *shape) {
	most := 0
	if n := len(spans); n > 2*sampleSize {
		spans = append(spans[:sampleSize:sampleSize], spans[n-sampleSize:]...)
	}
	objects := make([]object, len(spans))
	for i, at := range spans {
		objects[i] = objectAt(raw, at)
	}
	for i := range shapes {
		s := &shapes[i]
		if list != "" && !slices.Contains(s.listMembers, list) {
			continue
		}
		n := 0
		for _, o := range objects {
			if s.identifies(o) {
				n++
			}
		}
		if n > most {
			best, most = s, n
		}
	}
	return best
}

// readElement reads one element and adds its blocks to the request.
func (l *List) readElement(i int, writer *requestWriter) {
	shape := l.shape
	e := element{object: objectAt(l.raw, l.elementSpans[i])}
	l.elements = append(l.elements, e)
	if len(e.Members) == 0 {
		l.reportUnknown(e.Span, "wrong-type", "an element that is no object: expected a message")
		l.readOpaque(i, writer, roleUser)
		return
	}
	e.messageMember = shape.messageMember(e.object)
	e.message = e.object
	if e.messageMember != "" {
		e.message = objectAt(l.raw, e.get(e.messageMember))
	}
	e.role = shape.roleOf(e.object, e.message)
	l.elements[i] = e
	writer.beginElement(i)
	writer.approvalsAsked = l.approvalsAsked(&e)
	switch e.role {
	case roleUnsent:
		return
	case roleUnknown:
		l.reportUnknown(e.Span, "unknown-role", "a message of a kind that is not known for "+shape.description)
		l.readOpaque(i, writer, roleUser)
		return
	}
	if e.role == roleSystem && !writer.hasSpoken {
		l.elements[i].isFixed = true // leading system messages stay
		writer.system = appendParagraph(writer.system, l.systemText(&e))
		return
	}
	writer.hasSpoken = true
	if shape.strictTurns && e.role == roleAssistant && len(writer.openCalls) > 0 {
		clear(writer.openCalls)
		writer.add(blockOrigin{unit: -1}, roleUser, write("type", "text", "text", turnSeparator))
		writer.close()
	}
	if shape.wholePart != nil {
		row := shape.wholePart(e.message)
		if shape.resultsAdjacent && (row == nil || row.kind != kindResult) {
			writer.unansweredCalls = nil
		}
		if row != nil {
			l.readPart(i, writer, row, e.message.Span, nil)
			writer.flush()
			return
		}
	}
	l.readContent(i, writer)
	writer.flush()
}

// systemText returns the text of a system message.
func (l *List) systemText(e *element) string {
	at := e.message.get(l.shape.contentPath(e.message))
	return plainText(l.raw[at.Start:at.End])
}

// readContent reads the content of a message and its separate calls.
func (l *List) readContent(i int, writer *requestWriter) {
	e := &l.elements[i]
	at := e.message.get(l.shape.contentPath(e.message))
	var calls []jsonspan.Span
	mark := len(l.units)
	if l.shape.callsMember != "" {
		if c := e.message.get(l.shape.callsMember); c.Len() > 0 && l.raw[c.Start] == '[' {
			calls = jsonspan.Elements(l.raw, c)
			e.lists = append(e.lists, nestedList{c, calls})
		}
	}
	// By id of a call in the list of calls: its other places.
	copies := make(map[string][]itemPlace, len(calls))
	for _, c := range calls {
		copies[objectAt(l.raw, c).text(l.shape.callPart.idPath)] = nil
	}
	switch firstByte(l.raw[at.Start:at.End]) {
	case '"':
		if at.Len() > 2 {
			l.units = append(l.units, unit{element: i, kind: kindText, span: at, isContent: true, spec: &partSpec{kind: kindText}})
			e.units = append(e.units, len(l.units)-1)
			writer.add(blockOrigin{unit: len(l.units) - 1}, e.role, write("type", "text", "text", l.raw[at.Start:at.End]))
		}
	case '[':
		items := jsonspan.Elements(l.raw, at)
		n := len(e.lists)
		e.lists = append(e.lists, nestedList{at, items})
		for k, item := range items {
			l.readItem(i, writer, item, itemPlace{n, k}, copies)
		}
	case 0, 'n':
	default:
		l.reportUnknown(at, "wrong-type", "content that is neither a text nor a list")
	}
	for k, c := range calls {
		l.readPart(i, writer, &l.shape.callPart, c, []itemPlace{{0, k}})
	}
	l.noteCopies(i, copies, mark)
}

// readItem reads one part of the content.
func (l *List) readItem(i int, writer *requestWriter, at jsonspan.Span, where itemPlace, copies map[string][]itemPlace) {
	e := &l.elements[i]
	if l.raw[at.Start] == '"' { // a string among the parts
		l.units = append(l.units, unit{element: i, kind: kindOpaque, span: at, places: []itemPlace{where}, spec: &opaqueMessage})
		e.units = append(e.units, len(l.units)-1)
		writer.add(blockOrigin{unit: len(l.units) - 1}, e.role, write("type", "host_part", "holds", l.raw[at.Start:at.End]))
		return
	}
	o := objectAt(l.raw, at)
	spec := l.shape.partFor(o.text("type"))
	if spec == nil {
		l.reportUnknown(at, "content-type", fmt.Sprintf("a part of type %q, which is not known for %s", o.text("type"), l.shape.description))
		spec = &opaqueMessage
	}
	id := o.text(spec.idPath)
	if places, isCopy := copies[id]; isCopy && spec.kind == kindCall {
		copies[id] = append(places, where)
		return
	}
	l.readPart(i, writer, spec, at, []itemPlace{where})
}

// noteCopies notes the other places of the calls of an element.
func (l *List) noteCopies(i int, copies map[string][]itemPlace, mark int) {
	e := &l.elements[i]
	for _, path := range l.shape.copyPaths {
		at := e.message.get(path)
		if at.Len() == 0 || l.raw[at.Start] != '[' {
			continue
		}
		items := jsonspan.Elements(l.raw, at)
		n := len(e.lists)
		e.lists = append(e.lists, nestedList{at, items})
		for k, c := range items {
			if id := objectAt(l.raw, c).text("id"); id != "" {
				copies[id] = append(copies[id], itemPlace{n, k})
			}
		}
	}
	for u := mark; u < len(l.units); u++ {
		if x := &l.units[u]; x.kind == kindCall {
			x.places = append(x.places, copies[x.id]...)
			delete(copies, x.id)
		}
	}
}

// readOpaque makes an opaque unit of an element of unknown structure.
func (l *List) readOpaque(i int, writer *requestWriter, who role) {
	writer.beginElement(i)
	writer.hasSpoken = true
	l.readPart(i, writer, &opaqueMessage, l.elementSpans[i], nil)
	l.elements[i].role = who
	writer.flush()
}

// readPart makes a unit of a part and adds its blocks to the request.
func (l *List) readPart(i int, writer *requestWriter, spec *partSpec, at jsonspan.Span, places []itemPlace) {
	e := &l.elements[i]
	o := objectAt(l.raw, at)
	u := unit{element: i, kind: spec.kind, spec: spec, span: at, places: places}
	is := func(f func(object) bool) bool { return f != nil && f(o) }
	u.id, u.name = o.text(spec.idPath), o.text(spec.namePath)
	if spec.kind == kindCallWithResult && spec.namePath == "" {
		u.name = strings.TrimPrefix(o.text("type"), "tool-")
	}
	if l.shape.matchesByName && u.id == "" && (u.kind == kindCall || u.kind == kindResult) {
		u.id = writer.callID(u.kind, u.name)
	}
	server := is(spec.isServerSide)
	switch {
	case spec.kind == kindUnsent:
		return
	case spec.kind == kindStepStart:
		writer.writeResults()
		return
	case spec.kind == kindCall && server, spec.kind == kindResult && writer.serverCalls[u.id]:
		u.kind = map[kind]kind{kindCall: kindServerCall, kindResult: kindServerResult}[spec.kind]
	case spec.kind == kindCallWithResult && (is(spec.isPending) || server):
		u.kind = kindOpaque // valid with or without a result
	case spec.kind == kindCall && writer.waitsForApproval(u.id):
		u.kind = kindOpaque
	}
	e.units = append(e.units, len(l.units))
	l.addBlocks(writer, &u, o, cmp.Or(e.role, roleUser))
	l.units = append(l.units, u)
}

// addBlocks adds the blocks of a new unit to the request. It sets the digest and hasResult of the
// unit.
func (l *List) addBlocks(writer *requestWriter, u *unit, o object, speaker role) {
	spec := u.spec
	origin := blockOrigin{unit: len(l.units)}
	callBlock := func(kind string) []byte {
		return write("type", kind, "id", u.id, "name", u.name, "input", toInput(o.bytes(spec.inputPath)))
	}
	isFailed := spec.isFailed != nil && spec.isFailed(o)
	switch u.kind {
	case kindText:
		writer.add(origin, speaker, write("type", "text", "text", toJSONString(o.bytes(spec.textPath))))
	case kindReasoning:
		writer.add(origin, roleAssistant, write("type", "thinking", "thinking", toJSONString(o.bytes(spec.textPath)), "signature", "host"))
	case kindMedia:
		writer.add(origin, speaker, mediaBlock(&o, spec))
	case kindCall:
		writer.add(origin, roleAssistant, callBlock("tool_use"))
		writer.openCalls[u.id] = true
	case kindResult:
		delete(writer.openCalls, u.id)
		u.digest = unreadDigest(o, spec)
		writer.add(origin, roleUser, resultBlock(u, findOutput(o, spec), isFailed))
	case kindCallWithResult:
		writer.add(origin, roleAssistant, callBlock("tool_use"))
		if u.hasResult = spec.isEnded(o); u.hasResult {
			result := resultBlock(u, findOutput(o, spec), isFailed)
			origin.isResult = true
			writer.pendingResults = append(writer.pendingResults, func() { writer.add(origin, roleUser, result) })
		}
	case kindServerCall:
		writer.serverCalls[u.id] = true
		writer.add(origin, roleAssistant, callBlock("server_tool_use"))
	case kindServerResult:
		writer.add(origin, roleAssistant, write("type", "web_search_tool_result", "tool_use_id", u.id, "content", o.bytes(spec.outputPath)))
	default:
		writer.add(origin, speaker, write("type", "host_part", "holds", l.raw[u.span.Start:u.span.End]))
	}
}

// reportUnknown adds a finding about an unknown element.
func (l *List) reportUnknown(at jsonspan.Span, rule, says string) {
	path := jsonspan.PathAt(l.raw, at.Start)
	l.unknownFindings = append(l.unknownFindings, wire.Finding{Rule: rule, Path: path, IDs: []string{}, Message: path + ": " + says, Source: "pare/" + rule, Index: -1, Block: transcript.NoBlock})
}

// newIDPrefix begins the ids of new elements.
const newIDPrefix = "pare-"

// newID derives an id from its neighbor and text, so that the same list always gives the same
// bytes.
func newID(neighbor string, text []byte) string {
	sum := sha256.Sum256(append([]byte(neighbor+"\x00"), text...))
	return newIDPrefix + hex.EncodeToString(sum[:8])
}

// parseRequest parses the assembled request.
func (l *List) parseRequest(w *requestWriter) error {
	body := w.body(l.options.Model)
	r, err := wire.Parse(body, l.options)
	if err != nil {
		return fmt.Errorf("read %s: %w", l.shape.description, err)
	}
	l.Request, l.firstElements = r, w.firstElements
	return nil
}
