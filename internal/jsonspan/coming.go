package jsonspan

// A document that is still coming is scanned in place: its bytes have their room already,
// and more of them are waited for when the index comes to the end of those that are there.
// The walk itself never waits. It cannot pass the end of the index while that lies inside of
// a string, whose end it needs; so the index never stops elsewhere, as long as something is
// missing.

// hang is how far an index looks beyond the block that it is at: an escape of a pair, and
// the words in which plain bytes are skipped.
const hang = 32

// ReadComing is ReadAhead for data of which only the first bytes are there, before anything
// has been read. Coming waits for more and says how much is there then; if that is not more
// than before, the scan goes wrong somewhere. After an error, or if that happened, some may be
// [Scanner.Missing]; then the error tells nothing, and neither does what was read.
func (s *Scanner) ReadComing(here int, coming func() int) {
	s.ReadAhead()
	x := s.ahead
	x.pos, x.here, x.coming = 0, here, coming
	x.more(s.data) // the walk begins outside of a string
}

// Missing reports whether some of a document that was still coming is not there.
func (s *Scanner) Missing() bool {
	return s.ahead != nil && s.ahead.coming != nil && s.ahead.here < len(s.data)
}

// await indexes up to there, as far as it comes, and on to a place inside of a string. Some
// places are left for that. If they are not enough, all of the document is waited for.
func (x *index) await(data []byte, to int) {
	for places := len(x.at) - 128; x.have(min(x.pos+64+hang, len(data))); places = len(x.at) {
		if x.here == len(data) {
			x.coming = nil
			x.upTo(data, to, len(x.at))
			return
		}
		x.upTo(data, min(to, x.here-hang), places)
		switch {
		case x.inside != 0 || x.reason != "":
			return
		case len(x.at)-x.n < 128:
			x.have(len(data))
			return
		}
		to = min(len(data), x.pos+64)
	}
}

// have waits until so many bytes are there. If they do not come, the document ends here.
func (x *index) have(n int) bool {
	for x.here < n {
		here := x.coming()
		if here <= x.here {
			x.wrong(x.here, truncated)
			return false
		}
		x.here = here
	}
	return true
}
