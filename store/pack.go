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

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/wire"
)

const (
	// A codec is a set of flags: how the bytes are compressed, and whether media were replaced by
	// references.
	codecZstd = 1 << iota
	codecMedia
	codecGone // deleted by retention
	codecS2
	codecHuff        // around codecS2
	codecQuarantined // set by fsck for unreadable bytes, which are kept
)

const (
	// minCompressed is the smallest size in bytes that is compressed.
	minCompressed = 200
	// minZstd is the smallest size for zstd. Its tables take a megabyte, which is not in the
	// processor's cache after a wait for the disk: for a message of one or two kilobytes, that took
	// as long as the disk.
	minZstd = 16 << 10
)

var (
	encoders = sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			panic(err)
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

// A medium is an image, document or recording in the bytes of an entry.
type medium struct {
	from, to int // in Raw
	sum      [sha256.Size]byte
	data     []byte // decoded from base64, unless encoding it again gives other text
	verbatim bool   // data is not decoded
}

// minMedium is the smallest size in bytes of a medium with a row of its own.
const minMedium = 4 << 10

// findMedia finds the media of a message that was parsed as a list of one.
func findMedia(r *wire.Request, raw []byte) (all []medium) {
	for span := range dialect.Media(r) {
		from, to := span.Start-1, span.End-1
		text := raw[from:to]
		// In a data URL, the medium follows the comma.
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
		m := medium{from: from, to: to, data: bytes.Clone(text), verbatim: true}
		if data, err := base64.StdEncoding.DecodeString(string(text)); err == nil && base64.StdEncoding.EncodeToString(data) == string(text) {
			m.data, m.verbatim = data, false
		}
		m.sum = sha256.Sum256(m.data)
		all = append(all, m)
	}
	return all
}

// encodeBytes returns the bytes as they are stored, in new memory. References to media precede the
// rest:
//
//	count, then per reference: offset in the rest, verbatim, checksum
func encodeBytes(raw []byte, media []medium) (codec int, stored []byte) {
	stored = raw
	if len(media) > 0 {
		codec |= codecMedia
		head := binary.AppendUvarint(nil, uint64(len(media)))
		rest := make([]byte, 0, len(raw))
		at := 0
		for _, m := range media {
			rest = append(rest, raw[at:m.from]...)
			at = m.to
			head = binary.AppendUvarint(head, uint64(len(rest)))
			plain := byte(0)
			if m.verbatim {
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
	case len(stored) < minCompressed:
		return codec, bytes.Clone(stored)
	case len(stored) < minZstd:
		small, by = compressSmall(stored)
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

// decodeBytes is the inverse of encodeBytes. Fill returns the text of a medium.
func decodeBytes(codec int, stored []byte, fill func(mediaRef) ([]byte, error)) ([]byte, error) {
	if codec == codecGone {
		return nil, errExpiredBytes
	}
	if codec&^(codecZstd|codecMedia|codecS2|codecHuff) != 0 || codec&codecZstd != 0 && codec&(codecS2|codecHuff) != 0 {
		return nil, fmt.Errorf("codec %d is unknown", codec)
	}
	if codec&codecZstd != 0 {
		d := decoders.Get().(*zstd.Decoder)
		decoded, err := d.DecodeAll(stored, nil)
		decoders.Put(d)
		if err != nil {
			return nil, err
		}
		stored = decoded
	}
	if codec&(codecS2|codecHuff) != 0 {
		decoded, err := decompressSmall(codec, stored)
		if err != nil {
			return nil, err
		}
		stored = decoded
	}
	if codec&codecMedia == 0 {
		return stored, nil
	}
	list, rest, err := readMediaRefs(stored)
	if err != nil {
		return nil, err
	}
	var out []byte
	at := 0
	for _, h := range list {
		if h.offset < at || h.offset > len(rest) {
			return nil, errBadMediaList
		}
		text, err := fill(h)
		if err != nil {
			return nil, fmt.Errorf("medium %x: %w", h.sum[:8], err)
		}
		out = append(append(out, rest[at:h.offset]...), text...)
		at = h.offset
	}
	return append(out, rest[at:]...), nil
}

var (
	errBadMediaList = errors.New("the list of media is damaged")
	errExpiredBytes = errors.New("retention has let go of them; the summary is all that is left")
)

// A mediaRef is a place from which a medium was removed.
type mediaRef struct {
	offset   int // in the rest
	verbatim bool
	sum      []byte
}

// readMediaRefs reads the references before the rest.
func readMediaRefs(stored []byte) (list []mediaRef, rest []byte, err error) {
	n, w := binary.Uvarint(stored)
	if w <= 0 || n > uint64(len(stored)) {
		return nil, nil, errBadMediaList
	}
	stored = stored[w:]
	for range n {
		at, w := binary.Uvarint(stored)
		if w <= 0 || len(stored) < w+1+sha256.Size || at > 1<<40 {
			return nil, nil, errBadMediaList
		}
		list = append(list, mediaRef{int(at), stored[w] == 1, stored[w+1 : w+1+sha256.Size]})
		stored = stored[w+1+sha256.Size:]
	}
	return list, stored, nil
}

// encode returns a medium as it was in the message.
func (h mediaRef) encode(data []byte) []byte {
	if h.verbatim {
		return data
	}
	return base64.StdEncoding.AppendEncode(nil, data)
}
