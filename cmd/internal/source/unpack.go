package source

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// How a file is packed.
const (
	Plain = ""
	Gzip  = "gzip"
	Zstd  = "zstd"
)

// MaxSize is how many bytes a packed file may have unpacked, unless somebody asks for
// more: a file of a megabyte can hold a thousand times as much.
const MaxSize = 1_000_000_000

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// An UnpackError says why a packed file cannot be read.
type UnpackError struct {
	Format string // gzip or zstd
	Err    error
}

func (e *UnpackError) Error() string { return "unpack " + e.Format + ": " + e.Err.Error() }
func (e *UnpackError) Unwrap() error { return e.Err }

// A TooLargeError says that a packed file has more bytes than it may.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string { return "more than " + SizeString(e.Max) + " unpacked" }

// Unpack looks at the first bytes to tell whether r is packed, and returns what gives the
// bytes as they were, up to max (0: all), and how they are packed.
func Unpack(r io.Reader, max int64) (unpacked io.ReadCloser, packed string, err error) {
	magic := make([]byte, len(zstdMagic))
	n, err := io.ReadFull(r, magic)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, Plain, err
	}
	magic = magic[:n]
	r = io.MultiReader(bytes.NewReader(magic), r)
	switch packedLike(magic) {
	case Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, Gzip, &UnpackError{Gzip, err}
		}
		return &unpacker{z, func() { z.Close() }, Gzip, max, max}, Gzip, nil
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, Zstd, &UnpackError{Zstd, err}
		}
		return &unpacker{z, z.Close, Zstd, max, max}, Zstd, nil
	}
	return io.NopCloser(r), Plain, nil
}

// packedLike tells from the first bytes of a file how it is packed.
func packedLike(head []byte) string {
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return Gzip
	case bytes.HasPrefix(head, zstdMagic):
		return Zstd
	}
	return Plain
}

// An unpacker names the format in its errors, and stops at the bound.
type unpacker struct {
	r         io.Reader
	close     func()
	format    string
	max, left int64 // max 0: no bound
}

func (u *unpacker) Close() error { u.close(); return nil }

func (u *unpacker) Read(p []byte) (int, error) {
	if u.max > 0 {
		p = p[:min(int64(len(p)), u.left+1)] // one more tells whether there is more
	}
	n, err := u.r.Read(p)
	if u.left -= int64(n); u.max > 0 && u.left < 0 {
		return 0, &UnpackError{u.format, &TooLargeError{u.max}}
	}
	if err != nil && err != io.EOF {
		err = &UnpackError{u.format, err}
	}
	return n, err
}

// PackedBy tells from a file's name how its content is packed.
func PackedBy(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		return Gzip
	case ".zst":
		return Zstd
	}
	return Plain
}

// Packer returns what packs; nil: nothing has to.
func Packer(packed string) func(io.Writer) (io.WriteCloser, error) {
	switch packed {
	case Gzip:
		return func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
	case Zstd:
		return func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
		}
	}
	return nil
}

// namedJSON reports whether the name of a packed file says that JSON is in it.
func namedJSON(name string) bool {
	inner := strings.TrimSuffix(name, filepath.Ext(name))
	switch strings.ToLower(filepath.Ext(inner)) {
	case ".json", ".jsonl", ".ndjson":
		return true
	}
	return false
}

// units are how sizes are written, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

// SizeString writes a size with the largest unit that needs no fraction.
func SizeString(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// ParseSize reads a size such as 500MB, 4 GB or 1000000.
func ParseSize(text string) (int64, error) {
	s := strings.ToUpper(strings.TrimSpace(text))
	factor := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	var n int64
	for _, c := range s {
		if c < '0' || c > '9' || n > (1<<62)/10/factor {
			n = 0
			break
		}
		n = 10*n + int64(c-'0')
	}
	if n == 0 {
		return 0, fmt.Errorf("%q is no size: write 500MB or 4GB, for example", text)
	}
	return n * factor, nil
}
