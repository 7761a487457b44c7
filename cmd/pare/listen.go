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
)

// listen serves until a signal comes; then no more connections are taken, and requests
// that have begun may take so long to end. The first line on standard error says where it
// listens.
func (w *world) listen(address string, server *http.Server, grace time.Duration) int {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return w.fail(err.Error(), listenHint(err))
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	w.ownSignals()
	w.listening(l.Addr())
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

// listenHint says what to do about an address that cannot be listened on.
func listenHint(err error) string {
	const free = "with port 0, as in 127.0.0.1:0, a free one is taken"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another --listen HOST:PORT may be free; " + free
	case errors.Is(err, syscall.EACCES):
		return "take a port from 1024 on: those below are for the administrator"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "HOST is an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
	}
	return "write --listen HOST:PORT; " + free
}
