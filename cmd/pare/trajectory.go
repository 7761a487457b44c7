package main

import (
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// detectTrajectory returns the session in raw if raw is an ATIF trajectory. Benchmarks publish data
// sets with one trajectory per line.
func detectTrajectory(from origin, raw []byte, host string, opts wire.Options) (chunk source.Chunk, ok bool) {
	if host != "" || opts.Dialect != wire.Auto || jsonspan.Valid(raw) != nil {
		return chunk, false
	}
	f, _ := agentlog.Detect("", raw)
	return source.Chunk{Source: from.source, Data: raw, Agent: f}, f == agentlog.ATIF
}

// changeTrajectory changes a trajectory in a line and appends the end of the line.
func (c *changer) changeTrajectory(from origin, chunk source.Chunk, end []byte) outcome {
	alone := *c
	alone.inPlace = false // the file is written after all of its lines
	out := alone.changeSession(from, chunk, nil)
	out.bytesBefore, out.bytesAfter = out.bytesBefore+len(end), out.bytesAfter+len(end)
	if !c.dryRun && (out.status == statusClean || out.status == statusFindings) {
		out.out = append(out.out[:len(out.out):len(out.out)], end...)
	}
	return out
}
