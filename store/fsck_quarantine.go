package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// open opens an entry with all its pictures. A summary has markers in their place.
func (c *sessionCheck) open(e *storedEntry) error {
	err := c.s.open(c.ctx, c.t, c.x, e)
	if err == nil && e.Kind == KindCompaction {
		if _, err = c.s.fillMediaIn(c.ctx, c.t, e.Raw); err != nil {
			err = c.s.readError(c.ctx, c.x, e, err)
		}
	}
	return err
}

// quarantine reports an entry whose bytes are damaged and, with repair, takes it out of
// circulation. A revert or an undo is one of few texts, and its sum tells which: that one is
// written again. Otherwise it would have to be left out of what is in force, and with it what
// it did.
func (c *sessionCheck) quarantine(e *storedEntry, what string) error {
	if e.Kind == KindRevert || e.Kind == KindUndo {
		raw, known := findControlBytes(e)
		c.report(e.Seq, c.repair && known, "%s", what)
		if !known || !c.repair {
			return nil
		}
		return c.rewrite(e, raw)
	}
	c.report(e.Seq, false, "%s", what)
	if !c.repair {
		return nil
	}
	p := &c.found[len(c.found)-1]
	p.Quarantined, p.Harmless = true, true
	return c.setCodec(e, e.codec|codecQuarantined)
}

// restore looks whether an entry in quarantine can be read again, its pictures, say, being back,
// and puts it back with repair.
func (c *sessionCheck) restore(e *storedEntry) error {
	kept := *e
	kept.codec &^= codecQuarantined
	err := c.open(&kept)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		c.report(e.Seq, false, "%s", quarantineReason)
		p := &c.found[len(c.found)-1]
		p.Quarantined, p.Harmless = true, true
		return nil
	}
	if err != nil {
		return err
	}
	c.report(e.Seq, c.repair, "it is in quarantine, and its bytes are whole again")
	if !c.repair {
		return nil
	}
	return c.setCodec(e, kept.codec)
}

func (c *sessionCheck) setCodec(e *storedEntry, codec int) error {
	_, err := c.t.exec(c.ctx, `UPDATE entries SET codec = ? WHERE pos = ?`, codec, pos(c.x.sid, e.Seq))
	return err
}

// recompose finds the bytes of a revert or an undo by their sum: they hold the number of an entry
// in front of it.
func findControlBytes(e *storedEntry) ([]byte, bool) {
	for n := range e.Seq {
		raw := encode(revertBody{n})
		if e.Kind == KindUndo {
			raw = encode(undoBody{n})
		}
		if sum := sha256.Sum256(raw); string(sum[:]) == string(e.sum) {
			return raw, true
		}
	}
	return nil, false
}

// rewrite stores the bytes of an entry again.
func (c *sessionCheck) rewrite(e *storedEntry, raw []byte) error {
	codec, stored := encodeBytes(raw, nil)
	n, err := c.t.exec(c.ctx, `UPDATE entries SET codec = ?, raw = ? WHERE pos = ?`, codec, stored, pos(c.x.sid, e.Seq))
	if err == nil && n != 1 {
		err = fmt.Errorf("entry %d was not there to be written again", e.Seq)
	}
	return err
}
