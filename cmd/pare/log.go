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
func (env *environment) startLog(flag string) error {
	name := flag
	if name == "" {
		name = env.getenv("PARE_LOG")
	}
	level, known := logLevels[strings.ToLower(name)]
	switch {
	case name == "":
		level = slog.LevelWarn
	case !known && flag == "":
		return hintedError{errors.New("PARE_LOG is " + name + ", which is no level"), "set it to debug, info, warn or error"}
	case !known:
		return hintedError{errors.New("--log: " + name + " is no level"), "give debug, info, warn or error"}
	}
	// The handler quotes what is not printable, so that a value stays on its line.
	env.logOutput = &logWriter{w: env.stderr}
	env.log = slog.New(slog.NewTextHandler(env.logOutput, &slog.HandlerOptions{Level: level}))
	return nil
}

// A logWriter can hold lines back while other output must come first or stay undisturbed: the
// address of a server, or the screen of an agent.
type logWriter struct {
	mu           sync.Mutex
	w            io.Writer
	heldLines    [][]byte
	droppedLines int // lines beyond maxHeldLines, the oldest ones
	isHolding    bool
}

// maxHeldLines bounds the memory of a log that is held back for hours.
const maxHeldLines = 200

// Write writes one line of the log, or keeps it until release.
func (l *logWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isHolding {
		return l.w.Write(p)
	}
	if len(l.heldLines) == maxHeldLines {
		l.heldLines = slices.Delete(l.heldLines, 0, 1)
		l.droppedLines++
	}
	l.heldLines = append(l.heldLines, slices.Clone(p))
	return len(p), nil
}

func (l *logWriter) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isHolding = true
}

// release writes the lines that were held back. Later lines are written immediately.
func (l *logWriter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.droppedLines > 0 {
		screen.Fprintf(l.w, "pare: %s of the log left out; the newest follow\n", plural(l.droppedLines, "older line"))
	}
	for _, line := range l.heldLines {
		l.w.Write(line)
	}
	l.heldLines, l.droppedLines, l.isHolding = nil, 0, false
}

// A serverCommand is a command whose first line on standard error says where it listens.
type serverCommand interface{ listensFirst() }

// listening writes that line; the log may follow.
func (env *environment) printListening(a net.Addr) {
	screen.Fprintf(env.stderr, "pare: listening on http://%s\n", a.String())
	env.logOutput.release()
}

// logRead tells the log what is read.
func (env *environment) logChunk(chunk *source.Chunk) {
	if chunk.Err != nil {
		env.log.Info("not read", "source", chunk.Source, "error", chunk.Err)
		return
	}
	if !env.log.Enabled(context.Background(), slog.LevelDebug) {
		return // what would be told of each of many files is not put together
	}
	env.log.Debug("read", "source", chunk.Source, "line", chunk.Line, "bytes", len(chunk.Data), "session", chunk.Agent != agentlog.Auto)
}

// logEvents tells the log what the engine tells.
func (env *environment) logEvents(policy *pare.Policy) {
	if !env.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	next := policy.Sink
	policy.Sink = func(e pare.Event) {
		env.log.Debug("event", "type", string(e.Type), "metadata", string(encodeLine(e.Metadata)))
		if next != nil {
			next(e)
		}
	}
}
