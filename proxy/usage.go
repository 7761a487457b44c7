package proxy

import (
	"bytes"
	"io"
	"sync"

	"github.com/pare-llm/pare/tokens"
)

// A usageReader reads the usage that a provider reports in a reply while the reply is forwarded.
// It keeps the beginning and the end of the reply, where all providers report it.
type usageReader struct {
	head, tail []byte
	// content coding of a compressed reply, which is kept whole up to a limit
	coding string
	total  int
}

const (
	usageHead      = 8 << 10
	usageTail      = 32 << 10
	maxPackedReply = 1 << 20
)

// usageHeads lends buffers for the beginning of replies.
var usageHeads = sync.Pool{New: func() any { return new([usageHead]byte) }}

// A searchKey is a key to search for. The search uses its rarest letter, because quotes and
// common letters would stop it all the time.
type searchKey struct {
	text      string
	rareIndex int // index of the rarest letter
}

var (
	usageKey = searchKey{`"usage`, 4}
	lostKey  = searchKey{`"input_transformations"`, 12}
)

// findAfter returns the bytes that follow the first occurrence.
func (w searchKey) findAfter(b []byte) (rest []byte, ok bool) {
	for at := w.rareIndex; at < len(b); at++ {
		i := bytes.IndexByte(b[at:], w.text[w.rareIndex])
		if i < 0 {
			return nil, false
		}
		at += i
		if found := b[at-w.rareIndex:]; len(found) >= len(w.text) && string(found[:len(w.text)]) == w.text {
			return found[len(w.text):], true
		}
	}
	return nil, false
}

func (w *usageReader) write(b []byte) {
	w.total += len(b)
	limit := usageHead
	if w.coding != "" {
		limit = maxPackedReply
	}
	if w.head == nil && w.coding == "" {
		w.head = usageHeads.Get().(*[usageHead]byte)[:0]
	}
	if room := limit - len(w.head); room > 0 {
		n := min(room, len(b))
		w.head = append(w.head, b[:n]...)
		b = b[n:]
	}
	if w.coding != "" || len(b) == 0 {
		return
	}
	if len(b) >= usageTail {
		w.tail = append(w.tail[:0], b[len(b)-usageTail:]...)
		return
	}
	if len(w.tail)+len(b) > 2*usageTail { // slide now and then, not at every piece
		n := copy(w.tail, w.tail[len(w.tail)-usageTail:])
		w.tail = w.tail[:n]
	}
	w.tail = append(w.tail, b...)
}

// usage returns the usage that was reported, and clears the reader. lost means that the provider
// itself has removed content from the request.
func (w *usageReader) usage() (u tokens.Usage, lost bool) {
	if w.head == nil {
		return u, false
	}
	head := w.head
	defer func() {
		if w.coding == "" {
			usageHeads.Put((*[usageHead]byte)(w.head[:usageHead]))
		}
		*w = usageReader{}
	}()
	if w.coding != "" {
		z, err := newDecompressor(w.coding, bytes.NewReader(head))
		if err != nil {
			return u, false
		}
		// The beginning of a truncated reply is usable.
		head, _ = io.ReadAll(io.LimitReader(z, 8*maxPackedReply))
	}
	read := func(b []byte) {
		for rest := b; ; { // "usage" or "usageMetadata"
			var ok bool
			if rest, ok = usageKey.findAfter(rest); !ok {
				break
			}
			after := bytes.TrimPrefix(rest, []byte("Metadata"))
			if len(after) == 0 || after[0] != '"' {
				continue
			}
			if object := objectAfter(after[1:]); object != nil {
				var c usageFields
				c.read(object)
				c.addTo(&u)
			}
		}
		if rest, ok := lostKey.findAfter(b); ok && listedAfter(rest) {
			lost = true
		}
	}
	if len(w.tail) == 0 {
		read(head)
	} else {
		// A value may cross the boundary if nothing between was left out.
		if w.total == len(w.head)+len(w.tail) {
			read(append(head[:len(head):len(head)], w.tail...))
		} else {
			read(head)
			read(w.tail)
		}
	}
	return u, lost
}

// usageFields are the fields of a usage object of any API.
type usageFields struct {
	// Anthropic, and OpenAI's Responses, whose input includes cached tokens
	inputTokens, outputTokens, cacheRead, cacheWrite, inputCached int
	detailed                                                      bool
	// OpenAI's chat
	promptTokens, completionTokens, promptCached int
	// Gemini, both APIs
	promptTokenCount, cachedContentTokenCount, candidatesTokenCount, thoughtsTokenCount int
	totalInput, totalCached, totalOutput, totalThought                                  int
	// Bedrock
	bedrockInput, bedrockOutput, bedrockRead, bedrockWrite int
}

// read takes the figures of an object. Only whole numbers count, and only those of the object
// itself and of the details in it.
func (c *usageFields) read(object []byte) {
	var key, within []byte
	depth := 0
	for i := 0; i < len(object); i++ {
		switch b := object[i]; {
		case b == '"':
			start := i + 1
			for i++; i < len(object) && object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
			key = object[start:min(i, len(object))]
		case b == '{', b == '[':
			if depth++; depth == 2 {
				within = key
			}
		case b == '}', b == ']':
			if depth--; depth == 1 {
				within = nil
			}
		case b == '-', '0' <= b && b <= '9':
			n, start := 0, i
			for ; '0' <= object[i] && object[i] <= '9'; i++ {
				n = 10*n + int(object[i]-'0')
			}
			if digits := i - start; 0 < digits && digits < 16 && depth <= 2 && ends(object[i]) {
				c.take(string(within), string(key), n)
			}
			for !ends(object[i]) {
				i++
			}
			i--
		}
	}
}

// ends reports whether a byte ends a number. Every object has one, at its own end.
func ends(b byte) bool {
	switch b {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

func (c *usageFields) take(within, key string, n int) {
	switch within {
	case "input_tokens_details":
		if key == "cached_tokens" {
			c.inputCached, c.detailed = n, true
		}
		return
	case "prompt_tokens_details":
		if key == "cached_tokens" {
			c.promptCached = n
		}
		return
	case "":
	default:
		return
	}
	switch key {
	case "input_tokens":
		c.inputTokens = n
	case "output_tokens":
		c.outputTokens = n
	case "cache_read_input_tokens":
		c.cacheRead = n
	case "cache_creation_input_tokens":
		c.cacheWrite = n
	case "prompt_tokens":
		c.promptTokens = n
	case "completion_tokens":
		c.completionTokens = n
	case "promptTokenCount":
		c.promptTokenCount = n
	case "cachedContentTokenCount":
		c.cachedContentTokenCount = n
	case "candidatesTokenCount":
		c.candidatesTokenCount = n
	case "thoughtsTokenCount":
		c.thoughtsTokenCount = n
	case "total_input_tokens":
		c.totalInput = n
	case "total_cached_tokens":
		c.totalCached = n
	case "total_output_tokens":
		c.totalOutput = n
	case "total_thought_tokens":
		c.totalThought = n
	case "inputTokens":
		c.bedrockInput = n
	case "outputTokens":
		c.bedrockOutput = n
	case "cacheReadInputTokens":
		c.bedrockRead = n
	case "cacheWriteInputTokens":
		c.bedrockWrite = n
	}
}

// addTo overwrites the values of u that are present. The values of a stream are cumulative, so
// that the last one counts.
func (c *usageFields) addTo(u *tokens.Usage) {
	read := max(c.cacheRead, c.promptCached, c.cachedContentTokenCount, c.totalCached, c.bedrockRead)
	input := max(c.inputTokens, c.bedrockInput, c.promptTokens-c.promptCached, c.promptTokenCount-c.cachedContentTokenCount, c.totalInput-c.totalCached)
	if c.detailed {
		read = max(read, c.inputCached)
		input = max(0, c.inputTokens-c.inputCached)
	}
	last := func(to *int, n int) {
		if n > 0 {
			*to = n
		}
	}
	last(&u.Input, input)
	last(&u.Read, read)
	last(&u.Written, max(c.cacheWrite, c.bedrockWrite))
	last(&u.Output, max(c.outputTokens, c.completionTokens, c.candidatesTokenCount+c.thoughtsTokenCount, c.totalOutput+c.totalThought, c.bedrockOutput))
}

// objectAfter returns the object that follows a key, or nil if it is missing or incomplete.
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

// listedAfter reports whether a non-empty list follows a key.
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
