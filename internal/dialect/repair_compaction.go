package dialect

import (
	"bytes"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// dropCompacted drops what stands in front of the newest signed compaction, which must be
// the first block of all: it is the summary of that.
func (m *repairer) dropCompacted(f *Finding) {
	last := transcript.NoBlock
	for _, n := range m.notes {
		if n.fault == compactionNotFirst {
			last = transcript.BlockID(n.block)
		}
	}
	if last == transcript.NoBlock || !m.free(last) {
		return
	}
	at := m.t.Block(last).Message
	if m.extra[at]&badRole != 0 {
		return // whose it is, nobody knows yet
	}
	for i := range at {
		if !m.untouched(i) {
			return
		}
	}
	const why = "the provider's compaction stands for it, and must be first"
	m.superseded = at
	for i := range at {
		m.dropMessage(i)
		m.log(f, ActionDrop, transcript.NoBlock, i, -m.t.Messages()[i].Span.Len(), why)
	}
	for b := m.t.Messages()[at].First; b < last; b++ {
		m.dropBlock(b)
		m.log(f, ActionDrop, b, at, -m.t.Block(b).Span.Len(), why)
	}
}

// betaHeaders are what blocks need to be taken.
var betaHeaders = map[string]string{
	"compaction": "compact-2026-01-12", "tool_addition": "mid-conversation-tool-changes-2026-07-01", "tool_removal": "mid-conversation-tool-changes-2026-07-01",
	"tool_definition": "inline-tools-2026-09-15", "fallback": "server-side-fallback-2026-07-01", "advisor_tool_result": "advisor-tool-2026-03-01",
}

// signedBeta is what a compaction on demand needs.
const signedBeta = "compact-2026-09-04"

// allowBeta adds the header that a block needs to those that the body lists. Without a list
// that can be added to, the block goes; headers are not changed here.
func (m *repairer) allowBeta(f *Finding) {
	if !m.head.betasGiven {
		return
	}
	header := betaHeaders[f.arg]
	if _, signed := m.member(m.t.Block(f.Block).Span, "signature"); signed && f.arg == "compaction" {
		header = signedBeta
	}
	for _, name := range []string{"betas", "anthropic_beta"} {
		if at, ok := m.bodyMember(name); !ok || m.raw[at.Start] != '[' || header == "" {
			continue
		}
		l, raw := m.bodyList(name), quote(header)
		end := len(l.elems)
		if !slices.ContainsFunc(l.put[end], func(it item) bool { return bytes.Equal(it.raw, raw) }) {
			l.insert(end, item{raw: raw})
			m.logHead(f, ActionInsert, name, len(header), "%s: a block of the history needs it", header)
		}
		return
	}
	m.dropFound(f)
}
