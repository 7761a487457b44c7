package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

var (
	errCoding   = errors.New("the content coding is not known")
	errTooLarge = errors.New("what it unpacks to is too large")
)

// decompress undoes a content coding: gzip, deflate, br or zstd. The result has at most limit
// bytes.
func decompress(coding string, packed []byte, most int64) ([]byte, error) {
	var src io.Reader
	switch codingName(coding) {
	case "", "identity":
		return packed, nil
	case "zstd":
		z, err := zstdReader(packed)
		if err != nil {
			return nil, err
		}
		defer zstdReaders.Put(z)
		src = z
	case "deflate":
		return decompressDeflate(packed, most)
	default:
		var err error
		if src, err = newDecompressor(coding, bytes.NewReader(packed)); err != nil {
			return nil, err
		}
	}
	return readUpTo(src, len(packed), most)
}

// codingName returns a content coding in lower case.
func codingName(coding string) string { return strings.ToLower(strings.TrimSpace(coding)) }

// isStreamable reports whether a reply with this content coding can be decompressed while it is
// forwarded.
func isStreamable(coding string) bool {
	switch codingName(coding) {
	case "gzip", "x-gzip", "br":
		return true
	}
	return false
}

// newDecompressor returns a reader for such a coding. Brotli uses a window of at most 16 MB.
func newDecompressor(coding string, packed io.Reader) (io.Reader, error) {
	switch codingName(coding) {
	case "gzip", "x-gzip":
		return gzip.NewReader(packed)
	case "br":
		return brotli.NewReader(packed), nil
	}
	return nil, errCoding
}

// decompressDeflate undoes deflate with the zlib envelope of the standard, or without it, as some
// clients send it.
func decompressDeflate(packed []byte, most int64) ([]byte, error) {
	var err error
	for _, open := range []func(io.Reader) (io.ReadCloser, error){
		zlib.NewReader, func(r io.Reader) (io.ReadCloser, error) { return flate.NewReader(r), nil },
	} {
		from := bytes.NewReader(packed)
		var src io.Reader
		if src, err = open(from); err != nil {
			continue
		}
		out, failed := readUpTo(src, len(packed), most)
		switch {
		case failed == errTooLarge:
			return nil, errTooLarge
		case failed != nil:
			err = failed
		case from.Len() > 0:
			err = errors.New("there is more behind its end")
		default:
			return out, nil
		}
	}
	return nil, err
}

// readUpTo reads at most limit bytes of decompressed data.
func readUpTo(src io.Reader, packed int, most int64) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(min(4*packed, int(most)) + bytes.MinRead)
	n, err := out.ReadFrom(io.LimitReader(src, most+1))
	switch {
	case err != nil:
		return nil, err
	case n > most:
		return nil, errTooLarge
	}
	return out.Bytes(), nil
}

// zstdReaders pools decoders, which are expensive to create. They run in the calling goroutine
// and reject windows that are larger than any body that is inspected.
var zstdReaders sync.Pool

func zstdReader(packed []byte) (*zstd.Decoder, error) {
	if z, ok := zstdReaders.Get().(*zstd.Decoder); ok {
		return z, z.Reset(bytes.NewReader(packed))
	}
	return zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20), zstd.WithDecoderLowmem(true))
}
