package proxy

import (
	"bytes"
	"io"
	"net"
	"net/http/httptrace"
	"strings"
	"testing"
)

// written is a connection that remembers what was written to it.
type written struct {
	net.Conn
	bytes.Buffer
}

func (w *written) Write(p []byte) (int, error)         { return w.Buffer.Write(p) }
func (w *written) Read(p []byte) (int, error)          { return 0, io.EOF }
func (w *written) ReadFrom(r io.Reader) (int64, error) { return w.Buffer.ReadFrom(r) }

// TestHeadsWaitForTheirBody: a head is written together with a body of ours, and never lost or
// kept where something else follows.
func TestHeadsWaitForTheirBody(t *testing.T) {
	const head, text = "POST / HTTP/1.1\r\n\r\n", "a body"
	ours := func() (io.ReadCloser, io.Reader) {
		b := &body{buf: []byte(text)}
		b.hold()
		r := newReader(b)
		return r, io.LimitReader(r, int64(len(text)))
	}
	for name, follows := range map[string]func(c io.Writer, body io.Reader) error{
		"the body": func(c io.Writer, body io.Reader) error { _, err := c.(io.ReaderFrom).ReadFrom(body); return err },
		"a piece of another": func(c io.Writer, _ io.Reader) error {
			_, err := c.(io.ReaderFrom).ReadFrom(strings.NewReader(text))
			return err
		},
		"more of the head": func(c io.Writer, _ io.Reader) error { _, err := io.WriteString(c, text); return err },
	} {
		w := &written{}
		c := &onePiece{Conn: w}
		for range 2 { // a connection is used again
			w.Reset()
			out, limited := ours()
			h := new(holding)
			h.sends(out)
			h.got(httptrace.GotConnInfo{Conn: c})
			if n, err := io.WriteString(c, head); n != len(head) || err != nil || w.Len() > 0 {
				t.Fatalf("%s: the head did not wait: %d, %v, %q", name, n, err, w)
			}
			if err := follows(c, limited); err != nil || w.String() != head+text {
				t.Errorf("%s: %q, %v", name, w, err)
			}
		}
	}
}

// TestHeadsDoNotWaitForOthers: what may be written together with its head is never held back.
func TestHeadsDoNotWaitForOthers(t *testing.T) {
	w := &written{}
	c := &onePiece{Conn: w}
	h := new(holding)
	out, _ := (&body{buf: []byte("x")}), 0
	h.sends(newReader(out))
	h.sends((&body{}).sends([]byte("tiny"))) // and this is sent
	h.got(httptrace.GotConnInfo{Conn: c})
	h.got(httptrace.GotConnInfo{Conn: w})
	(*holding)(nil).sends(newReader(out))
	if io.WriteString(c, "head and body"); w.String() != "head and body" {
		t.Errorf("%q was written", w)
	}
}
