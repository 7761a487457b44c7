package store

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/s2"
)

// Messages of a kilobyte or two, which most are, are packed by what needs no large tables:
// what repeats is left out. In larger ones what remains is written with fewer bits for what is
// frequent; both together come within a twentieth of zstd. In small ones the table of the bits
// took longer to make than all the rest, and a tenth of what it saved.

// minHuff is the least size that is worth a table of bits.
const minHuffman = 4 << 10

var huffScratches = sync.Pool{New: func() any { return &huff0.Scratch{Reuse: huff0.ReusePolicyNone} }}

// packSmall returns bytes that are fewer, if there are any, and how they were packed.
func compressSmall(raw []byte) (small []byte, codec int) {
	if small = s2.EncodeBetter(nil, raw); len(raw) < minHuffman {
		return small, codecS2
	}
	h := huffScratches.Get().(*huff0.Scratch)
	defer huffScratches.Put(h)
	bits, _, err := huff0.Compress1X(small, h)
	if err != nil { // nothing is more frequent than the rest
		return small, codecS2
	}
	out := binary.AppendUvarint(make([]byte, 0, len(bits)+3), uint64(len(small)))
	return append(out, bits...), codecS2 | codecHuff
}

var errBadCompression = errors.New("what is packed is damaged")

// unpackSmall is the way back.
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
