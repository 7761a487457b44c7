package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/pare-llm/pare/wire"
)

// hop reports whether a header is meant for the next machine only.
func hop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// A plain request is what nearly all are: a history of known length, with nothing between its
// client and us that needs care.
type plain struct {
	by  Transport
	to  target
	url *url.URL
	sight
}

// plain says how a request goes by [Handler.forward]; false: it has to go by the proxy of the
// standard library.
func (h *Handler) plain(r *http.Request, to target) (p plain, ok bool) {
	p = plain{by: h.transport(to), to: to}
	if r.ContentLength <= 0 || r.ContentLength > p.by.maxBody() || len(r.TransferEncoding) > 0 || r.Trailer != nil || r.Header["Upgrade"] != nil || r.Header["Te"] != nil {
		return p, false
	}
	for _, v := range r.Header["Connection"] {
		if !strings.EqualFold(v, "keep-alive") && !strings.EqualFold(v, "close") {
			return p, false
		}
	}
	p.url = to.upstream.address(to.path, r.URL)
	p.sight = looksAt(r, p.url)
	return p, p.dialect != wire.Auto && !p.by.Policy.Off
}

// forward sends a plain request on, and its reply back. It does what [httputil.ReverseProxy]
// does, with less in between: headers are copied once, and no goroutine flushes.
func (h *Handler) forward(w http.ResponseWriter, rc *http.ResponseController, r *http.Request, body io.ReadCloser, p *plain) {
	hints := &hints{w: w}
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got1xxResponse: hints.pass, GotConn: p.to.got})
	out := r.WithContext(ctx)
	out.URL, out.Host, out.Close, out.Body = p.url, "", false, body
	out.Header = make(http.Header, len(r.Header)+1)
	for name, values := range r.Header {
		if !hop(name) {
			out.Header[name] = values
		}
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // none is sent
	}
	resp, err := p.by.carry(out, p.sight)
	hints.end()
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		err = errors.New("it switches to a protocol that nobody asked for")
	}
	if err == nil {
		err = numbered(resp)
	}
	if err != nil {
		h.refused(w, r.Context(), p.to, err)
		return
	}
	if err := reply(w, rc, resp); err != nil && r.Context().Value(http.ServerContextKey) != nil {
		panic(http.ErrAbortHandler) // so that the client sees that it is not whole
	}
}

// numbered refuses a reply whose status is below all that there are, which no server can write.
func numbered(resp *http.Response) error {
	if resp.StatusCode >= 100 {
		return nil
	}
	resp.Body.Close()
	return errors.New("the status of its reply is " + strconv.Itoa(resp.StatusCode))
}

// hints pass on what an upstream says before its reply (1xx), until that is there.
type hints struct {
	mu   sync.Mutex
	w    http.ResponseWriter
	done bool
}

func (h *hints) pass(code int, header textproto.MIMEHeader) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.done {
		to := h.w.Header()
		for name, values := range header {
			to[name] = append(to[name], values...)
		}
		h.w.WriteHeader(code)
		clear(to) // they are not those of the reply
	}
	return nil
}

func (h *hints) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = true
}

// reply copies a reply, every piece as soon as it is there.
func reply(w http.ResponseWriter, rc *http.ResponseController, resp *http.Response) error {
	defer resp.Body.Close()
	to := w.Header()
	for _, v := range resp.Header["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			resp.Header.Del(textproto.TrimString(name))
		}
	}
	for name, values := range resp.Header {
		if hop(name) {
			continue
		}
		if there := to[name]; len(there) > 0 {
			values = append(there, values...)
		}
		to[name] = values
	}
	unsniffed(to)
	announced := len(resp.Trailer)
	for name := range resp.Trailer {
		to.Add("Trailer", name)
	}
	w.WriteHeader(resp.StatusCode)
	if err := pour(w, rc, resp); err != nil {
		return err
	}
	resp.Body.Close() // now the trailers are there
	if len(resp.Trailer) == 0 {
		return nil
	}
	rc.Flush() // or a short body would get a length, and no trailers
	for name, values := range resp.Trailer {
		if len(resp.Trailer) != announced {
			name = http.TrailerPrefix + name
		}
		to[name] = append(to[name], values...)
	}
	return nil
}

// pour copies the body of a reply. The end of one without a length need not be flushed: the
// server does that, together with what says that it is the end. The head of a reply that fits
// a buffer goes out together with it; any other head at once, since the first piece of a
// stream may take its time.
func pour(w http.ResponseWriter, rc *http.ResponseController, resp *http.Response) error {
	lent := replyBuffers.Get().(*[replyBuffer]byte)
	defer replyBuffers.Put(lent)
	left := resp.ContentLength
	if left < 0 || left > replyBuffer {
		if err := rc.Flush(); err != nil {
			return err
		}
	}
	for {
		n, err := resp.Body.Read(lent[:])
		if n > 0 {
			if _, err := w.Write(lent[:n]); err != nil {
				return err
			}
			if left -= int64(n); left == 0 || err != io.EOF {
				if err := rc.Flush(); err != nil {
					return err
				}
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// unsniffed keeps the server from guessing the type of a reply that names none.
func unsniffed(h http.Header) {
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil
	}
}

// final is the reply to a client of HTTP/1.0, which knows no 1xx and would take one for all
// there is.
type final struct{ http.ResponseWriter }

func (f final) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f final) WriteHeader(status int) {
	if status >= 200 {
		f.ResponseWriter.WriteHeader(status)
	}
}

// refused answers for an upstream that did not, though it may have been reached.
func (h *Handler) refused(w http.ResponseWriter, ctx context.Context, to target, err error) {
	var body *BodyError
	switch {
	case errors.As(err, &body) && errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		refuse(w, to.upstream.Name, to.path, http.StatusRequestTimeout, "the body of the request came too slowly, or stopped")
	case errors.As(err, &body):
		w.Header().Set("Connection", "close")
		refuse(w, to.upstream.Name, to.path, http.StatusBadRequest, "the body of the request cannot be read")
	case ctx.Err() != nil:
		panic(http.ErrAbortHandler) // nobody is there any more
	case to.reached.Load():
		refuse(w, to.upstream.Name, to.path, http.StatusBadGateway, "Pare reached the upstream "+to.upstream.Name+", which gave no reply: "+cause(err))
	default:
		refuse(w, to.upstream.Name, to.path, http.StatusBadGateway, "Pare cannot reach the upstream "+to.upstream.Name+": "+cause(err))
	}
}
