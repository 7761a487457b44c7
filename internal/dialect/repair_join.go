package dialect

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// extraResult settles a call that is answered more than once. What a repair made up goes
// beside a real result, and so does a copy; the others are joined in order. Where nothing
// but the order tells results apart, the first one is the answer and the others are quoted.
func (m *repairer) extraResult(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	if x.Repeats && !m.g.countsCalls {
		return // settled with the call
	}
	if c := m.laterCall(x); c != transcript.NoBlock && !m.namedOtherwise(x, f.Block) && m.differs(x.Results[0], f.Block) && !m.sameCall(x.Call, c) {
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
			m.isCopyAt(m.t.Block(r).Message, m.copied(r, keep))
			m.log(f, ActionDrop, r, 0, -m.t.Block(r).Span.Len(), "a call has one result; another one was kept that says all of it")
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

// copied is what of a result stands in those that are kept: all of it, or what it says.
func (m *repairer) copied(r transcript.BlockID, keep []transcript.BlockID) transcript.Span {
	blk := m.t.Block(r)
	same := func(k transcript.BlockID) bool { return m.spelledAt(m.t.Block(k).Span) == m.spelledAt(blk.Span) }
	switch {
	case slices.ContainsFunc(keep, same):
		return blk.Span
	case blk.Body == blk.Span: // it says nothing
		return transcript.Span{}
	}
	return m.quotesAround(blk.Body)
}

// realResults lists the results without copies and, if there is a real one, without those
// that some repair made up. There is always one.
func (m *repairer) realResults(all []transcript.BlockID) (keep []transcript.BlockID) {
	made := transcript.NoBlock
	seen := make(map[string]bool)
	for _, r := range all {
		said := m.said(r)
		switch {
		case seen[said]:
		case IsSynthetic(m.resultText(r)):
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
func (m *repairer) joinResults(f *Finding, all []transcript.BlockID) bool {
	joined, ok := m.pen.joined(m.draft, all)
	if !ok || slices.ContainsFunc(all, m.doubled) || !m.pen.setJoined(m, all, joined) {
		return false
	}
	m.settled[all[0]] = true
	_, path := m.pen.resultObject(m.draft, all[0])
	known := make(map[string]string)
	m.besides(all[0], func(name string, value []byte) { known[name] = string(Canonical(value)) })
	m.pen.markWorst(m, all)
	for _, r := range all[1:] {
		m.join(m.at(all[0]), m.at(r))
		m.dropBlock(r)
		m.isQuoted(r) // what it says elsewhere is joined to nothing
		m.log(f, ActionMerge, r, 0, 0, "results of one call, joined in order")
		m.noteRemoved(r)
		m.tellApart(f, known, path, r)
	}
	return true
}

// besides visits the members of a result beside what it says.
func (m *repairer) besides(b transcript.BlockID, visit func(name string, value []byte)) {
	object, _ := m.pen.resultObject(m.draft, b)
	said := m.saidIn(b)
	for _, e := range jsonspan.Members(m.raw, jsonspan.Span(object)) {
		name := string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End]))
		if name != "content" && name != "output" && name != "response" && name != "parts" && name != "is_error" && name != "status" && name != said {
			visit(name, m.raw[e.Value.Start:e.Value.End])
		}
	}
}

// tellApart records the members of a result that the one it was joined to does not have.
func (m *repairer) tellApart(f *Finding, known map[string]string, path string, from transcript.BlockID) {
	m.besides(from, func(name string, value []byte) {
		if v, ok := known[name]; string(value) == "null" || ok && v == string(Canonical(value)) {
			return
		}
		m.logRemoved(f, string(value), ActionDrop, from, 0, -len(value), "%s of a result that was joined to another", name)
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
func (commonPen) joined(d *draft, all []transcript.BlockID) ([]byte, bool) {
	var values [][]byte
	kind := d.text(d.t.Block(all[0]).Span, "type")
	for _, b := range all {
		v := d.value(b)
		if d.text(d.t.Block(b).Span, "type") != kind || v == nil && d.saysElsewhere(b) {
			return nil, false
		}
		values = append(values, v)
	}
	return d.joinValues(values, kind != "shell_call_output")
}

// saysElsewhere reports whether a result says something in members that nobody joins.
func (d *draft) saysElsewhere(b transcript.BlockID) bool {
	return slices.ContainsFunc(jsonspan.Members(d.raw, jsonspan.Span(d.t.Block(b).Span)), func(e jsonspan.Member) bool {
		name := string(jsonspan.Decode(nil, d.raw[e.Key.Start:e.Key.End]))
		return name != "status" && !slices.Contains(plumbing, name) && !saysNothing(d.raw[e.Value.Start:e.Value.End])
	})
}

// joinValues joins strings to a string and, where lists may hold texts, lists and strings to
// a list.
func (d *draft) joinValues(all [][]byte, mixed bool) ([]byte, bool) {
	strings, values := 0, all[:0]
	seen := make(map[string]bool, len(all))
	for _, v := range all {
		if v == nil || string(v) == "null" || string(v) == `""` {
			continue
		}
		text := string(Canonical(v))
		if seen[text] {
			continue // they differ in something else
		}
		seen[text] = true
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
		return joinStrings(values, paragraph), true
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

// paragraph parts texts that are joined, as it is written in JSON.
const paragraph = `\n\n`

// joinStrings joins JSON strings to one, with something between them that is written as in JSON.
func joinStrings(values [][]byte, between string) []byte {
	out := []byte{'"'}
	for i, v := range values {
		if i > 0 {
			out = append(out, between...)
		}
		out = append(out, v[1:len(v)-1]...)
	}
	return append(out, '"')
}

func (commonPen) setJoined(m *repairer, all []transcript.BlockID, joined []byte) bool {
	return m.setResult(all[0], joined)
}

// lead sets a member of an object; a new one stands first, so that it is in nobody's way.
func (m *repairer) lead(object transcript.Span, name string, value []byte) {
	if _, ok := m.member(object, name); ok || len(jsonspan.Members(m.raw, jsonspan.Span(object))) == 0 {
		m.setMember(object, name, value)
		return
	}
	raw := append(append(append(quote(name), ':'), value...), ',')
	m.edit(jsonspan.Edit{Span: jsonspan.Span{Start: object.Start + 1, End: object.Start + 1}, New: raw})
}

// statusRank says how bad the status of a result is; what is not known is not good.
func statusRank(value []byte) int {
	switch string(Canonical(value)) {
	case `"completed"`, `"success"`:
		return 0
	case `"failed"`, `"error"`:
		return 3
	case `"incomplete"`:
		return 2
	}
	return 1
}

// anyFailed reports whether one of the results behind the first failed, and the first did not.
func (m *repairer) anyFailed(all []transcript.BlockID) bool {
	return !m.t.Block(all[0]).Failed && slices.ContainsFunc(all[1:], func(r transcript.BlockID) bool { return m.t.Block(r).Failed })
}

func (commonPen) markWorst(*repairer, []transcript.BlockID) {}

func (anthropicPen) markWorst(m *repairer, all []transcript.BlockID) {
	if m.anyFailed(all) {
		m.lead(m.t.Block(all[0]).Span, "is_error", []byte("true"))
	}
}

func (interactionsPen) markWorst(m *repairer, all []transcript.BlockID) {
	if m.anyFailed(all) {
		m.lead(m.t.Block(all[0]).Span, "is_error", []byte("true"))
	}
}

func (bedrockPen) markWorst(m *repairer, all []transcript.BlockID) {
	c := checker{Request: m.Request, o: CheckOptions{Strict: m.strict}}
	if at, ok := m.member(m.t.Block(all[0]).Span, "toolResult"); ok && m.anyFailed(all) && !c.wants(statusField) {
		m.lead(at, "status", quote("error"))
	}
}

// markWorst: items have a status, of which the worst holds for all of them.
func (responsesPen) markWorst(m *repairer, all []transcript.BlockID) {
	var worst []byte
	rank, own := 0, 0
	for i, b := range all {
		at, ok := m.member(m.t.Block(b).Span, "status")
		if !ok || m.raw[at.Start] != '"' {
			continue
		}
		if n := statusRank(m.t.Bytes(at)); n > rank {
			rank, worst = n, m.t.Bytes(at)
		}
		if i == 0 {
			own = rank
		}
	}
	if rank > own {
		m.lead(m.t.Block(all[0]).Span, "status", worst)
	}
}

func (commonPen) resultObject(d *draft, b transcript.BlockID) (transcript.Span, string) {
	return d.t.Block(b).Span, ""
}

func (commonPen) beside(*draft, transcript.BlockID) (transcript.Span, bool) {
	return transcript.Span{}, false
}

func (bedrockPen) resultObject(d *draft, b transcript.BlockID) (transcript.Span, string) {
	inner, _ := d.member(d.t.Block(b).Span, "toolResult")
	return inner, "toolResult"
}

func (geminiPen) resultObject(d *draft, b transcript.BlockID) (transcript.Span, string) {
	name := geminiMember(d, b, false)
	inner, _ := d.member(d.t.Block(b).Span, name)
	return inner, name
}

// beside returns the parts of a response: the media that it shows.
func (g geminiPen) beside(d *draft, b transcript.BlockID) (transcript.Span, bool) {
	inner, _ := g.resultObject(d, b)
	parts, ok := d.member(inner, "parts")
	return parts, ok && d.raw[parts.Start] == '['
}

// joined: a decision is a person's and is joined to no other. What a search of tools found is a list of
// tools, each of them once.
func (g responsesPen) joined(d *draft, all []transcript.BlockID) ([]byte, bool) {
	switch d.text(d.t.Block(all[0]).Span, "type") {
	case "mcp_approval_response":
		return nil, false
	case "tool_search_output":
		return g.joinedTools(d, all)
	}
	return commonPen{}.joined(d, all)
}

// joinedTools lists the tools that several searches found; it is false if one of them is not a list, or if
// two tools of one name differ.
func (responsesPen) joinedTools(d *draft, all []transcript.BlockID) ([]byte, bool) {
	var tools [][]byte
	known := make(map[string]string)
	for _, b := range all {
		at, ok := d.member(d.t.Block(b).Span, "tools")
		if !ok || d.raw[at.Start] != '[' || d.text(d.t.Block(b).Span, "type") != "tool_search_output" {
			return nil, false
		}
		for _, e := range jsonspan.Elements(d.raw, jsonspan.Span(at)) {
			name, tool := d.text(tspan(e), "name"), string(Canonical(d.raw[e.Start:e.End]))
			if said, ok := known[name]; ok && said != tool {
				return nil, false
			} else if !ok {
				known[name] = tool
				tools = append(tools, d.raw[e.Start:e.End])
			}
		}
	}
	return array(tools...), true
}

func (responsesPen) setJoined(m *repairer, all []transcript.BlockID, joined []byte) bool {
	blk := m.t.Block(all[0])
	if blk.Body == blk.Span && string(joined) == `""` {
		return true // none of them has an output
	}
	return m.setResult(all[0], joined)
}

// joined joins responses that say one text each under one name to such a one, and others
// to a list of outputs, or of errors if one of them is.
func (geminiPen) joined(d *draft, all []transcript.BlockID) ([]byte, bool) {
	name, alike := "", true
	var texts, whole [][]byte
	seen := make(map[string]bool, len(all))
	for _, b := range all {
		v := d.value(b)
		if v == nil || seen[string(Canonical(v))] {
			continue
		}
		seen[string(Canonical(v))] = true
		whole = append(whole, v)
		members := jsonspan.Members(v, jsonspan.Span{End: len(v)})
		if len(members) != 1 || v[members[0].Value.Start] != '"' {
			alike = false
			continue
		}
		key := string(jsonspan.Decode(nil, v[members[0].Key.Start:members[0].Key.End]))
		if name == "output" && key == "error" || name == "error" && key == "output" {
			name, key = "error", "error" // one that failed speaks for all
		}
		alike = alike && (name == "" || name == key)
		name = key
		texts = append(texts, v[members[0].Value.Start:members[0].Value.End])
	}
	switch {
	case len(whole) == 1: // they differ in something else
		return whole[0], true
	case alike && name != "":
		return object(name, joinStrings(texts, paragraph)), true
	case slices.ContainsFunc(all, func(b transcript.BlockID) bool { return d.t.Block(b).Failed }):
		return object("error", array(whole...)), true
	}
	return object("output", array(whole...)), true
}

func (g geminiPen) setJoined(m *repairer, all []transcript.BlockID, joined []byte) bool {
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
