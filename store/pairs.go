package store

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

// encodePairs returns the calls and results as they are stored: the number of calls, the family, id
// and tool of each, and the same for results, with the place of their call. It returns nil if there
// are none.
func (e *Entry) encodePairs() []byte {
	if len(e.Calls) == 0 && len(e.Answers) == 0 {
		return nil
	}
	var out []byte
	text := func(s string) { out = append(binary.AppendUvarint(out, uint64(len(s))), s...) }
	out = binary.AppendUvarint(out, uint64(len(e.Calls)))
	for _, c := range e.Calls {
		out = append(out, c.family)
		text(c.ID)
		text(c.Tool)
	}
	out = binary.AppendUvarint(out, uint64(len(e.Answers)))
	for _, c := range e.Answers {
		out = append(out, c.family)
		text(c.ID)
		text(c.Tool)
		out = binary.AppendUvarint(out, uint64(c.Seq))
		out = binary.AppendUvarint(out, uint64(c.No))
	}
	return out
}

var errPairs = errors.New("its calls and answers cannot be read")

// decodePairs is the inverse of encodePairs. It modifies the entry.
func (e *Entry) decodePairs(kept []byte) error {
	if len(kept) == 0 {
		return nil
	}
	ok := true
	number := func() uint64 {
		n, w := binary.Uvarint(kept)
		if w <= 0 || n > math.MaxInt32 {
			ok = false
			return 0
		}
		kept = kept[w:]
		return n
	}
	text := func() string {
		n := number()
		if n > uint64(len(kept)) {
			ok = false
			return ""
		}
		s := string(kept[:n])
		kept = kept[n:]
		return s
	}
	call := func() (c Call) {
		if len(kept) == 0 {
			ok = false
			return c
		}
		c.family, kept = kept[0], kept[1:]
		c.ID, c.Tool = text(), text()
		return c
	}
	for i := range number() {
		if !ok {
			break
		}
		c := call()
		c.No = int(i)
		e.Calls = append(e.Calls, c)
	}
	for range number() {
		if !ok {
			break
		}
		c := call()
		c.Seq, c.No = int64(number()), int(number())
		e.Answers = append(e.Answers, c)
	}
	if !ok || len(kept) > 0 {
		return errPairs
	}
	return nil
}

// decodePairsOrNone leaves an entry with damaged pairs without calls and results. Fsck can restore
// them from the message.
func (e *Entry) decodePairsOrNone(kept []byte) {
	if e.decodePairs(kept) != nil {
		e.Calls, e.Answers = nil, nil
	}
}

// An entryInfo is an entry without its bytes.
type entryInfo struct {
	Entry
	sum []byte
}

// readEntryInfos reads entries of an owner by their numbers, without their bytes. Neighbors share a
// statement.
func (s *Store) readEntryInfos(ctx context.Context, t *tx, session *Session, sid int64, seqs []int64) ([]entryInfo, error) {
	seqs = slices.Clone(seqs)
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	var all []entryInfo
	for len(seqs) > 0 {
		n := 1
		for n < len(seqs) && seqs[n]-seqs[n-1] <= 4 {
			n++
		}
		err := t.each(ctx, func(scan func(...any) error) error {
			var (
				k     entryInfo
				pairs []byte
				at    int64
			)
			if err := scan(&k.Seq, &k.ID, &k.sum, &at, &pairs); err != nil {
				return err
			}
			k.Seq, k.At = seqOf(k.Seq), time.UnixMicro(at).UTC()
			if _, asked := slices.BinarySearch(seqs[:n], k.Seq); !asked {
				return nil
			}
			k.decodePairsOrNone(pairs)
			all = append(all, k)
			return nil
		}, `SELECT pos, id, sum, at, pairs FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos`, pos(sid, seqs[0]), pos(sid, seqs[n-1]))
		if err != nil {
			return nil, err
		}
		seqs = seqs[n:]
	}
	return all, nil
}
