package fault

import "net"

// A Conn is a connection that may be cut, tear a write, or read in small pieces. Point is its name
// for the source.
type Conn struct {
	net.Conn
	Source *Source
	Point  string
}

// cut closes the connection, without a FIN if the system supports that.
func (c *Conn) cut() error {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		tcp.SetLinger(0)
	}
	c.Conn.Close()
	return &net.OpError{Op: c.Point, Net: "tcp", Err: Err}
}

func (c *Conn) Read(p []byte) (int, error) {
	if c.Source.Fails(c.Point + " read cut") {
		return 0, c.cut()
	}
	if len(p) > 1 && c.Source.Fails(c.Point+" read short") {
		p = p[:1+len(p)/7]
	}
	return c.Conn.Read(p)
}

func (c *Conn) Write(p []byte) (int, error) {
	if c.Source.Fails(c.Point + " write cut") {
		n := 0
		if half := len(p) / 2; half > 0 && c.Source.Rand(c.Point).IntN(2) == 0 {
			n, _ = c.Conn.Write(p[:half])
			c.Source.CountFailure(c.Point + " write torn")
		}
		return n, c.cut()
	}
	return c.Conn.Write(p)
}
