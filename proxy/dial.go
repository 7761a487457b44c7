package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// dialing makes the transport to the upstreams. Nothing of a request is changed by it: no
// coding is asked for and no redirect followed.
func dialing(upstreams map[string]*Upstream) *http.Transport {
	// Names that must be on the internet. A name that somebody has pointed at this machine
	// would make the proxy talk to whatever listens here.
	guarded := make(map[string]bool)
	proxies := make(map[origin]*url.URL) // by which each is reached: asking the environment costs
	for _, u := range upstreams {
		if via, err := http.ProxyFromEnvironment(&http.Request{URL: u.URL}); err == nil {
			proxies[origin{u.URL.Scheme, u.URL.Host}] = via
		}
		if !u.private() {
			guarded[strings.ToLower(u.URL.Hostname())] = true
		}
	}
	plain := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	outside := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: onlyPublic}
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if via, ok := proxies[origin{r.URL.Scheme, r.URL.Host}]; ok {
				return via, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialer := plain
			if host, _, err := net.SplitHostPort(address); err == nil && guarded[strings.ToLower(host)] {
				dialer = outside
			}
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &onePiece{Conn: c}, nil
		},
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxIdleConns:          1000,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        16 << 10,
	}
}

// An origin is where a URL points to, but for the path.
type origin struct{ scheme, host string }

// onePiece is a connection that writes a body which lies in memory in one piece, and the head
// of its request together with it: a transport would write the head by itself and copy the
// body, 32 KB at a time. One goroutine at a time may write to it, as to every connection of a
// transport.
type onePiece struct {
	net.Conn
	holds bool   // what is written next is a head, and its body follows by ReadFrom
	head  []byte // that is held back
}

func (c *onePiece) Write(p []byte) (int, error) {
	if c.holds {
		c.holds, c.head = false, append(c.head[:0], p...)
		return len(p), nil
	}
	if err := c.let(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// let writes a head that is held back.
func (c *onePiece) let() error {
	c.holds = false
	if len(c.head) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.head)
	c.head = c.head[:0]
	return err
}

func (c *onePiece) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if body, ok := l.R.(*reader); ok && l.N >= body.left() {
			head := c.head
			c.holds, c.head = false, c.head[:0]
			n, err := body.writeTo(c.Conn, head)
			l.N -= n
			return n, err
		}
	}
	if err := c.let(); err != nil {
		return 0, err
	}
	return io.Copy(c.Conn, r)
}

// A holding tells the connection of a request whether its head may wait for the body, and
// remembers that there was one. One goroutine at a time may use it.
type holding struct{ body, reached bool }

// sends notes what is sent next.
func (h *holding) sends(body io.ReadCloser) {
	if h != nil {
		_, h.body = body.(*reader)
	}
}

// got is what a trace calls before the head is written.
func (h *holding) got(info httptrace.GotConnInfo) {
	h.reached = true
	if c, ok := info.Conn.(*onePiece); ok {
		c.holds = h.body
	}
}

// onlyPublic refuses to connect to anything that is not on the internet.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err == nil && !public(ap.Addr()) {
		return fmt.Errorf("the name of the upstream stands for %s, which is not on the internet; configure the upstream if that is meant", ap.Addr())
	}
	return err
}
