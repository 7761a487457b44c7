package main

import (
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// trajectory is the session that a text of a data set is: a line, or what --field has cut out of one. Benchmarks
// hand out their runs in ATIF this way. It is asked for what is no request, nor a list of a program.
func detectTrajectory(from origin, raw []byte, host string, opts wire.Options) (chunk source.Chunk, ok bool) {
	if host != "" || opts.Dialect != wire.Auto || jsonspan.Valid(raw) != nil {
		return chunk, false
	}
	f, _ := agentlog.Detect("", raw)
	return source.Chunk{Source: from.source, Data: raw, Agent: f}, f == agentlog.ATIF
}

// trajectory changes one, and puts it back in front of what ends its line.
func (c *changer) changeTrajectory(from origin, chunk source.Chunk, end []byte) outcome {
	alone := *c
	alone.inPlace = false // the file is written when all of its lines are
	o := alone.changeSession(from, chunk, nil)
	o.bytesBefore, o.bytesAfter = o.bytesBefore+len(end), o.bytesAfter+len(end)
	if !c.dryRun && (o.status == statusClean || o.status == statusFindings) {
		o.out = append(o.out[:len(o.out):len(o.out)], end...)
	}
	return o
}
