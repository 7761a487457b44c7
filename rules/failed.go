package rules

import (
	"bytes"

	"github.com/pare-llm/pare/transcript"
)

// mayFail reports whether a result can be a failure; if not, its outcome need not
// be asked for.
func (s *historyView) mayHaveFailed(x *transcript.Exchange) bool {
	return !wirex.MarksFailure(s.r.Dialect) || s.t.Block(x.Results[0]).Failed
}

// gone reports whether what a result said has been taken away before.
func (s *historyView) isResultCleared(x *transcript.Exchange) bool {
	return wirex.ResultIsCleared(s.r, x.Results[0])
}

// head returns the beginning of what a result says, in lower case. It is good until
// the next call.
func (s *historyView) resultHead(result transcript.BlockID) []byte {
	s.textBuffer = wirex.AppendHead(s.r, s.textBuffer[:0], result)
	return bytes.TrimSpace(s.textBuffer)
}

// outcome judges the result of a whole exchange.
func (s *historyView) outcome(x *transcript.Exchange) transcript.Outcome {
	return s.r.Outcome(x.Results[0])
}
