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

// ErrShape says that a document is no list of the shape that was asked for.
var ErrShape = errors.New("no list of that shape")

// A List is a conversation in a host's shape. It is not changed by reading it; many goroutines may.
type List struct {
	Shape   string
	Request *wire.Request // what it says, in the Anthropic dialect

	raw     []byte
	shape   *shape
	list    jsonspan.Span
	spans   []jsonspan.Span // of the elements
	all     []element
	units   []unit
	blocks  map[string]half // by their paths in Request
	opens   []int           // by message of Request: the element it is from
	strange []wire.Finding
	options wire.Options
}

// An element of the list.
type element struct {
	object
	in      string // the member that holds its message; "": itself
	message object
	role    role
	fixed   bool // it stands for itself: nothing of it can be taken out
	lists   []listed
	units   []int
}

// listed is a list inside of an element.
type listed struct {
	at    jsonspan.Span
	items []jsonspan.Span
}

// A place is an item of one of the lists of an element.
type place struct{ list, item int }

// A unit is what is decided about as one: a text, a call, a result, a call with its result.
type unit struct {
	elem   int
	kind   kind
	row    *part
	at     jsonspan.Span
	places []place // none: it is the content, or the whole of its element
	inline bool    // a text that is the content
	id     string
	name   string
	digest string // of the members of a result that are not in the request
	ended  bool   // of a call that may hold its result
}

// A half is what a block stands for: a unit, or the result of one that holds both.
type half struct {
	unit   int
	result bool
}

// between stands between two messages of the model of which the first has calls that are not answered in
// front of the second: on the wire they would be one turn, and nothing would be wrong.
const between = "\u2063"

// madeUp begins the ids of calls that have none.
const madeUp = "pare_call_"

// Options say how a list is read.
type Options struct {
	As    string // the name of a shape; "": it is found out
	Model string
}

// Read reads a list of a host, or an object that holds one. Without a list of a shape that is known, the
// error is [ErrShape].
func Read(raw []byte, o Options) (*List, error) {
	if err := jsonspan.Valid(raw); err != nil {
		return nil, err
	}
	l := &List{raw: raw, blocks: make(map[string]half), options: wire.Options{Dialect: wire.Anthropic, Profile: "pairs", Model: o.Model}}
	top := topOf(raw)
	if !l.find(top, o.As) {
		if o.As != "" {
			return nil, fmt.Errorf("%w: expected %s, in a list or as %s of an object", ErrShape, named(o.As).doc, strings.Join(named(o.As).lists, " or "))
		}
		return nil, ErrShape
	}
	l.Shape = l.shape.name
	w := &writer{list: l}
	if l.options.Model == "" {
		l.options.Model = cmp.Or(top.text("model"), "")
	}
	w.system = appendText(w.system, top.text("system"))
	for i := range l.spans {
		l.element(i, w)
	}
	return l, l.parse(w)
}

// Find reads a body that is in the shape of a host; nil: it is in none, or in one that is sent as it is. An
// object is a request first: only what would be refused as one may be something else. As is the shape that
// was asked for; with "", it is found out.
func Find(body []byte, as string, reading wire.Options) (*List, error) {
	if as == "" {
		if !isList(body) {
			if r, err := wire.Parse(body, reading); err == nil && len(r.Check(wire.CheckOptions{})) == 0 && r.Understood(false) == nil {
				return nil, nil
			}
		}
		if !Is(body) {
			return nil, nil // it is for the dialects to read, or to refuse
		}
	}
	return Read(body, Options{As: as, Model: reading.Model})
}

// isList reports whether a body is a list: a request never is, so somebody's program may hold it.
func isList(body []byte) bool { return first(bytes.TrimLeft(body, " \t\r\n")) == '[' }

// Is reports whether a document looks like a list of a host, or an object that holds one.
func Is(raw []byte) bool { return jsonspan.Valid(raw) == nil && (&List{raw: raw}).find(topOf(raw), "") }

func topOf(raw []byte) object {
	start := 0
	for start < len(raw) && strings.IndexByte(" \t\r\n", raw[start]) >= 0 {
		start++
	}
	return open(raw, jsonspan.Span{Start: start, End: len(raw)})
}

// find looks for the list and its shape.
func (l *List) find(top object, as string) bool {
	var only *shape
	if as != "" {
		if only = named(as); only == nil {
			return false
		}
	}
	try := func(at jsonspan.Span, name string) bool {
		if at.Len() == 0 || l.raw[at.Start] != '[' {
			return false
		}
		spans := jsonspan.Elements(l.raw, at)
		l.list, l.spans = at, spans
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
		if only == nil || slices.Contains(only.lists, name) {
			if try(top.get(name), name) {
				return true
			}
		}
	}
	return false
}

// telling is how many elements tell the shape of a list, at its beginning and at its end.
const telling = 50

// detect is the shape that most elements can only be of; nil if there is none.
func detect(raw []byte, spans []jsonspan.Span, list string) (best *shape) {
	most := 0
	if n := len(spans); n > 2*telling {
		spans = append(spans[:telling:telling], spans[n-telling:]...)
	}
	objects := make([]object, len(spans))
	for i, at := range spans {
		objects[i] = open(raw, at)
	}
	for i := range shapes {
		s := &shapes[i]
		if list != "" && !slices.Contains(s.lists, list) {
			continue
		}
		n := 0
		for _, o := range objects {
			if s.proof(o) {
				n++
			}
		}
		if n > most {
			best, most = s, n
		}
	}
	return best
}

// element reads one element, and writes what it says.
func (l *List) element(i int, w *writer) {
	s := l.shape
	e := element{object: open(l.raw, l.spans[i])}
	l.all = append(l.all, e)
	if len(e.Members) == 0 {
		l.unknown(e.Span, "wrong-type", "an element that is no object: expected a message")
		l.seal(i, w, user)
		return
	}
	e.in = s.inner(e.object)
	e.message = e.object
	if e.in != "" {
		e.message = open(l.raw, e.get(e.in))
	}
	e.role = s.role(e.object, e.message)
	l.all[i] = e
	w.begin(i)
	switch e.role {
	case aside:
		return
	case nobody:
		l.unknown(e.Span, "unknown-role", "a message of a kind that is not known for "+s.doc)
		l.seal(i, w, user)
		return
	}
	if e.role == system && !w.spoken {
		l.all[i].fixed = true // what stands in front of everything stays
		w.system = appendText(w.system, l.systemText(&e))
		return
	}
	w.spoken = true
	if s.strict && e.role == assistant && len(w.open) > 0 {
		clear(w.open)
		w.add(half{unit: -1}, user, write("type", "text", "text", between))
		w.close()
	}
	if s.whole != nil {
		row := s.whole(e.message)
		if s.adjacent && (row == nil || row.kind != result) {
			w.calls = nil
		}
		if row != nil {
			l.part(i, w, row, e.message.Span, nil)
			w.flush()
			return
		}
	}
	l.content(i, w)
	w.flush()
}

// systemText is what instructions say.
func (l *List) systemText(e *element) string {
	at := e.message.get(l.shape.content(e.message))
	return plainText(l.raw[at.Start:at.End])
}

// content reads what a message says, and the calls beside it.
func (l *List) content(i int, w *writer) {
	e := &l.all[i]
	at := e.message.get(l.shape.content(e.message))
	var calls []jsonspan.Span
	mark := len(l.units)
	if l.shape.calls != "" {
		if c := e.message.get(l.shape.calls); c.Len() > 0 && l.raw[c.Start] == '[' {
			calls = jsonspan.Elements(l.raw, c)
			e.lists = append(e.lists, listed{c, calls})
		}
	}
	ids := make(map[string]bool, len(calls))
	for _, c := range calls {
		ids[open(l.raw, c).text(l.shape.call.id)] = true
	}
	twice := make(map[string][]place)
	switch first(l.raw[at.Start:at.End]) {
	case '"':
		if at.Len() > 2 {
			l.units = append(l.units, unit{elem: i, kind: text, at: at, inline: true, row: &part{kind: text}})
			e.units = append(e.units, len(l.units)-1)
			w.add(half{unit: len(l.units) - 1}, e.role, write("type", "text", "text", l.raw[at.Start:at.End]))
		}
	case '[':
		items := jsonspan.Elements(l.raw, at)
		n := len(e.lists)
		e.lists = append(e.lists, listed{at, items})
		for k, item := range items {
			l.item(i, w, item, place{n, k}, ids, twice)
		}
	case 0, 'n':
	default:
		l.unknown(at, "wrong-type", "content that is neither a text nor a list")
	}
	for k, c := range calls {
		l.part(i, w, &l.shape.call, c, []place{{0, k}})
	}
	l.repeated(i, twice, mark)
}

// item reads one part of the content.
func (l *List) item(i int, w *writer, at jsonspan.Span, where place, ids map[string]bool, twice map[string][]place) {
	e := &l.all[i]
	if l.raw[at.Start] == '"' { // a word among parts
		l.units = append(l.units, unit{elem: i, kind: sealed, at: at, places: []place{where}, row: &wholeSealed})
		e.units = append(e.units, len(l.units)-1)
		w.add(half{unit: len(l.units) - 1}, e.role, write("type", "host_part", "holds", l.raw[at.Start:at.End]))
		return
	}
	o := open(l.raw, at)
	row := l.shape.row(o.text("type"))
	if row == nil {
		l.unknown(at, "content-type", fmt.Sprintf("a part of type %q, which is not known for %s", o.text("type"), l.shape.doc))
		row = &wholeSealed
	}
	if row.kind == call && ids[o.text(row.id)] {
		twice[o.text(row.id)] = append(twice[o.text(row.id)], where) // the list of calls has it, too
		return
	}
	l.part(i, w, row, at, []place{where})
}

// repeated notes where else the calls of an element stand.
func (l *List) repeated(i int, twice map[string][]place, mark int) {
	e := &l.all[i]
	for _, path := range l.shape.copies {
		at := e.message.get(path)
		if at.Len() == 0 || l.raw[at.Start] != '[' {
			continue
		}
		items := jsonspan.Elements(l.raw, at)
		n := len(e.lists)
		e.lists = append(e.lists, listed{at, items})
		for k, c := range items {
			if id := open(l.raw, c).text("id"); id != "" {
				twice[id] = append(twice[id], place{n, k})
			}
		}
	}
	for u := mark; u < len(l.units); u++ {
		if x := &l.units[u]; x.kind == call {
			x.places = append(x.places, twice[x.id]...)
			delete(twice, x.id)
		}
	}
}

// seal makes a unit of an element that is not understood.
func (l *List) seal(i int, w *writer, who role) {
	w.begin(i)
	w.spoken = true
	l.part(i, w, &wholeSealed, l.spans[i], nil)
	l.all[i].role = who
	w.flush()
}

// part makes a unit of a part, and writes its blocks.
func (l *List) part(i int, w *writer, row *part, at jsonspan.Span, places []place) {
	e := &l.all[i]
	o := open(l.raw, at)
	u := unit{elem: i, kind: row.kind, row: row, at: at, places: places}
	is := func(f func(object) bool) bool { return f != nil && f(o) }
	u.id, u.name = o.text(row.id), o.text(row.name)
	if row.kind == both && row.name == "" {
		u.name = strings.TrimPrefix(o.text("type"), "tool-")
	}
	if l.shape.nameless && u.id == "" && (u.kind == call || u.kind == result) {
		u.id = w.idOf(u.kind, u.name)
	}
	server := is(row.server)
	switch {
	case row.kind == silent:
		return
	case row.kind == step:
		w.answer()
		return
	case row.kind == call && server, row.kind == result && w.server[u.id]:
		u.kind = map[kind]kind{call: serverCall, result: serverResult}[row.kind]
	case row.kind == both && (is(row.pending) || server):
		u.kind = sealed // it is as it should be, with a result or without one
	case row.kind == call && w.waits(l, e, u.id):
		u.kind = sealed
	}
	id := len(l.units)
	who := e.role
	if who == nobody {
		who = user
	}
	e.units = append(e.units, id)
	switch u.kind {
	case text:
		w.add(half{unit: id}, who, write("type", "text", "text", stringOf(o.bytes(row.say))))
	case reasoning:
		w.add(half{unit: id}, assistant, write("type", "thinking", "thinking", stringOf(o.bytes(row.say)), "signature", "host"))
	case media:
		w.add(half{unit: id}, who, mediaBlock(&o, row))
	case call:
		w.add(half{unit: id}, assistant, write("type", "tool_use", "id", u.id, "name", u.name, "input", inputOf(o.bytes(row.in))))
		w.open[u.id] = true
	case result:
		delete(w.open, u.id)
		u.digest = digestOf(o, row)
		w.add(half{unit: id}, user, resultBlock(&u, outputOf(o, row), is(row.failed)))
	case both:
		w.add(half{unit: id}, assistant, write("type", "tool_use", "id", u.id, "name", u.name, "input", inputOf(o.bytes(row.in))))
		if u.ended = row.ended(o); u.ended {
			w.results = append(w.results, func() {
				w.add(half{unit: id, result: true}, user, resultBlock(&u, outputOf(o, row), is(row.failed)))
			})
		}
	case serverCall:
		w.server[u.id] = true
		w.add(half{unit: id}, assistant, write("type", "server_tool_use", "id", u.id, "name", u.name, "input", inputOf(o.bytes(row.in))))
	case serverResult:
		w.add(half{unit: id}, assistant, write("type", "web_search_tool_result", "tool_use_id", u.id, "content", o.bytes(row.out)))
	default:
		w.add(half{unit: id}, who, write("type", "host_part", "holds", l.raw[at.Start:at.End]))
	}
	l.units = append(l.units, u)
}

// unknown notes what nobody here knows.
func (l *List) unknown(at jsonspan.Span, rule, says string) {
	path := jsonspan.PathAt(l.raw, at.Start)
	l.strange = append(l.strange, wire.Finding{Rule: rule, Path: path, IDs: []string{}, Message: path + ": " + says, Source: "pare/" + rule, Index: -1, Block: transcript.NoBlock})
}

// newBegin begins the ids that are new in the document.
const newBegin = "pare-"

// newID makes an id of what stands beside it, so that the same list gives the same bytes.
func newID(near string, text []byte) string {
	sum := sha256.Sum256(append([]byte(near+"\x00"), text...))
	return newBegin + hex.EncodeToString(sum[:8])
}

// parse reads what was written.
func (l *List) parse(w *writer) error {
	body := w.body(l.options.Model)
	r, err := wire.Parse(body, l.options)
	if err != nil {
		return fmt.Errorf("read %s: %w", l.shape.doc, err)
	}
	l.Request, l.opens = r, w.opens
	return nil
}
