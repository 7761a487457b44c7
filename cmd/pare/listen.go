package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/serve"
)

// notifyShutdown returns a context that ends with the first SIGINT or SIGTERM, and a channel that
// is closed by the second one. A third signal ends the process. The caller must call done.
func (env *environment) notifyShutdown() (ctx context.Context, cut <-chan struct{}, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, now := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		signal.Stop(signals)
		screen.Fprintf(env.stderr, "pare: a second signal: requests under way are cut off\n")
		close(now)
	}()
	env.releaseSignals()
	return ctx, now, func() { signal.Stop(signals); cancel() }
}

// serveUntilSignal serves until a signal arrives. Requests under way may take grace to finish; a
// second signal cuts them off.
func (env *environment) serveUntilSignal(address string, server *http.Server, grace time.Duration) int {
	listener, err := net.Listen("tcp", normalizeAddress(address))
	if err != nil {
		return env.fail(err.Error(), listenHint(err))
	}
	ctx, cut, done := env.notifyShutdown()
	defer done()
	env.printListening(listener.Addr())
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		limit, ends := context.WithTimeout(context.Background(), grace)
		defer ends()
		late, cancel := serve.Until(limit, cut)
		defer cancel()
		ended <- server.Shutdown(late)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return env.fail(err.Error(), "")
	}
	err = <-ended
	if errors.Is(err, context.Canceled) { // a second signal, which was reported when it arrived
		server.Close()
		return statusClean
	}
	if err != nil {
		server.Close()
		return env.fail("ended before all requests had: "+err.Error(), "")
	}
	return statusClean
}

// normalizeAddress adds the loopback address to a port.
func normalizeAddress(address string) string {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		return "127.0.0.1:" + address
	}
	return address
}

// listenHint returns advice about an address that cannot be listened on.
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
