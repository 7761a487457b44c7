package wire

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// extraResult settles a call that is answered more than once. What a repair made up goes
// beside a real result, and so does a copy; the others are joined in order. Where nothing
// but the order tells results apart, the first one is the answer and the others are quoted.
func (m *mender) extraResult(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	if x.Repeats && !m.g.countsCalls {
		return // settled with the call
	}
	if c := m.laterCall(x); c != transcript.NoBlock && m.differs(x.Results[0], f.Block) && !m.sameCall(x.Call, c) {
		m.bringHome(f, c, f.Block) // a later call of the same id has none
		return
	}
	if m.again(f, int(m.t.ExchangeOf(f.Block))) {
		return
	}
	for _, r := range x.Results {
		if !m.free(r) {
			return
		}
	}
	keep := m.realResults(x.Results)
	stays := make(map[transcript.BlockID]bool, len(keep))
	for _, r := range keep {
		stays[r] = true
	}
	for _, r := range x.Results {
		if !stays[r] {
			m.dropBlock(r)
			m.log(f, "drop", r, 0, -m.t.Block(r).Span.Len(), "a call has one result; another one was kept that says all of it")
		}
	}
	if len(keep) > 1 && x.CallID != "" && m.joinResults(f, keep) {
		return
	}
	for _, r := range keep[1:] {
		text, media := m.quotation(r)
		m.quote(f, r, text, media, "a call has one result; this one is kept as quoted text")
	}
}

// realResults lists the results without copies and, if there is a real one, without those
// that some repair made up. There is always one.
func (m *mender) realResults(all []transcript.BlockID) (keep []transcript.BlockID) {
	made := transcript.NoBlock
	seen := make(map[string]bool)
	for _, r := range all {
		said := m.said(r)
		switch {
		case seen[said]:
		case Synthetic(m.resultText(r)):
			made = r
		default:
			keep = append(keep, r)
		}
		seen[said] = true
	}
	if len(keep) == 0 {
		keep = append(keep, made)
	}
	return keep
}

// joinResults writes what several results say into the first of them.
func (m *mender) joinResults(f *Finding, all []transcript.BlockID) bool {
	joined, ok := m.g.joined(m.draft, all)
	if !ok || slices.ContainsFunc(all, m.doubled) || !m.g.setJoined(m, all, joined) {
		return false
	}
	m.settled[all[0]] = true
	_, path := m.g.resultObject(m.draft, all[0])
	known := make(map[string]string)
	m.besides(all[0], func(name string, value []byte) { known[name] = string(Canonical(value)) })
	if slices.ContainsFunc(all, func(r transcript.BlockID) bool { return m.t.Block(r).Failed }) && !m.t.Block(all[0]).Failed {
		m.g.markFailed(m, all[0])
	}
	for _, r := range all[1:] {
		m.join(m.at(all[0]), m.at(r))
		m.dropBlock(r)
		m.log(f, "merge", r, 0, 0, "results of one call, joined in order")
		m.tellApart(f, known, path, r)
	}
	return true
}

// besides visits the members of a result beside what it says.
func (m *mender) besides(b transcript.BlockID, visit func(name string, value []byte)) {
	object, _ := m.g.resultObject(m.draft, b)
	said := m.saidIn(b)
	for _, e := range jsonspan.Members(m.raw, jsonspan.Span(object)) {
		name := string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End]))
		if name != "content" && name != "output" && name != "response" && name != "parts" && name != "is_error" && name != "status" && name != said {
			visit(name, m.raw[e.Value.Start:e.Value.End])
		}
	}
}

// tellApart records the members of a result that the one it was joined to does not have.
func (m *mender) tellApart(f *Finding, known map[string]string, path string, from transcript.BlockID) {
	m.besides(from, func(name string, value []byte) {
		if v, ok := known[name]; string(value) == "null" || ok && v == string(Canonical(value)) {
			return
		}
		m.log(f, "drop", from, 0, -len(value), "%s of a result that was joined to another", name)
		if c := &m.changes[len(m.changes)-1]; c.Path != "" {
			c.Path = join(join(c.Path, path), name)
		}
	})
}

// value returns what a result says as it is written, quotes included; nil if it has none.
func (d *draft) value(b transcript.BlockID) []byte {
	blk := d.t.Block(b)
	switch {
	case blk.Body == blk.Span:
		return nil
	case d.inString(blk.Body):
		return d.raw[blk.Body.Start-1 : blk.Body.End+1]
	}
	return d.t.Bytes(blk.Body)
}

// joined joins what outputs of one kind say, if that is texts and lists.
func (common) joined(d *draft, all []transcript.BlockID) ([]byte, bool) {
	var values [][]byte
	kind := d.text(d.t.Block(all[0]).Span, "type")
	for _, b := range all {
		v := d.value(b)
		if d.text(d.t.Block(b).Span, "type") != kind {
			return nil, false // outputs of different kinds
		}
		values = append(values, v)
	}
	return d.joinValues(values, kind != "shell_call_output")
}

// joinValues joins strings to a string and, where lists may hold texts, lists and strings to
// a list.
func (d *draft) joinValues(all [][]byte, mixed bool) ([]byte, bool) {
	strings, values := 0, all[:0]
	for _, v := range all {
		if v == nil || string(v) == "null" || string(v) == `""` {
			continue
		}
		switch v[0] {
		case '"':
			strings++
		case '[':
		default:
			return nil, false
		}
		values = append(values, v)
	}
	switch {
	case strings == len(values):
		return joinStrings(values), true
	case strings > 0 && !mixed:
		return nil, false
	}
	var items [][]byte
	for _, v := range values {
		if v[0] == '"' {
			items = append(items, d.g.textBlock(transcript.User, v))
			continue
		}
		for _, e := range jsonspan.Elements(v, jsonspan.Span{End: len(v)}) {
			items = append(items, v[e.Start:e.End])
		}
	}
	return array(items...), true
}

// joinStrings joins JSON strings to one.
func joinStrings(values [][]byte) []byte {
	out := []byte{'"'}
	for i, v := range values {
		if i > 0 {
			out = append(out, `\n\n`...)
		}
		out = append(out, v[1:len(v)-1]...)
	}
	return append(out, '"')
}

func (common) setJoined(m *mender, all []transcript.BlockID, joined []byte) bool {
	return m.setResult(all[0], joined)
}

// lead sets a member of an object; a new one stands first, so that it is in nobody's way.
func (m *mender) lead(object transcript.Span, name string, value []byte) {
	if _, ok := m.member(object, name); ok || len(jsonspan.Members(m.raw, jsonspan.Span(object))) == 0 {
		m.setMember(object, name, value)
		return
	}
	raw := append(append(append(quote(name), ':'), value...), ',')
	m.edit(jsonspan.Edit{Span: jsonspan.Span{Start: object.Start + 1, End: object.Start + 1}, New: raw})
}

func (common) markFailed(*mender, transcript.BlockID) {}

func (anthropic) markFailed(m *mender, b transcript.BlockID) {
	m.lead(m.t.Block(b).Span, "is_error", []byte("true"))
}

func (interactions) markFailed(m *mender, b transcript.BlockID) {
	m.lead(m.t.Block(b).Span, "is_error", []byte("true"))
}

func (bedrock) markFailed(m *mender, b transcript.BlockID) {
	c := checker{Request: m.Request, o: CheckOptions{Strict: m.strict}}
	if at, ok := m.member(m.t.Block(b).Span, "toolResult"); ok && !c.wants(statusField) {
		m.lead(at, "status", quote("error"))
	}
}

func (common) resultObject(d *draft, b transcript.BlockID) (transcript.Span, string) {
	return d.t.Block(b).Span, ""
}

func (common) beside(*draft, transcript.BlockID) (transcript.Span, bool) {
	return transcript.Span{}, false
}

func (bedrock) resultObject(d *draft, b transcript.BlockID) (transcript.Span, string) {
	inner, _ := d.member(d.t.Block(b).Span, "toolResult")
	return inner, "toolResult"
}

func (gemini) resultObject(d *draft, b transcript.BlockID) (transcript.Span, string) {
	name := geminiMember(d, b, false)
	inner, _ := d.member(d.t.Block(b).Span, name)
	return inner, name
}

// beside returns the parts of a response: the media that it shows.
func (g gemini) beside(d *draft, b transcript.BlockID) (transcript.Span, bool) {
	inner, _ := g.resultObject(d, b)
	parts, ok := d.member(inner, "parts")
	return parts, ok && d.raw[parts.Start] == '['
}

// joined joins responses that say one text each under one name to such a one, and others
// to a list of outputs.
func (gemini) joined(d *draft, all []transcript.BlockID) ([]byte, bool) {
	name, alike := "", true
	var texts, whole [][]byte
	for _, b := range all {
		v := d.value(b)
		if v == nil {
			continue
		}
		whole = append(whole, v)
		members := jsonspan.Members(v, jsonspan.Span{End: len(v)})
		if len(members) != 1 || v[members[0].Value.Start] != '"' {
			alike = false
			continue
		}
		key := string(jsonspan.Decode(nil, v[members[0].Key.Start:members[0].Key.End]))
		alike = alike && (name == "" || name == key)
		name = key
		texts = append(texts, v[members[0].Value.Start:members[0].Value.End])
	}
	if alike && name != "" {
		return object(name, joinStrings(texts)), true
	}
	return object("output", array(whole...)), true
}

func (g gemini) setJoined(m *mender, all []transcript.BlockID, joined []byte) bool {
	at := m.t.Block(all[0]).Span
	var media [][]byte
	more := false
	for i, b := range all {
		if parts, ok := g.beside(m.draft, b); ok {
			for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(parts)) {
				media, more = append(media, m.raw[e.Start:e.End]), more || i > 0
			}
		}
	}
	name := geminiMember(m.draft, all[0], false)
	if !m.setAt(at, []string{name, "response"}, joined) {
		return false
	}
	return !more || m.setAt(at, []string{name, "parts"}, array(media...))
}
