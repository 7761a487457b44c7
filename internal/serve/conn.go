package serve

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// distant is how far off a deadline is that need not be met to the second, and overdue how
// late it may be noticed. Every deadline that is set in earnest wakes a thread, which looks
// at its timers and goes to sleep again; a request has three of them, and none is ever met.
const (
	distant = 10 * time.Second
	overdue = time.Second
)

// conns are the connections of a listener, and the one clock for their deadlines. Many
// goroutines may use it.
type conns struct {
	net.Listener
	hands hands

	mu    sync.Mutex
	all   map[*conn]bool
	ticks bool
}

// on begins to accept at a listener.
func (l *conns) on(at net.Listener) *conns {
	l.Listener = at
	return l
}

func (l *conns) Accept() (net.Conn, error) {
	in, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: in, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[*conn]bool)
	}
	l.all[c] = true
	if !l.ticks {
		l.ticks = true
		time.AfterFunc(overdue, l.tick)
	}
	return c, nil
}

// tick ends what is late, as long as there are connections.
func (l *conns) tick() {
	l.hands.look()
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.all {
		c.expire(now)
	}
	if l.ticks = len(l.all) > 0; l.ticks {
		time.AfterFunc(overdue, l.tick)
	}
}

func (l *conns) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, c)
}

// settle does at once what waits for replies to be gone: whoever has seen the end of one and
// asks what happened is to find it.
func (l *conns) settle() {
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.all))
	l.mu.Unlock()
	for _, c := range all {
		c.done()
	}
}

// A conn is a connection whose distant deadlines for reading are looked after by one clock,
// and that can do something when the reply to a request has gone.
type conn struct {
	net.Conn
	of *conns

	mu    sync.Mutex
	until time.Time // zero: no distant deadline
	set   bool      // the connection itself has one

	telling sync.Mutex // held until what waits is done
	after   func()     // nil: nothing waits
}

func (c *conn) Close() error {
	c.done()
	c.of.forget(c)
	return c.Conn.Close()
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
	if !t.IsZero() && time.Until(t) < distant {
		c.set = true
		return c.Conn.SetReadDeadline(t)
	}
	c.until = t
	if !c.set {
		return nil
	}
	c.set = false
	return c.Conn.SetReadDeadline(time.Time{})
}

func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.Conn.SetWriteDeadline(t)
}

// expire ends reading if it is too late.
func (c *conn) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() && now.After(c.until) {
		c.until, c.set = time.Time{}, true
		c.Conn.SetReadDeadline(time.Unix(1, 0))
	}
}

type connKey struct{}

// with puts a connection into the context of its requests.
func with(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// after does something when the reply to a request has been sent, or at once where nobody
// knows when that is.
func after(r *http.Request, do func()) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok || r.ProtoMajor != 1 {
		do()
		return
	}
	c.done()
	c.telling.Lock()
	defer c.telling.Unlock()
	c.after = do
}

// done does what was to be done after a reply.
func (c *conn) done() {
	c.telling.Lock()
	defer c.telling.Unlock()
	if do := c.after; do != nil {
		c.after = nil
		do()
	}
}

// changed is told what a connection is up to by the server, in the connection's goroutine.
func changed(c net.Conn, to http.ConnState) {
	if c, ok := c.(*conn); ok && (to == http.StateIdle || to == http.StateClosed || to == http.StateHijacked) {
		c.done()
	}
}
