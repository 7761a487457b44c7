package store_test

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/fault"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// A faultyWire forwards connections to PostgreSQL that fail according to the current source.
type faultyWire struct {
	source atomic.Pointer[fault.Source]
}

func (w *faultyWire) serve(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	q := u.Query()
	socket := filepath.Join(q.Get("host"), ".s.PGSQL.5432")
	host, port, _ := net.SplitHostPort(l.Addr().String())
	q.Set("host", host)
	q.Set("port", port)
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(c, socket)
		}
	}()
	return u.String()
}

// pass forwards bytes. Each direction may be cut within a message.
func (w *faultyWire) pass(c net.Conn, socket string) {
	server, err := net.Dial("unix", socket)
	if err != nil {
		c.Close()
		return
	}
	end := func() {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		c.Close()
		server.Close()
	}
	copyTo := func(to io.Writer, from io.Reader, point string) {
		defer end()
		buf := make([]byte, 2048)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			s := w.source.Load()
			if s.FailsWeighted(point+" late", 0.3) {
				time.Sleep(time.Millisecond)
			}
			if s.Fails(point + " cut") {
				if s.Rand(point).IntN(2) == 0 {
					to.Write(buf[:n/2])
				} else {
					to.Write(buf[:n]) // the server gets the message, but the client no answer
				}
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go copyTo(c, server, "postgres answer")
	copyTo(server, c, "postgres query")
}

// TestFaultsPostgres cuts or delays connections at any byte, cancels calls at any point and reuses
// their buffers.
func TestFaultsPostgres(t *testing.T) {
	trial.Long(t, "needs PostgreSQL")
	direct := pgtest.Copy(t, ready(t))
	sure := open(t, direct)
	var w faultyWire
	quiet := fault.New(0)
	quiet.Stop()
	w.source.Store(quiet)
	st, err := store.OpenWith(ctx, w.serve(t, direct), store.Options{Now: func() time.Time { return faultClock(w.source.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var tally fault.Tally
	n := 0
	fault.Run(t, 40, func(t *testing.T, s *fault.Source) {
		n++
		r := &faultRun{t: t, s: s, st: st}
		r.ready(sure, n)
		r.arm()
		w.source.Store(s)
		r.run()
		s.Stop()
		w.source.Store(quiet)
		r.verify(sure)
		r.read(r.keys[0]) // the store continues after the faults
		if _, err := st.Append(ctx, r.keys[1], store.Anywhere, store.Message("", user("go on"))); err != nil {
			t.Errorf("the store does not go on: %v", err)
		}
		tally.Add(s, r.ops)
	})
	checkStore(t, sure)
	t.Log(&tally)
}
