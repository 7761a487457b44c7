package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pare-llm/pare/internal/screen"
)

// listen serves until a signal comes; then no more connections are taken, and requests
// that have begun may take so long to end. The first line on standard error says where it
// listens.
func (w *world) listen(address string, server *http.Server, grace time.Duration) int {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return w.fail(err.Error(), "with port 0, as in 127.0.0.1:0, a free one is taken")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	w.ownSignals()
	screen.Fprintf(w.stderr, "pare: listening on http://%s\n", l.Addr().String())
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		limit, done := context.WithTimeout(context.Background(), grace)
		defer done()
		ended <- server.Shutdown(limit)
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return w.fail(err.Error(), "")
	}
	if err := <-ended; err != nil {
		server.Close()
		return w.fail("ended before all requests had: "+err.Error(), "")
	}
	return statusClean
}
