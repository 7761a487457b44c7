package store

import "github.com/pare-llm/pare/wire"

// dialect: the session sees what its messages say. Sessions of earlier versions took the
// dialect of their first plain text, which fits several; what came then, in another one, was
// kept without its calls and results. If all messages are of that other dialect, it is the
// session's, and what is derived from them is written again.
func (c *sessionCheck) checkDialect() error {
	if c.x.Dialect == "" {
		return nil
	}
	told := wire.Auto
	err := c.eachMessage(func(raw []byte) bool {
		r, err := c.x.readMessage(raw)
		if err == nil && c.x.checkDialect(r, raw) != nil {
			told = wirex.DetectElement(raw)
		}
		return told == wire.Auto
	})
	if err != nil || told == wire.Auto {
		return err
	}
	as, fits := *c.x, true
	as.Dialect = told.String()
	err = c.eachMessage(func(raw []byte) bool {
		fits = c.s.inspectMessage(&as, new(row), raw) == nil
		return fits
	})
	if err != nil || !fits {
		return err // each message that is not seen is reported for itself
	}
	c.report(0, c.repair, "its dialect is noted as %s, and its messages are of %s", c.x.Dialect, as.Dialect)
	c.x.Dialect, c.dialectChanged = as.Dialect, true
	if !c.repair {
		return nil
	}
	_, err = c.t.exec(c.ctx, `UPDATE sessions SET dialect = ? WHERE sid = ?`, as.Dialect, c.x.sid)
	return err
}

// messages calls f for the bytes of every message of the session, shared ones included,
// until it returns false. What cannot be read is left out: others report it.
func (c *sessionCheck) eachMessage(f func(raw []byte) bool) error {
	const some = 100
	for from := int64(1); from <= c.x.Head; from += some {
		all, err := c.s.scanAll(c.ctx, c.t, c.x, from, min(from+some-1, c.x.Head), some)
		if err != nil {
			return err
		}
		for i := range all {
			e := &all[i]
			if e.Kind == KindMessage && !e.Gone && c.s.open(c.ctx, c.t, c.x, e) == nil && !f(e.Raw) {
				return nil
			}
		}
	}
	return nil
}
