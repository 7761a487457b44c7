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

// unpack undoes a content coding, gzip, deflate, br or zstd; what comes of it has at most so
// many bytes. An error says nothing about who is to blame.
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

// codingName is a content coding in lower case.
func codingName(coding string) string { return strings.ToLower(strings.TrimSpace(coding)) }

// passing reports whether a reply in a content coding can be read while it passes.
func isStreamable(coding string) bool {
	switch codingName(coding) {
	case "gzip", "x-gzip", "br":
		return true
	}
	return false
}

// opened undoes such a coding piece by piece. Brotli takes a window of 16 MB at most.
func newDecompressor(coding string, packed io.Reader) (io.Reader, error) {
	switch codingName(coding) {
	case "gzip", "x-gzip":
		return gzip.NewReader(packed)
	case "br":
		return brotli.NewReader(packed), nil
	}
	return nil, errCoding
}

// inflate undoes deflate: with the envelope of zlib, as it is written down, or without, as some
// clients send it all the same.
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

// readUpTo reads what so many packed bytes unpack to.
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

// zstdReaders are costly to make. They run in the goroutine that reads, and take no
// window that is larger than what is worth looking at.
var zstdReaders sync.Pool

func zstdReader(packed []byte) (*zstd.Decoder, error) {
	if z, ok := zstdReaders.Get().(*zstd.Decoder); ok {
		return z, z.Reset(bytes.NewReader(packed))
	}
	return zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20), zstd.WithDecoderLowmem(true))
}
