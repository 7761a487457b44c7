package agentlog

import (
	"slices"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// promptText is the prompt added to a thread that ends with the assistant, so that Check sees the
// request as the agent will send it.
const promptText = "Continue."

// A bodyBuilder assembles the request body of a thread.
type bodyBuilder struct {
	dialect wire.Dialect
	body    []byte
	parts   []messageSource
}

func (l *Log) newBodyBuilder(dialect wire.Dialect, model string) *bodyBuilder {
	b := new(bodyBuilder)
	b.begin(dialect, model)
	return b
}

// begin writes the members before the messages.
func (b *bodyBuilder) begin(d wire.Dialect, model string) {
	b.dialect = d
	b.body = append(b.body, '{')
	if model != "" && !dialect.ModelInURL(d) {
		b.body = append(append(append(b.body, `"model":`...), quote(model)...), ',')
	}
	b.body = append(append(append(b.body, '"'), d.List()...), `":[`...)
}

// reserve allocates room for n bytes of messages. Growing step by step would take several times the
// memory.
func (b *bodyBuilder) reserve(n int) { b.body = slices.Grow(b.body, n+64) }

func (b *bodyBuilder) appendComma() {
	if b.body[len(b.body)-1] != '[' {
		b.body = append(b.body, ',')
	}
}

// appendVerbatim adds a message with its bytes in the file.
func (b *bodyBuilder) appendVerbatim(unit int, raw []byte, at jsonspan.Span) {
	b.appendComma()
	b.body = append(b.body, raw[at.Start:at.End]...)
	b.parts = append(b.parts, messageSource{unit: unit, start: at.Start, shift: at.Start})
}

// appendContent adds a message with the given role and the bytes of its content in the file,
// without the agent's other members.
func (b *bodyBuilder) appendContent(unit int, raw []byte, at jsonspan.Span, role string, content jsonspan.Span) {
	b.appendComma()
	start := len(b.body)
	b.body = append(append(append(b.body, `{"role":"`...), role...), `","content":`...)
	by := content.Start - (len(b.body) - start)
	b.body = append(append(b.body, raw[content.Start:content.End]...), '}')
	b.parts = append(b.parts, messageSource{unit: unit, start: at.Start, shift: by})
}

// appendBuilt adds an assembled message. blocks holds the span of each block in the file.
func (b *bodyBuilder) appendBuilt(unit int, message []byte, blocks []jsonspan.Span) {
	b.appendComma()
	b.body = append(b.body, message...)
	b.parts = append(b.parts, messageSource{unit: unit, start: -1, blockSpans: blocks})
}

// addThread parses the assembled body and adds it as a thread. It reports a body that cannot be
// parsed as damage and returns nil.
func (l *Log) addThread(name string, kind Kind, model string, b *bodyBuilder, prompt []byte) *Thread {
	t := &Thread{Name: name, Kind: kind, sources: b.parts, targetPercent: 50}
	if row, _ := l.Format.spec(); row.targetPercent > 0 {
		t.targetPercent = row.targetPercent
	}
	if prompt != nil {
		b.appendComma()
		b.body = append(b.body, prompt...)
		t.hasPrompt = true
	}
	b.body = append(b.body, "]}"...)
	if l.options.Model != "" && model == "" {
		model = l.options.Model
	}
	r, err := wire.Parse(b.body, wire.Options{Dialect: b.dialect, Profile: l.options.Profile, Model: model, Structural: l.hasValidStrings})
	if err != nil {
		first := l.units[b.parts[0].unit]
		l.damageAt(first.span.Start, first.line, "unreadable")
		return nil
	}
	t.Request = r
	l.Threads = append(l.Threads, t)
	return t
}

// pairCounts counts the calls and results of one conversation by id.
type pairCounts struct {
	calls, results map[string]int
}

func newPairCounts() *pairCounts {
	return &pairCounts{make(map[string]int), make(map[string]int)}
}

// addPairsThread adds a thread unless it is empty. It is for agents that rebuild their requests
// from their own format, so that only pairs are checked.
func (l *Log) addPairsThread(name string, kind Kind, model string, b *bodyBuilder, pairs *pairCounts) {
	if len(b.parts) == 0 {
		return
	}
	if t := l.addThread(name, kind, model, b, nil); t != nil {
		t.pairsOnly, t.counts = true, pairs
	}
}

// addToTally adds a conversation to the tally.
func (l *Log) addToTally(pairs *pairCounts, messages int) {
	l.tally.Conversations++
	l.tally.Messages += messages
	for id, n := range pairs.calls {
		l.tally.Calls += n
		l.tally.OrphanCalls += countUnmatched(id, n, pairs.results[id])
	}
	for id, n := range pairs.results {
		l.tally.Results += n
		l.tally.OrphanResults += countUnmatched(id, n, pairs.calls[id])
	}
}

// countUnmatched returns how many of n calls or results lack a counterpart. An id may be used
// several times; calls and results without an id are paired by number.
func countUnmatched(id string, n, others int) int {
	switch {
	case id == "":
		return max(0, n-others)
	case others == 0:
		return n
	}
	return 0
}
