package proxy

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare/paretest"
)

// TestMockUnpacks: the mock reads what the proxy reads, so that it refuses what is broken in it.
func TestMockUnpacks(t *testing.T) {
	m := &paretest.Mock{Unpack: decompress}
	for coding, open := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, "deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }, "zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	} {
		for body, want := range map[string]int{
			`{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`:                                                            200,
			`{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]}`: 400,
			`{"model":`: 400,
		} {
			var packed bytes.Buffer
			z := open(&packed)
			io.WriteString(z, body)
			z.Close()
			r := httptest.NewRequest("POST", "/v1/messages", &packed)
			r.Header.Set("Content-Encoding", coding)
			w := httptest.NewRecorder()
			m.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s of %s: %d %s", coding, body, w.Code, w.Body)
			}
		}
	}
}

// FuzzUnpack: whatever comes, no more is unpacked than may be, and nothing panics.
func FuzzUnpack(f *testing.F) {
	var br bytes.Buffer
	w := brotli.NewWriter(&br)
	w.Write([]byte(strings.Repeat(`{"messages":[{"role":"user","content":"hello"}]}`, 50)))
	w.Close()
	for _, seed := range [][]byte{br.Bytes(), br.Bytes()[:br.Len()/2], {0x1f, 0x8b}, {0x78, 0x9c}, {0x28, 0xb5, 0x2f, 0xfd}, {0x6b}, nil} {
		for coding := range 4 {
			f.Add(uint8(coding), seed)
		}
	}
	f.Fuzz(func(t *testing.T, coding uint8, packed []byte) {
		const most = 1 << 16
		name := []string{"br", "gzip", "zstd", "deflate"}[coding%4]
		if out, err := decompress(name, packed, most); err == nil && len(out) > most {
			t.Errorf("%s: %d bytes", name, len(out))
		}
	})
}
