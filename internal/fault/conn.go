package fault

import (
	"net"
	"time"
)

// A Conn is a connection that is cut, reset, delayed, or takes and gives bytes in small pieces.
// Point names it to its source.
type Conn struct {
	net.Conn
	Source *Source
	Point  string
	// Delay is how long a call waits that is made to wait; 0: none is.
	Delay time.Duration
}

// cut ends the connection, without a word to the other end if the system can do that.
func (c *Conn) cut() error {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		tcp.SetLinger(0)
	}
	c.Conn.Close()
	return &net.OpError{Op: c.Point, Net: "tcp", Err: Err}
}

func (c *Conn) wait(point string) {
	if c.Delay > 0 && c.Source.At(point) {
		time.Sleep(c.Delay)
	}
}

func (c *Conn) Read(p []byte) (int, error) {
	c.wait(c.Point + " read late")
	if c.Source.At(c.Point + " read cut") {
		return 0, c.cut()
	}
	if len(p) > 1 && c.Source.At(c.Point+" read short") {
		p = p[:1+len(p)/7]
	}
	return c.Conn.Read(p)
}

func (c *Conn) Write(p []byte) (int, error) {
	c.wait(c.Point + " write late")
	if c.Source.At(c.Point + " write cut") {
		n := 0
		if half := len(p) / 2; half > 0 && c.Source.At(c.Point+" write torn") {
			n, _ = c.Conn.Write(p[:half])
		}
		return n, c.cut()
	}
	return c.Conn.Write(p)
}

// A Listener hands out connections that fail.
type Listener struct {
	net.Listener
	Wrap func(net.Conn) net.Conn
}

func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.Wrap(c), nil
}
