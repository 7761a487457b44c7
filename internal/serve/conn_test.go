package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// dialed is a connection of a watched listener, and its other end.
func dialed(t *testing.T) (*conns, *conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := new(conns).on(l)
	there, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	here, err := all.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); there.Close(); here.Close() })
	return all, here.(*conn), there
}

// TestDistantDeadlines: a deadline that is far off is met by the clock of the listener, and put
// off or taken back like any other, also after it has been met.
func TestDistantDeadlines(t *testing.T) {
	_, c, there := dialed(t)
	read := func() error {
		_, err := c.Read(make([]byte, 1))
		return err
	}
	now := time.Now()
	c.SetReadDeadline(now.Add(time.Minute))
	c.expire(now.Add(59 * time.Second))
	io.WriteString(there, "a")
	if err := read(); err != nil {
		t.Error("too early:", err)
	}
	c.expire(now.Add(61 * time.Second))
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("not ended:", err)
	}
	for _, again := range []time.Time{now.Add(time.Hour), {}} {
		c.expire(now.Add(2 * time.Hour))
		c.SetReadDeadline(again)
		c.expire(now.Add(time.Minute))
		io.WriteString(there, "b")
		if err := read(); err != nil {
			t.Error("not put off:", err)
		}
	}
	c.SetDeadline(time.Unix(1, 0)) // as the server interrupts a read
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a deadline that is near is not met:", err)
	}
	c.SetDeadline(time.Time{})
	io.WriteString(there, "c")
	if err := read(); err != nil {
		t.Error("not taken back:", err)
	}
}

// TestConnsAreForgotten: the clock goes on as long as there is a connection, and no longer.
func TestConnsAreForgotten(t *testing.T) {
	all, c, _ := dialed(t)
	all.tick()
	if !all.ticks || len(all.all) != 1 {
		t.Error("the clock stands still", all.all)
	}
	c.Close()
	all.tick()
	if all.ticks || len(all.all) != 0 {
		t.Error("the clock goes on", all.all)
	}
}

// TestAfterReplies: what waits for the end of a reply is done when the connection is idle, when
// it ends, when somebody asks, or before the next one; and at once where nobody knows.
func TestAfterReplies(t *testing.T) {
	all, c, _ := dialed(t)
	done := 0
	do := func() { done++ }
	r := (&http.Request{ProtoMajor: 1}).WithContext(with(context.Background(), c))
	for i, to := range []http.ConnState{http.StateIdle, http.StateClosed, http.StateHijacked} {
		after(r, do)
		changed(c, http.StateActive)
		if done != i {
			t.Error("too early", to)
		}
		changed(c, to)
		changed(c, to)
		if done != i+1 {
			t.Error(done, "times", to)
		}
	}
	after(r, do)
	after(r, do)
	if done != 4 {
		t.Error("the one before is lost", done)
	}
	after((&http.Request{ProtoMajor: 2}).WithContext(r.Context()), do)
	after(&http.Request{ProtoMajor: 1}, do)
	if done != 6 {
		t.Error("not done at once", done)
	}
	all.settle()
	if done != 7 {
		t.Error("whoever asks now does not see it", done)
	}
	after(r, do)
	c.Close()
	if all.settle(); done != 8 {
		t.Error("gone with the connection", done)
	}
}
