package rules

import (
	"bytes"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
)

// mayHaveFailed reports whether a result can be a failure at all, which is cheap to tell in
// dialects that mark failures.
func (s *historyView) mayHaveFailed(x *transcript.Exchange) bool {
	return !dialect.MarksFailure(s.r.Dialect) || s.t.Block(x.Results[0]).Failed
}

// isResultCleared reports whether the content of a result was removed before.
func (s *historyView) isResultCleared(x *transcript.Exchange) bool {
	return dialect.ResultIsCleared(s.r, x.Results[0])
}

// resultHead returns the beginning of a result in lower case. It is valid until the next call.
func (s *historyView) resultHead(result transcript.BlockID) []byte {
	s.textBuffer = dialect.AppendHead(s.r, s.textBuffer[:0], result)
	return bytes.TrimSpace(s.textBuffer)
}

// outcome classifies the result of a whole exchange.
func (s *historyView) outcome(x *transcript.Exchange) transcript.Outcome {
	return s.r.Outcome(x.Results[0])
}
