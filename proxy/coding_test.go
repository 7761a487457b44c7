package proxy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

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
		if out, err := unpack(name, packed, most); err == nil && len(out) > most {
			t.Errorf("%s: %d bytes", name, len(out))
		}
	})
}
