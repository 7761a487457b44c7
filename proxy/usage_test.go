package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/pare-llm/pare/tokens"
)

func TestWitness(t *testing.T) {
	long := strings.Repeat(`data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"usage \"usage\": {}"}}`+"\n\n", 4000)
	for _, c := range []struct {
		name, reply string
		want        tokens.Usage
		lost        bool
	}{
		{name: "anthropic", reply: `{"content":[{"type":"text","text":"\"usage\":{\"input_tokens\":9}"}],"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":50}}`,
			want: tokens.Usage{Input: 12, Read: 4000, Written: 300, Output: 50}},
		{name: "anthropic stream", reply: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n" + long +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":1500}}\n\n", want: tokens.Usage{Input: 25, Read: 7, Output: 1500}},
		{name: "chat", reply: `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60}}}`, want: tokens.Usage{Input: 40, Read: 60, Output: 20}},
		{name: "responses", reply: `{"output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":90},"output_tokens":5}}`, want: tokens.Usage{Input: 10, Read: 90, Output: 5}},
		{name: "gemini", reply: `[{"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":1}},{"usageMetadata":{"promptTokenCount":8,"cachedContentTokenCount":3,"candidatesTokenCount":7,"thoughtsTokenCount":2}}]`,
			want: tokens.Usage{Input: 5, Read: 3, Output: 9}},
		{name: "interactions", reply: `{"usage":{"total_input_tokens":30,"total_cached_tokens":10,"total_output_tokens":4}}`, want: tokens.Usage{Input: 20, Read: 10, Output: 4}},
		{name: "bedrock", reply: "\x00\x01{\"metrics\":{},\"usage\":{\"inputTokens\":5,\"outputTokens\":6,\"cacheReadInputTokens\":1,\"cacheWriteInputTokens\":2}}\xff", want: tokens.Usage{Input: 5, Read: 1, Written: 2, Output: 6}},
		{name: "lost", reply: `{"input_transformations":[{"type":"thinking_dropped"}],"usage":{"input_tokens":1}}`, want: tokens.Usage{Input: 1}, lost: true},
		{name: "nothing lost", reply: `{"usage":{"input_tokens":1},"input_transformations":[]}`, want: tokens.Usage{Input: 1}},
		{name: "cut off", reply: `{"usage":{"input_tokens":1,"out`},
		{name: "odd", reply: `{"usage":{"input_tokens":-52,"list":["output_tokens",5],"output_tokens":1e3,"tier":"input_tokens","iterations":[{"input_tokens":7}],"cache_creation":{"cache_read_input_tokens":3},"inputTokens":12345678901234567890}}`},
		{name: "spaces", reply: "{\"usage\" : {\"input_tokens\" :\t12 , \"a\\\"b\": 1, \"output_tokens\": 3\n}}", want: tokens.Usage{Input: 12, Output: 3}},
		{name: "other", reply: `{"usage":"none"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			hear := func(w *usageReader, reply string, piece int) (tokens.Usage, bool) {
				for len(reply) > 0 {
					n := min(piece, len(reply))
					w.write([]byte(reply[:n]))
					reply = reply[n:]
				}
				if kept := cap(w.head) + cap(w.tail); kept > 256<<10 && w.coding == "" {
					t.Errorf("%d bytes kept", kept)
				}
				return w.usage()
			}
			for _, piece := range []int{7, 100, 5000, 1 << 20} {
				w := &usageReader{}
				got, lost := hear(w, c.reply, piece)
				if got != c.want || lost != c.lost {
					t.Errorf("in pieces of %d: %+v, lost %v", piece, got, lost)
				}
			}
			var packed bytes.Buffer
			for coding, z := range map[string]io.WriteCloser{"gzip": gzip.NewWriter(&packed), "br": brotli.NewWriter(&packed)} {
				packed.Reset()
				z.Write([]byte(c.reply))
				z.Close()
				if got, lost := hear(&usageReader{coding: coding}, packed.String(), 1000); got != c.want || lost != c.lost {
					t.Errorf("%s: %+v, lost %v", coding, got, lost)
				}
			}
		})
	}
}

func TestWord(t *testing.T) {
	for _, w := range []searchKey{usageKey, lostKey} {
		for _, text := range []string{"", w.text, w.text[:len(w.text)-1], w.text[1:], "x" + w.text, w.text + w.text, w.text[:w.rareIndex+1] + w.text + "y", strings.Repeat(w.text[w.rareIndex:w.rareIndex+1], 9) + w.text + ":1", strings.Repeat(w.text[:w.rareIndex+1], 9)} {
			_, want, has := strings.Cut(text, w.text)
			if got, ok := w.findAfter([]byte(text)); string(got) != want || ok != has {
				t.Errorf("%q after %q: %q, %v", text, w.text, got, ok)
			}
		}
	}
}
