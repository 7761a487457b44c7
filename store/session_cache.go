package store

import (
	"errors"
	"slices"
	"sync"
)

// A sessionCache holds the sessions that this process appended to, as they were after its last
// append. An entry may be out of date: the statement that uses it checks the head again.
type sessionCache struct {
	mu       sync.Mutex
	sessions map[Key]*cachedSession
}

// A cachedSession is a session after an append, with the calls that are still open. It is never
// modified.
type cachedSession struct {
	session Session
	open    openCalls
}

// A callID is the id of a call, or the name of its tool, within one family of ids.
type callID struct {
	id     string
	family uint8
}

// A place is a call: the number of its entry and its index among the calls of that entry.
type place struct {
	seq int64
	no  int
}

// openCalls lists calls without a result, each with its place. A list is never modified, because
// older cached sessions share it.
type openCalls []struct {
	callID
	place
}

// errUnknownCall reports that the call of a result has to be looked up in the database.
var errUnknownCall = errors.New("the call of a result is not cached")

// find returns the place of an unanswered call. It returns errUnknownCall for results without an
// id and for calls that are not in the list.
func (o openCalls) searchCondition(c Call, answered map[place]bool) (place, error) {
	for _, open := range o {
		if c.ID != "" && open.callID == (callID{c.ID, c.family}) && !answered[open.place] {
			return open.place, nil
		}
	}
	return place{}, errUnknownCall
}

func (o openCalls) without(c callID) openCalls {
	for i := range o {
		if o[i].callID == c {
			return slices.Concat(o[:i], o[i+1:])
		}
	}
	return o
}

// with returns the list with another call. A full list is dropped: its calls can be looked up.
func (o openCalls) with(c callID, at place) openCalls {
	o = o.without(c)
	if len(o) == maxOpenCalls {
		o = nil
	}
	return append(slices.Clip(o), openCalls{{c, at}}...)
}

const (
	maxCachedSessions = 4096
	maxOpenCalls      = 64 // of one session
)

// get returns the cached session, or nil.
func (c *sessionCache) get(key Key) *cachedSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[key]
}

// add stores a session as it is after entries were appended to it. It drops all sessions if there
// are too many.
func (c *sessionCache) add(session *Session, appended []Entry) {
	// A fork shares entries, so its ids may be taken in another session.
	if len(session.state.Lineage) > 0 || !session.tailLoaded && session.settled < session.Head {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var open openCalls
	if old := c.sessions[session.Key]; old != nil && old.session.sid == session.sid {
		if old.session.Head >= session.Head {
			return
		}
		if old.session.Head == session.Head-int64(len(appended)) {
			open = old.open
		}
	}
	for _, e := range appended {
		for _, call := range e.Calls {
			if call.ID != "" {
				open = open.with(callID{call.ID, call.family}, place{e.Seq, call.No})
			}
		}
		for _, call := range e.Answers {
			open = open.without(callID{call.ID, call.family})
		}
	}
	if c.sessions == nil || len(c.sessions) >= maxCachedSessions {
		c.sessions = make(map[Key]*cachedSession)
	}
	c.sessions[session.Key] = &cachedSession{session: *session, open: open}
}

// remove drops a session that was changed otherwise.
func (c *sessionCache) remove(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, key)
}
