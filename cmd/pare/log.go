package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
)

// logLevels are what --log and PARE_LOG take.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// startLog makes the log of a run. The flag beats the environment; without either there is
// no log but of what goes wrong.
func (w *world) startLog(flag string) error {
	name := flag
	if name == "" {
		name = w.getenv("PARE_LOG")
	}
	level, known := logLevels[strings.ToLower(name)]
	switch {
	case name == "":
		level = slog.LevelWarn
	case !known && flag == "":
		return hinted{errors.New("PARE_LOG is " + name + ", which is no level"), "set it to debug, info, warn or error"}
	case !known:
		return hinted{errors.New("--log: " + name + " is no level"), "give debug, info, warn or error"}
	}
	// The handler quotes what is not printable, so that a value stays on its line.
	w.logTo = &logWriter{w: w.stderr}
	w.log = slog.New(slog.NewTextHandler(w.logTo, &slog.HandlerOptions{Level: level}))
	return nil
}

// A logWriter can hold back what is written to it: the first line of a server on standard error
// is its address, whatever the log has to say before.
type logWriter struct {
	mu   sync.Mutex
	w    io.Writer
	held []byte
	hold bool
}

func (l *logWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hold {
		l.held = append(l.held, p...)
		return len(p), nil
	}
	return l.w.Write(p)
}

func (l *logWriter) holdBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = true
}

// release writes what was held back, and from then on everything at once.
func (l *logWriter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) > 0 {
		l.w.Write(l.held)
	}
	l.held, l.hold = nil, false
}

// A server is a command whose first line on standard error says where it listens.
type server interface{ listens() }

// listening writes that line; the log may follow.
func (w *world) listening(a net.Addr) {
	screen.Fprintf(w.stderr, "pare: listening on http://%s\n", a.String())
	w.logTo.release()
}

// logRead tells the log what is read.
func (w *world) logRead(in *source.Chunk) {
	if in.Err != nil {
		w.log.Info("not read", "source", in.Source, "error", in.Err)
		return
	}
	if !w.log.Enabled(context.Background(), slog.LevelDebug) {
		return // what would be told of each of many files is not put together
	}
	w.log.Debug("read", "source", in.Source, "line", in.Line, "bytes", len(in.Data), "session", in.Agent != agentlog.Auto)
}

// logEvents tells the log what the engine tells.
func (w *world) logEvents(p *pare.Policy) {
	if !w.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	next := p.Sink
	p.Sink = func(e pare.Event) {
		w.log.Debug("event", "type", string(e.Type), "metadata", string(encode(e.Metadata)))
		if next != nil {
			next(e)
		}
	}
}
