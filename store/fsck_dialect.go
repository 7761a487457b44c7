package store

import (
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/wire"
)

// checkDialect verifies that the dialect of the session fits its messages. Old versions took the
// dialect of the first plain text, which fits several, and stored later messages of another dialect
// without calls and results. If all messages fit the other dialect, repair changes the session and
// its derived data.
func (c *sessionCheck) checkDialect() error {
	if c.session.Dialect == "" {
		return nil
	}
	detected := wire.Auto
	err := c.eachMessage(func(raw []byte) bool {
		r, err := c.session.readMessage(raw)
		if err == nil && c.session.checkDialect(r, raw) != nil {
			detected = dialect.DetectElement(raw)
		}
		return detected == wire.Auto
	})
	if err != nil || detected == wire.Auto {
		return err
	}
	corrected, fits := *c.session, true
	corrected.Dialect = detected.String()
	err = c.eachMessage(func(raw []byte) bool {
		fits = c.store.inspectMessage(&corrected, new(row), raw) == nil
		return fits
	})
	if err != nil || !fits {
		return err
	}
	c.report(0, c.repair, "its dialect is noted as %s, and its messages are of %s", c.session.Dialect, corrected.Dialect)
	c.session.Dialect, c.dialectChanged = corrected.Dialect, true
	if !c.repair {
		return nil
	}
	_, err = c.tx.exec(c.ctx, `UPDATE sessions SET dialect = ? WHERE sid = ?`, corrected.Dialect, c.session.sid)
	return err
}

// eachMessage calls f with the bytes of every readable message, including shared ones, until f
// returns false.
func (c *sessionCheck) eachMessage(f func(raw []byte) bool) error {
	const some = 100
	for from := int64(1); from <= c.session.Head; from += some {
		all, err := c.store.scanAll(c.ctx, c.tx, c.session, from, min(from+some-1, c.session.Head), some)
		if err != nil {
			return err
		}
		for i := range all {
			e := &all[i]
			if e.Kind == KindMessage && !e.Gone && c.store.open(c.ctx, c.tx, c.session, e) == nil && !f(e.Raw) {
				return nil
			}
		}
	}
	return nil
}
