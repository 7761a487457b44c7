package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/proxy/internal/recall"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// recalled answers the calls of the tool in a reply, and returns what the client gets.
func (x *exchange) recalled(resp *http.Response) (*http.Response, error) {
	if x.o.offer == nil || resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	q := &rounds{x: x, body: x.o.body, left: x.t.Recall.maxBytes()}
	streamed := strings.HasSuffix(x.in.URL.Path, ":streamGenerateContent")
	f := recall.Frame(x.o.offer.tongue, resp.Header.Get("Content-Type"), streamed)
	if f == nil {
		return q.whole(resp)
	}
	if coding := codingName(resp.Header.Get("Content-Encoding")); coding == "" || coding == "identity" || passing(coding) {
		return q.stream(resp, f), nil
	}
	return resp, nil // it was asked not to be packed
}

// rounds are the requests behind one reply.
type rounds struct {
	x    *exchange
	body []byte // of the request that was replied to last
	done int
	left int // bytes that may be fetched
	used tokens.Usage
}

// heard takes the figures of a reply that was read to its end.
func (q *rounds) heard(w *witness) {
	u, _ := w.tell()
	q.used.Input += u.Input
	q.used.Read += u.Read
	q.used.Written += u.Written
	q.used.Output += u.Output
	if q.done > 0 {
		used := q.used
		q.x.spent = &used
	}
}

// next answers what a turn asks for and sends the next request; nil if no more may be sent,
// or if what was to be sent is not sound.
func (q *rounds) next(t *recall.Turn) (*http.Response, error) {
	if q.done > q.x.t.Recall.rounds() {
		return nil, nil
	}
	results := q.results(t, false)
	body := q.asked(t, results)
	if body == nil {
		return nil, nil
	}
	sent := q.x.rec.BytesOut
	resp, err := q.x.send(body)
	if err != nil {
		return nil, err
	}
	if tooMuch(resp.StatusCode) {
		if again := q.asked(t, q.refused(t)); again != nil {
			resp.Body.Close()
			if resp, err = q.x.send(again); err != nil {
				return nil, err
			}
			body = again
		}
	}
	q.x.rec.BytesOut += sent
	q.body = body
	q.done++
	return resp, nil
}

// tooMuch reports whether a provider may have refused a request for what was fetched.
func tooMuch(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}

// results answers the calls of a turn.
func (q *rounds) results(t *recall.Turn, beside bool) []string {
	all := make([]string, len(t.Calls))
	for i, c := range t.Calls {
		var rec Recalled
		if q.done >= q.x.t.Recall.rounds() {
			all[i], rec.Answer = sayLimit, answerLimit
		} else {
			all[i], rec = q.x.fetch(c, q.left)
		}
		q.left -= rec.Bytes
		rec.Beside = beside
		q.x.rec.Recalls = append(q.x.rec.Recalls, rec)
	}
	return all
}

// refused answers the calls of a turn again, without content.
func (q *rounds) refused(t *recall.Turn) []string {
	all := make([]string, len(t.Calls))
	recs := q.x.rec.Recalls[len(q.x.rec.Recalls)-len(all):]
	for i := range all {
		all[i] = sayRefused
		recs[i].Answer, recs[i].Bytes = answerRefused, 0
	}
	return all
}

// asked is the next request, repaired where a reply may not be sent back as it came; nil if
// that cannot be.
func (q *rounds) asked(t *recall.Turn, results []string) []byte {
	body := recall.Ask(q.x.o.offer.tongue, q.body, t, results)
	r, err := wire.Parse(body, q.x.aim.read)
	if err != nil {
		return nil
	}
	p := q.x.aim.policy
	m, err := wirex.Repair(r, p.Repair, p.Check)
	if err != nil || len(m.Left) > 0 {
		return nil
	}
	return m.Request.Raw()
}

// hide remembers calls that stood beside calls of the client's.
func (q *rounds) hide(t *recall.Turn) {
	if !t.Ready || len(t.Calls) == 0 || len(t.Others) == 0 {
		return
	}
	h := &recall.Hidden{Calls: t.Calls, Others: t.Others, Messages: q.x.o.glance.Messages}
	for i, text := range q.results(t, true) {
		h.Results = append(h.Results, q.x.o.offer.tongue.Result(t.Calls[i], text))
	}
	q.x.t.Recall.hidden.put(q.x.aim.owner, h)
}

// whole reads a reply in one piece, and those of the rounds that follow it.
func (q *rounds) whole(resp *http.Response) (*http.Response, error) {
	tongue := q.x.o.offer.tongue
	var before []*recall.Turn
	for {
		plain := q.read(resp)
		if plain == nil {
			return resp, nil
		}
		t := tongue.Hear(plain)
		if t == nil || len(t.Calls) == 0 && before == nil {
			return resp, nil
		}
		var w witness
		w.hear(plain)
		q.heard(&w)
		if t.Alone() {
			next, err := q.next(t)
			if err != nil {
				return nil, err
			}
			if next != nil && next.StatusCode != http.StatusOK {
				return next, nil // the provider's own answer
			}
			if next != nil {
				resp.Body.Close()
				before, resp = append(before, t), next
				continue
			}
		}
		q.hide(t)
		replace(resp, tongue.Reply(plain, before, t))
		return resp, nil
	}
}

// read reads a reply, which stays whole; nil if it cannot be looked at.
func (q *rounds) read(resp *http.Response) []byte {
	most := q.x.t.maxBody()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	rest := resp.Body
	if err != nil {
		resp.Body = joined{io.MultiReader(bytes.NewReader(raw), broken{err}), rest}
		return nil // the client is to see just that
	}
	resp.Body = joined{io.MultiReader(bytes.NewReader(raw), rest), rest}
	if int64(len(raw)) > most {
		return nil
	}
	plain, err := unpack(resp.Header.Get("Content-Encoding"), raw, most)
	if err != nil {
		return nil
	}
	return plain
}

// replace puts another body into a reply.
func replace(resp *http.Response, body []byte) {
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Del("Content-Encoding")
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
}
