package proxy

import (
	"io"
	"net/http"
	"strconv"

	"github.com/pare-llm/pare/proxy/internal/recall"
)

// stream passes on a reply that comes piece by piece.
func (q *rounds) stream(resp *http.Response, f recall.Framing) *http.Response {
	s := &recallStream{q: q, framing: f, filter: q.x.o.offer.tongue.Stream(), body: resp.Body}
	if coding := resp.Header.Get("Content-Encoding"); passing(coding) {
		s.coding = coding
		resp.Header.Del("Content-Encoding")
	}
	// How long it will be nobody knows.
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Body = s
	q.x.body.hold() // what is fetched lies in it
	return resp
}

// A recallStream is a reply over all its rounds, as the client reads it.
type recallStream struct {
	q       *rounds
	framing recall.Framing
	filter  recall.Filter
	body    io.ReadCloser // of the round
	coding  string        // "": it is not packed
	reading bool
	w       witness
	out     []byte // what the client may read
	buf     []byte
	err     error
	closed  bool
}

func (s *recallStream) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.advance()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// advance takes one event.
func (s *recallStream) advance() {
	if !s.reading {
		if s.err = s.begin(); s.err != nil {
			return
		}
	}
	e, err := s.framing.Next()
	if err == nil {
		s.write(s.filter.Take(e))
		return
	}
	if len(e.Raw) > 0 { // too long to be looked at
		s.out = append(s.out, e.Raw...)
	}
	if s.err = err; err == io.EOF {
		s.end()
	}
}

func (s *recallStream) begin() error {
	s.reading, s.w = true, witness{}
	var r io.Reader = s.body
	if s.coding != "" {
		z, err := opened(s.coding, r)
		if err != nil {
			return err
		}
		r = z
	}
	s.framing.Read(io.TeeReader(r, hearing{&s.w}))
	return nil
}

// hearing lets a witness hear what is written.
type hearing struct{ w *witness }

func (h hearing) Write(p []byte) (int, error) {
	h.w.hear(p)
	return len(p), nil
}

func (s *recallStream) write(events []recall.Event) {
	s.buf = s.buf[:0]
	for _, e := range events {
		s.buf = s.framing.Append(s.buf, e)
	}
	s.out = s.buf
}

// end goes on with the next round when a reply has ended, if the model waits for one.
func (s *recallStream) end() {
	q := s.q
	q.heard(&s.w)
	t := s.filter.Turn()
	if !t.Alone() {
		q.hide(t)
		return
	}
	resp, err := q.next(t)
	switch {
	case err != nil:
		s.err = err
	case resp == nil:
		s.write(s.filter.Close())
	case resp.StatusCode != http.StatusOK:
		// Headers are out, so the provider's answer cannot be given. A reply that breaks off is
		// asked for again; one that seems to have ended is not.
		resp.Body.Close()
		s.err = &roundError{resp.StatusCode}
	default:
		s.body.Close()
		s.body, s.reading, s.err = resp.Body, false, nil
		if s.coding = resp.Header.Get("Content-Encoding"); !passing(s.coding) {
			s.coding = ""
		}
		s.filter.Next()
	}
}

func (s *recallStream) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.body.Close()
	s.q.x.body.release()
	return err
}

// A roundError is why a reply that was streamed breaks off: the provider did not answer the
// request that gave the model what it had asked for. Many goroutines may read it.
type roundError struct{ Status int }

func (e *roundError) Error() string {
	return "the provider answered with status " + strconv.Itoa(e.Status) + " to what the model had asked to see again"
}
