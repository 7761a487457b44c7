package store

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/s2"
)

// minHuffman is the smallest size in bytes for Huffman coding. Below it, the table took longer than
// everything else and used a tenth of the savings.
const minHuffman = 4 << 10

var huffScratches = sync.Pool{New: func() any { return &huff0.Scratch{Reuse: huff0.ReusePolicyNone} }}

// compressSmall compresses with S2, which needs no large tables, and from minHuffman on with
// Huffman coding as well. Together they come within 5 % of zstd.
func compressSmall(raw []byte) (small []byte, codec int) {
	if small = s2.EncodeBetter(nil, raw); len(raw) < minHuffman {
		return small, codecS2
	}
	h := huffScratches.Get().(*huff0.Scratch)
	defer huffScratches.Put(h)
	bits, _, err := huff0.Compress1X(small, h)
	if err != nil {
		return small, codecS2
	}
	out := binary.AppendUvarint(make([]byte, 0, len(bits)+3), uint64(len(small)))
	return append(out, bits...), codecS2 | codecHuff
}

var errBadCompression = errors.New("what is packed is damaged")

// decompressSmall is the inverse of compressSmall.
func decompressSmall(codec int, stored []byte) ([]byte, error) {
	if codec&codecHuff != 0 {
		n, w := binary.Uvarint(stored)
		if w <= 0 || n > uint64(s2.MaxEncodedLen(minZstd)) {
			return nil, errBadCompression
		}
		h := huffScratches.Get().(*huff0.Scratch)
		defer huffScratches.Put(h)
		h, bits, err := huff0.ReadTable(stored[w:], h)
		if err != nil {
			return nil, err
		}
		if stored, err = h.Decoder().Decompress1X(make([]byte, 0, n), bits); err != nil {
			return nil, err
		}
		if len(stored) != int(n) {
			return nil, errBadCompression
		}
	}
	if codec&codecS2 == 0 {
		return nil, errBadCompression
	}
	if n, err := s2.DecodedLen(stored); err != nil || n > minZstd {
		return nil, errBadCompression
	}
	return s2.Decode(nil, stored)
}
