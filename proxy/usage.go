package proxy

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"

	"github.com/pare-llm/pare/tokens"
)

// A witness listens to a reply that passes, and tells at its end what the provider says
// that it has counted. It keeps the beginning and the end: providers name the figures
// there, in a stream as in one object, and a reply may be long.
type witness struct {
	head, tail []byte
	packed     bool // gzip: kept whole, as far as it fits
	total      int
}

const (
	witnessHead   = 8 << 10
	witnessTail   = 32 << 10
	witnessPacked = 1 << 20
)

func (w *witness) hear(b []byte) {
	w.total += len(b)
	limit := witnessHead
	if w.packed {
		limit = witnessPacked
	}
	if room := limit - len(w.head); room > 0 {
		n := min(room, len(b))
		w.head = append(w.head, b[:n]...)
		b = b[n:]
	}
	if w.packed || len(b) == 0 {
		return
	}
	if len(b) >= witnessTail {
		w.tail = append(w.tail[:0], b[len(b)-witnessTail:]...)
		return
	}
	if len(w.tail)+len(b) > 2*witnessTail { // slide now and then, not at every piece
		n := copy(w.tail, w.tail[len(w.tail)-witnessTail:])
		w.tail = w.tail[:n]
	}
	w.tail = append(w.tail, b...)
}

// tell reads what was heard. Lost says that the provider itself has left something out of
// the request.
func (w *witness) tell() (u tokens.Usage, lost bool) {
	head := w.head
	if w.packed {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return u, false
		}
		// What comes out of a packed reply that was cut off is good as far as it goes.
		head, _ = io.ReadAll(io.LimitReader(z, 8*witnessPacked))
	}
	read := func(b []byte) {
		for _, name := range [][]byte{[]byte(`"usage"`), []byte(`"usageMetadata"`)} {
			for rest := b; ; {
				i := bytes.Index(rest, name)
				if i < 0 {
					break
				}
				rest = rest[i+len(name):]
				if object := objectAfter(rest); object != nil {
					var c counted
					if json.Unmarshal(object, &c) == nil {
						c.add(&u)
					}
				}
			}
		}
		const transformations = `"input_transformations"`
		if i := bytes.Index(b, []byte(transformations)); i >= 0 && listedAfter(b[i+len(transformations):]) {
			lost = true
		}
	}
	if len(w.tail) == 0 {
		read(head)
	} else {
		// A figure may lie across the seam if nothing between was left out.
		if w.total == len(w.head)+len(w.tail) {
			read(append(head[:len(head):len(head)], w.tail...))
		} else {
			read(head)
			read(w.tail)
		}
	}
	return u, lost
}

// counted is a usage in the words of any of the APIs.
type counted struct {
	// Anthropic, and OpenAI's Responses, which counts what was cached in its input
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	CacheRead    int `json:"cache_read_input_tokens"`
	CacheWrite   int `json:"cache_creation_input_tokens"`
	InputDetails *struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	// OpenAI's chat
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	PromptDetails    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	// Gemini, both APIs
	PromptTokenCount        int `json:"promptTokenCount"`
	CachedContentTokenCount int `json:"cachedContentTokenCount"`
	CandidatesTokenCount    int `json:"candidatesTokenCount"`
	ThoughtsTokenCount      int `json:"thoughtsTokenCount"`
	TotalInput              int `json:"total_input_tokens"`
	TotalCached             int `json:"total_cached_tokens"`
	TotalOutput             int `json:"total_output_tokens"`
	TotalThought            int `json:"total_thought_tokens"`
	// Bedrock
	BedrockInput  int `json:"inputTokens"`
	BedrockOutput int `json:"outputTokens"`
	BedrockRead   int `json:"cacheReadInputTokens"`
	BedrockWrite  int `json:"cacheWriteInputTokens"`
}

// add takes figures over. Those of a stream are sums so far, so the last one counts.
func (c *counted) add(u *tokens.Usage) {
	read := max(c.CacheRead, c.PromptDetails.Cached, c.CachedContentTokenCount, c.TotalCached, c.BedrockRead)
	input := max(c.InputTokens, c.BedrockInput, c.PromptTokens-c.PromptDetails.Cached, c.PromptTokenCount-c.CachedContentTokenCount, c.TotalInput-c.TotalCached)
	if c.InputDetails != nil {
		read = max(read, c.InputDetails.Cached)
		input = max(0, c.InputTokens-c.InputDetails.Cached)
	}
	last := func(to *int, n int) {
		if n > 0 {
			*to = n
		}
	}
	last(&u.Input, input)
	last(&u.Read, read)
	last(&u.Written, max(c.CacheWrite, c.BedrockWrite))
	last(&u.Output, max(c.OutputTokens, c.CompletionTokens, c.CandidatesTokenCount+c.ThoughtsTokenCount, c.TotalOutput+c.TotalThought, c.BedrockOutput))
}

// objectAfter is the object that follows a key, or nil: none does, or it is cut off.
func objectAfter(b []byte) []byte {
	b, ok := valueAfter(b)
	if !ok || b[0] != '{' {
		return nil
	}
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return b[:i+1]
			}
		}
	}
	return nil
}

// listedAfter reports whether a list that is not empty follows a key.
func listedAfter(b []byte) bool {
	b, ok := valueAfter(b)
	if !ok || b[0] != '[' {
		return false
	}
	b = bytes.TrimLeft(b[1:], " \t\r\n")
	return len(b) > 0 && b[0] != ']'
}

func valueAfter(b []byte) ([]byte, bool) {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != ':' {
		return nil, false
	}
	b = bytes.TrimLeft(b[1:], " \t\r\n")
	return b, len(b) > 0
}
