package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/source"
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
	w.log = slog.New(slog.NewTextHandler(w.stderr, &slog.HandlerOptions{Level: level}))
	return nil
}

// logRead tells the log what is read.
func (w *world) logRead(in *source.Chunk) {
	if in.Err != nil {
		w.log.Info("not read", "source", in.Source, "error", in.Err)
		return
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
