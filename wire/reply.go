package wire

import (
	"bytes"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// Reply is how long the request lets the reply be, in tokens; zero: it does not say.
func (r *Request) Reply() int {
	raw := bytes.TrimSpace(r.Raw())
	if len(raw) == 0 || raw[0] != '{' {
		return 0
	}
	return replyIn(raw, jsonspan.Span{End: len(raw)})
}

func replyIn(raw []byte, object jsonspan.Span) (most int) {
	for _, m := range jsonspan.Members(raw, object) {
		value := raw[m.Value.Start:m.Value.End]
		switch string(raw[m.Key.Start:m.Key.End]) {
		case "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens":
			if n, err := strconv.Atoi(string(value)); err == nil {
				most = max(most, n)
			}
		case "generationConfig", "generation_config", "inferenceConfig":
			if value[0] == '{' {
				most = max(most, replyIn(raw, m.Value))
			}
		}
	}
	return most
}
