package tokens

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func goSource(t testing.TB, n int) []byte {
	var b []byte
	files, _ := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", "net", "http", "*.go"))
	for _, f := range files {
		x, _ := os.ReadFile(f)
		b = append(b, x...)
		if len(b) > n {
			return b[:n]
		}
	}
	return b
}

func BenchmarkExact(b *testing.B) {
	src := goSource(b, 1<<20)
	O200k().Count(nil)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		O200k().Count(src)
	}
}
func BenchmarkUnpack(b *testing.B) {
	for b.Loop() {
		unpackVocabulary(o200kPacked, O200k().size)
	}
}
