package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
)

// checkStatus rejects replies with a status below 100, which a server cannot write.
func checkStatus(resp *http.Response) error {
	if resp.StatusCode >= 100 {
		return nil
	}
	resp.Body.Close()
	return errors.New("the status of its reply is " + strconv.Itoa(resp.StatusCode))
}

// preventSniffing keeps the server from guessing a content type.
func preventSniffing(h http.Header) {
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil
	}
}

// A finalWriter drops 1xx replies, which clients of HTTP/1.0 would take for the final reply.
type finalWriter struct{ http.ResponseWriter }

func (f finalWriter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f finalWriter) WriteHeader(status int) {
	if status >= 200 {
		f.ResponseWriter.WriteHeader(status)
	}
}

// refused answers a request that the upstream did not answer, although it may have received it.
// No other upstream is tried.
func (h *Handler) refused(w http.ResponseWriter, ctx context.Context, to target, err error) {
	var body *BodyError
	switch {
	case errors.As(err, &body) && errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		to.refuse(w, http.StatusRequestTimeout, "the body of the request came too slowly, or stopped")
	case errors.As(err, &body):
		w.Header().Set("Connection", "close")
		to.refuse(w, http.StatusBadRequest, "the body of the request cannot be read")
	case ctx.Err() != nil:
		panic(http.ErrAbortHandler) // the client is gone
	case to.reached.Load():
		to.refuse(w, http.StatusBadGateway, "Pare reached the upstream "+to.describe()+", which gave no reply: "+cause(err)+"; check the server at this address")
	default:
		to.refuse(w, http.StatusBadGateway, "Pare cannot reach the upstream "+to.describe()+": "+cause(err)+"; start the server at this address, or change the base URL. Pare tries no other address")
	}
}

// describe returns the name and the address of the upstream.
func (t target) describe() string { return t.upstream.Name + " at " + t.upstream.URL.Redacted() }

// refuse answers instead of the upstream.
func (t target) refuse(w http.ResponseWriter, status int, message string) {
	writeError(w, t.upstream.Name, t.upstream.address(t.path, new(url.URL)).EscapedPath(), status, message)
}
