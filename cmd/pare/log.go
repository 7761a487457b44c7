package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
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

// A logWriter can hold lines back while other output must come first or stay undisturbed: the
// address of a server, or the screen of an agent.
type logWriter struct {
	mu   sync.Mutex
	w    io.Writer
	held [][]byte
	lost int // lines beyond maxHeldLines, the oldest ones
	hold bool
}

// maxHeldLines bounds the memory of a log that is held back for hours.
const maxHeldLines = 200

// Write writes one line of the log, or keeps it until release.
func (l *logWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hold {
		return l.w.Write(p)
	}
	if len(l.held) == maxHeldLines {
		l.held = slices.Delete(l.held, 0, 1)
		l.lost++
	}
	l.held = append(l.held, slices.Clone(p))
	return len(p), nil
}

func (l *logWriter) holdBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = true
}

// release writes the lines that were held back. Later lines are written immediately.
func (l *logWriter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		screen.Fprintf(l.w, "pare: %s of the log left out; the newest follow\n", plural(l.lost, "older line"))
	}
	for _, line := range l.held {
		l.w.Write(line)
	}
	l.held, l.lost, l.hold = nil, 0, false
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
