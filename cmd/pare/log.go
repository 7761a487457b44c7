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

// logLevels are the values of --log and PARE_LOG.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// startLog sets env.log. The flag takes precedence over PARE_LOG; the default level is warn.
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
	// The handler quotes unprintable characters, so that every value stays on its line.
	env.logOutput = &logWriter{w: env.stderr}
	env.log = slog.New(slog.NewTextHandler(env.logOutput, &slog.HandlerOptions{Level: level}))
	return nil
}

// A logWriter can hold lines back while other output must come first or must not be disturbed: the
// address of a server, or the screen of an agent.
type logWriter struct {
	mu           sync.Mutex
	w            io.Writer
	heldLines    [][]byte
	droppedLines int // the oldest lines beyond maxHeldLines
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

// hold starts to keep lines back.
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

// A serverCommand prints its address as the first line of standard error, so its log is held back
// until then.
type serverCommand interface{ listensFirst() }

// printListening prints the address of a server and releases the log.
func (env *environment) printListening(a net.Addr) {
	screen.Fprintf(env.stderr, "pare: listening on http://%s\n", a.String())
	env.logOutput.release()
}

// logChunk logs that a chunk was read.
func (env *environment) logChunk(chunk *source.Chunk) {
	if chunk.Err != nil {
		env.log.Info("not read", "source", chunk.Source, "error", chunk.Err)
		return
	}
	if !env.log.Enabled(context.Background(), slog.LevelDebug) {
		return // avoids formatting a record for each of many files
	}
	env.log.Debug("read", "source", chunk.Source, "line", chunk.Line, "bytes", len(chunk.Data), "session", chunk.Agent != agentlog.Auto)
}

// logEvents logs the events of a policy at level debug. It modifies policy.
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
