package rules

import (
	"bytes"
	"sync/atomic"

	"github.com/pare-llm/pare/transcript"
)

// What rules read in a block is the same in every request of a conversation. Where requests
// are known to be beginnings of one history it is read once; Lore of package wire keeps it.
// Whoever comes second finds what the first one stored, or reads it himself: both store the
// same.

// heard is what is known of results, by block.
type heard struct {
	said  []atomic.Pointer[speech]
	flags []atomic.Uint32
}

// Flags of a result.
const (
	judged    uint32 = 1 << iota // its outcome is in the bits from outcomeAt on
	looked                       // whether it shows something is known
	showing                      // it does
	outcomeAt = 8
)

// heardKey is where what all rules know of results is kept; what they know of calls depends
// on the table of tools, so that is kept under the guard.
type heardKey struct{}

// putKey is where what a rule puts in the place of blocks is kept.
type putKey struct {
	*guard
	rule     string
	minBytes int
}

// A wording is what a rule puts in the place of a block. It is the same as long as the reason
// is.
type wording struct {
	why, text string
	pays      bool // the text is shorter than what was there
}

// learn finds what is known of the history already.
func (s *sight) learn() {
	s.heard, _ = s.r.Lore(heardKey{}, func(blocks int) any {
		return &heard{make([]atomic.Pointer[speech], blocks), make([]atomic.Uint32, blocks)}
	}).(*heard)
	s.uses, _ = s.r.Lore(s.guard, func(blocks int) any { return make([]atomic.Pointer[use], blocks) }).([]atomic.Pointer[use])
}

// used returns what a call asks for.
func (s *sight) used(k *known, x *transcript.Exchange) use {
	if s.uses == nil {
		return s.read(k, x)
	}
	at := &s.uses[x.Call]
	if u := at.Load(); u != nil {
		return *u
	}
	u := s.read(k, x)
	u.target = bytes.Clone(u.target) // it outlives what was looked at
	at.Store(&u)
	return u
}

// measure returns what there is to know about a result.
func (s *sight) measure(result transcript.BlockID) speech {
	if s.heard == nil {
		return s.gauge(result)
	}
	at := &s.heard.said[result]
	if m := at.Load(); m != nil {
		return *m
	}
	m := s.gauge(result)
	at.Store(&m)
	return m
}

// outcome judges the result of a whole exchange.
func (s *sight) outcome(x *transcript.Exchange) transcript.Outcome {
	if s.heard == nil {
		return s.r.Outcome(x.Results[0])
	}
	at := &s.heard.flags[x.Results[0]]
	if f := at.Load(); f&judged != 0 {
		return transcript.Outcome(f >> outcomeAt)
	}
	o := s.r.Outcome(x.Results[0])
	at.Or(judged | uint32(o)<<outcomeAt)
	return o
}

// shows reports whether a read succeeded and its content is there.
func (s *sight) shows(x *transcript.Exchange) bool {
	if s.heard == nil {
		return s.tells(x)
	}
	at := &s.heard.flags[x.Results[0]]
	f := at.Load()
	if f&looked == 0 {
		if f = looked; s.tells(x) {
			f |= showing
		}
		at.Or(f)
	}
	return f&showing != 0
}
