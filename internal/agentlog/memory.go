package agentlog

import (
	"bytes"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A Memory is what one log after the other is read into, so that a long row of files does
// not cost the arrays of each. A log that was read into it is good until the next one is,
// with its threads, requests and findings. The zero value is ready, and nil is no memory:
// everything is new then. One goroutine at a time may use it.
type Memory struct {
	raw     []byte // of a file, where the reading of it is ours
	units   []unit
	entries []entry
	reader  ccReader
	numbers []int
	marks   []bool
	bodies  []*bodyBuilder // of the threads
	body    int            // the next of them
	parsers []*wire.Parser
	parser  int
	tables  []map[string]int
	table   int
}

// roomy is how many bytes of a file a memory keeps room for.
const roomy = 4 << 20

// begin takes everything back, for a file of so many bytes.
func (m *Memory) begin(size int) *Memory {
	switch {
	case m == nil || size > roomy: // what a large file takes is not kept for the small ones
		return nil
	case m.parser > 64: // nor what many threads take
		m.bodies, m.parsers = m.bodies[:64:64], m.parsers[:64:64]
	}
	m.body, m.parser, m.table = 0, 0, 0
	m.numbers, m.marks = m.numbers[:0], m.marks[:0]
	return m
}

// lines returns room for the units of the lines of a file, and for what Claude Code says in
// them. A memory has room for those of the files before, and is given what has grown.
func (m *Memory) lines(raw []byte) ([]unit, []entry) {
	if m != nil {
		return m.units[:0], m.entries[:0]
	}
	n := bytes.Count(raw, []byte{'\n'}) + 1
	n = min(n, len(raw)/16+1) // more are no objects worth the room
	return make([]unit, 0, n), make([]entry, 0, n)
}

// keepLines keeps the room that lines have taken.
func (m *Memory) keepLines(units []unit, entries []entry) {
	if m != nil {
		m.units, m.entries = units, entries
	}
}

// claude returns a reader of lines of Claude Code. What it has cut for the log before stays as
// it is.
func (m *Memory) claude() *ccReader {
	if m == nil {
		return new(ccReader)
	}
	r := &m.reader
	r.ids, r.blocks, r.before, r.known = r.ids[:0], r.blocks[:0], [3]ccShape{}, jsonspan.Span{}
	r.uuid, r.agent, r.from, r.model, r.id = "", "", "", "", ""
	r.lone, r.kept = false, true
	return r
}

// ints returns room for n numbers.
func (m *Memory) ints(n int) []int {
	if m == nil {
		return make([]int, 0, n)
	}
	at := len(m.numbers)
	if n > cap(m.numbers)-at {
		m.numbers, at = make([]int, 0, 2*cap(m.numbers)+n), 0 // the old ones stay with those who have them
	}
	m.numbers = m.numbers[:at+n]
	return m.numbers[at : at : at+n]
}

// named returns an empty table with room for n numbers by name.
func (m *Memory) named(n int) map[string]int {
	const most = 128 // to empty a large table takes longer than to make a small one
	if m == nil || n > most {
		return make(map[string]int, n)
	}
	if m.table == len(m.tables) {
		m.tables = append(m.tables, make(map[string]int, n))
	}
	all := &m.tables[m.table]
	m.table++
	if len(*all) > most {
		*all = make(map[string]int, n)
	}
	clear(*all)
	return *all
}

// unmarked returns n marks, none of which is set.
func (m *Memory) unmarked(n int) []bool {
	if m == nil {
		return make([]bool, n)
	}
	at := len(m.marks)
	if n > cap(m.marks)-at {
		m.marks, at = make([]bool, 0, 2*cap(m.marks)+n), 0
	}
	m.marks = m.marks[:at+n]
	all := m.marks[at : at+n : at+n]
	clear(all)
	return all
}

// newBody returns an empty body with room for so many bytes and messages.
func (m *Memory) newBody(size, messages int) *bodyBuilder {
	if m == nil {
		return &bodyBuilder{body: make([]byte, 0, size), parts: make([]part, 0, messages)}
	}
	if m.body == len(m.bodies) {
		m.bodies = append(m.bodies, new(bodyBuilder))
	}
	b := m.bodies[m.body]
	m.body++
	if size > cap(b.body) {
		b.body = make([]byte, 0, size+size/4)
	}
	if messages > cap(b.parts) {
		b.parts = make([]part, 0, messages+messages/4)
	}
	b.body, b.parts = b.body[:0], b.parts[:0]
	return b
}

// parse reads the body of a thread.
func (m *Memory) parse(raw []byte, o wire.Options) (*wire.Request, error) {
	if m == nil {
		return wire.Parse(raw, o)
	}
	if m.parser == len(m.parsers) {
		m.parsers = append(m.parsers, new(wire.Parser))
	}
	m.parser++
	return m.parsers[m.parser-1].Parse(raw, o)
}
