package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare/wire"
)

// How the bytes of an entry lie in the table: as they are or compressed, and whole or
// with holes where a medium was taken out.
const (
	codecZstd = 1 << iota
	codecHoles
	codecGone // let go by retention: a compaction stands for it
	codecS2
	codecHuff // around codecS2
	// codecQuarantined is set by fsck for bytes that cannot be read. They stay as they are.
	codecQuarantined
)

const (
	// minPacked is the least size that is worth compressing.
	minPacked = 200
	// minZstd is the least size that is worth the better compression: its tables are a
	// megabyte, which no cache has left when the disk has answered, and for a message of a
	// kilobyte or two that took as long as the disk.
	minZstd = 16 << 10
)

var (
	encoders = sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	}}
	decoders = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			panic(err)
		}
		return d
	}}
)

// A medium is a picture, a document or a recording inside the bytes of an entry. Text
// is never taken out.
type medium struct {
	from, to int // of Raw
	sum      [sha256.Size]byte
	data     []byte // as it is stored: decoded where that gives the same base64 again
	plain    bool   // data is not decoded
}

// minMedium is the least size that is worth a row of its own.
const minMedium = 4 << 10

// findMedia finds the media of a message, raw, that was parsed as a list of one.
func findMedia(r *wire.Request, raw []byte) (all []medium) {
	for span := range wirex.Media(r) {
		from, to := span.Start-1, span.End-1
		text := raw[from:to]
		// A data URL: the medium begins behind its head.
		if bytes.HasPrefix(text, []byte("data:")) {
			comma := bytes.IndexByte(text, ',')
			if comma < 0 || comma > 256 {
				continue
			}
			from += comma + 1
			text = raw[from:to]
		}
		if len(text) < minMedium {
			continue
		}
		m := medium{from: from, to: to, data: bytes.Clone(text), plain: true}
		if data, err := base64.StdEncoding.DecodeString(string(text)); err == nil && base64.StdEncoding.EncodeToString(data) == string(text) {
			m.data, m.plain = data, false
		}
		m.sum = sha256.Sum256(m.data)
		all = append(all, m)
	}
	return all
}

// pack returns the bytes as they are to be stored, in memory of their own. A hole is written as its place, its
// kind and the sum of what was there, in front of the rest:
//
//	count, then per hole: offset in the rest, plain, sum
func pack(raw []byte, media []medium) (codec int, stored []byte) {
	stored = raw
	if len(media) > 0 {
		codec |= codecHoles
		head := binary.AppendUvarint(nil, uint64(len(media)))
		rest := make([]byte, 0, len(raw))
		at := 0
		for _, m := range media {
			rest = append(rest, raw[at:m.from]...)
			at = m.to
			head = binary.AppendUvarint(head, uint64(len(rest)))
			plain := byte(0)
			if m.plain {
				plain = 1
			}
			head = append(append(head, plain), m.sum[:]...)
		}
		rest = append(rest, raw[at:]...)
		stored = append(head, rest...)
	}
	var (
		small []byte
		by    int
	)
	switch {
	case len(stored) < minPacked:
		return codec, bytes.Clone(stored)
	case len(stored) < minZstd:
		small, by = packSmall(stored)
	default:
		e := encoders.Get().(*zstd.Encoder)
		small, by = e.EncodeAll(stored, make([]byte, 0, len(stored)/2)), codecZstd
		encoders.Put(e)
	}
	if len(small) < len(stored)*15/16 {
		return codec | by, small
	}
	return codec, bytes.Clone(stored)
}

// unpack is the way back; fill writes what belongs into a hole.
func unpack(codec int, stored []byte, fill func(hole) ([]byte, error)) ([]byte, error) {
	if codec == codecGone {
		return nil, errGone
	}
	if codec&^(codecZstd|codecHoles|codecS2|codecHuff) != 0 || codec&codecZstd != 0 && codec&(codecS2|codecHuff) != 0 {
		return nil, fmt.Errorf("codec %d is unknown", codec)
	}
	if codec&codecZstd != 0 {
		d := decoders.Get().(*zstd.Decoder)
		whole, err := d.DecodeAll(stored, nil)
		decoders.Put(d)
		if err != nil {
			return nil, err
		}
		stored = whole
	}
	if codec&(codecS2|codecHuff) != 0 {
		whole, err := unpackSmall(codec, stored)
		if err != nil {
			return nil, err
		}
		stored = whole
	}
	if codec&codecHoles == 0 {
		return stored, nil
	}
	list, rest, err := holes(stored)
	if err != nil {
		return nil, err
	}
	var out []byte
	at := 0
	for _, h := range list {
		if h.at < at || h.at > len(rest) {
			return nil, errDamaged
		}
		text, err := fill(h)
		if err != nil {
			return nil, fmt.Errorf("medium %x: %w", h.sum[:8], err)
		}
		out = append(append(out, rest[at:h.at]...), text...)
		at = h.at
	}
	return append(out, rest[at:]...), nil
}

var (
	errDamaged = errors.New("the list of media is damaged")
	errGone    = errors.New("retention has let go of them; the summary is all that is left")
)

// A hole is where a medium was taken out.
type hole struct {
	at    int // in the rest
	plain bool
	sum   []byte
}

// holes reads the list of holes in front of the rest.
func holes(stored []byte) (list []hole, rest []byte, err error) {
	n, w := binary.Uvarint(stored)
	if w <= 0 || n > uint64(len(stored)) {
		return nil, nil, errDamaged
	}
	stored = stored[w:]
	for range n {
		at, w := binary.Uvarint(stored)
		if w <= 0 || len(stored) < w+1+sha256.Size || at > 1<<40 {
			return nil, nil, errDamaged
		}
		list = append(list, hole{int(at), stored[w] == 1, stored[w+1 : w+1+sha256.Size]})
		stored = stored[w+1+sha256.Size:]
	}
	return list, stored, nil
}

// text writes a medium as it stood in the message.
func (h hole) text(data []byte) []byte {
	if h.plain {
		return data
	}
	return base64.StdEncoding.AppendEncode(nil, data)
}
