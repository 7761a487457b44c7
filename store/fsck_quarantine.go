package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// open decodes an entry and its media. A compaction has media markers instead.
func (c *sessionCheck) open(e *storedEntry) error {
	err := c.store.open(c.ctx, c.tx, c.session, e)
	if err == nil && e.Kind == KindCompaction {
		if _, err = c.store.fillMediaIn(c.ctx, c.tx, e.Raw); err != nil {
			err = c.store.readError(c.ctx, c.session, e, err)
		}
	}
	return err
}

// quarantine reports a damaged entry, and with repair quarantines it. Reverts and undos are
// rewritten instead if their checksum determines their text; otherwise the state would lose their
// effect.
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

// restore reports an entry in quarantine. With repair, it ends the quarantine if the entry can be
// read again, for example because its media are back.
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
	_, err := c.tx.exec(c.ctx, `UPDATE entries SET codec = ? WHERE pos = ?`, codec, pos(c.session.sid, e.Seq))
	return err
}

// findControlBytes finds the text of a revert or undo by its checksum. It contains the number of an
// earlier entry.
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
	n, err := c.tx.exec(c.ctx, `UPDATE entries SET codec = ?, raw = ? WHERE pos = ?`, codec, stored, pos(c.session.sid, e.Seq))
	if err == nil && n != 1 {
		err = fmt.Errorf("entry %d was not there to be written again", e.Seq)
	}
	return err
}
