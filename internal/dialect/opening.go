package dialect

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pare-llm/pare/transcript"
)

// fingerprint tells conversations apart by how they begin: what a person says first, and
// what the model first says or does. It is zero for a request in which the model has not
// spoken yet, and the same for every
// later request of a client that appends to its history, wherever that puts its cache
// marks, with or without thinking.
func (r *Request) fingerprint() [16]byte {
	t := r.t
	h := make([]byte, 0, 4<<10)
	person := false
	for _, m := range t.Messages() {
		switch {
		case !person && m.Speaks:
			person = true
			for b := m.First; b < m.End && b < m.First+openingBlocks; b++ {
				h = r.appendOpening(h, b)
			}
		case person && m.Role == transcript.Assistant:
			for b := m.First; b < m.End; b++ {
				if t.Block(b).Kind == transcript.Thinking {
					continue
				}
				sum := sha256.Sum256(r.appendOpening(h, b))
				return [16]byte(sum[:16])
			}
		}
	}
	return [16]byte{}
}

// Of a message so many blocks are looked at, and of each its length, head and tail: that
// tells conversations apart, and costs little however large they are.
const (
	openingBlocks = 8
	openingHead   = 512
	openingTail   = 128
)

func (r *Request) appendOpening(dst []byte, b transcript.BlockID) []byte {
	blk := r.t.Block(b)
	body := r.t.Bytes(blk.Body)
	if blk.Body == blk.Span {
		body = nil // a whole object: what a client adds to it, such as cache marks, comes and goes
	}
	dst = append(dst, byte(blk.Kind))
	dst = append(append(dst, blk.CallID...), 0)
	dst = append(append(dst, blk.Tool...), 0)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	dst = append(dst, body[:min(len(body), openingHead)]...)
	return append(dst, body[max(0, len(body)-openingTail):]...)
}
