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
	o := alone.changeSession(from, chunk, nil)
	o.bytesBefore, o.bytesAfter = o.bytesBefore+len(end), o.bytesAfter+len(end)
	if !c.dryRun && (o.status == statusClean || o.status == statusFindings) {
		o.out = append(o.out[:len(o.out):len(o.out)], end...)
	}
	return o
}
