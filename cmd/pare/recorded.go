package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A recordedLine holds the members of a session file line besides its message.
type recordedLine struct {
	Timestamp time.Time
	Type      string
	Subtype   string
	Message   struct {
		ID    string
		Model string
		Usage *recordedUsage
	}
	Payload struct {
		Type string
		Info struct {
			Last *recordedUsage `json:"last_token_usage"`
		}
	}
}

// A recordedUsage is the token usage that Claude Code and Codex record.
type recordedUsage struct {
	Input    int `json:"input_tokens"`
	Read     int `json:"cache_read_input_tokens"`
	Written  int `json:"cache_creation_input_tokens"`
	Output   int `json:"output_tokens"`
	Cached   int `json:"cached_input_tokens"` // Codex: a part of Input
	Creation struct {
		Hour int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (u *recordedUsage) toBill() replay.Bill {
	return replay.Bill{Input: u.Input - u.Cached, Read: u.Read + u.Cached, Written: u.Written, Hour: u.Creation.Hour, Output: u.Output}
}

// A sessionPart is a part of a session between two compactions.
type sessionPart struct {
	request *wire.Request
	*replay.Recording
}

// splitSession returns the parts of a session and its sub-agents in order. Parts of files without
// timestamps have no recording.
func splitSession(l *agentlog.Log) (all []sessionPart, err error) {
	lines := recordedLines(l.Raw())
	threads := slices.Clone(l.Threads)
	slices.SortStableFunc(threads, func(a, b *agentlog.Thread) int { return l.Line(a, 0) - l.Line(b, 0) })
	for _, thread := range threads {
		if thread.Messages() == 0 {
			continue
		}
		req := thread.Stored()
		at := l.Lines(thread)
		if at == nil {
			all = append(all, sessionPart{request: req})
			continue
		}
		recording := buildRecording(req.Transcript(), lines, at)
		from := 0
		for i := 1; i <= thread.Messages(); i++ {
			if i < thread.Messages() && !compactedBetween(lines, at(i-1), at(i)) {
				continue
			}
			part, err := sliceRequest(req, from, i)
			if err != nil {
				return nil, err
			}
			all = append(all, sessionPart{part, &replay.Recording{Times: recording.Times[from:i], Bills: recording.Bills[from:i]}})
			from = i
		}
	}
	return all, nil
}

// recordedLines parses the lines of a file; index 1 is the first line. Lines that are not JSON are
// empty.
func recordedLines(raw []byte) []recordedLine {
	all := []recordedLine{{}}
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		var x recordedLine
		if json.Unmarshal(line, &x) != nil {
			x = recordedLine{}
		}
		all = append(all, x)
	}
	return all
}

// compactedBetween reports whether the agent compacted the conversation between two lines.
func compactedBetween(all []recordedLine, from, to int) bool {
	for i := from + 1; i <= to && i < len(all); i++ {
		if all[i].Subtype == "compact_boundary" || all[i].Type == "compacted" {
			return true
		}
	}
	return false
}

// buildRecording returns the times and bills of a thread's messages. Codex writes the bill after
// the reply and its results, so it belongs to the model's last turn before it.
func buildRecording(t *transcript.Transcript, lines []recordedLine, at func(int) int) *replay.Recording {
	ms := t.Messages()
	recording := &replay.Recording{Times: make([]time.Time, len(ms)), Bills: make([]replay.Bill, len(ms))}
	for i := range ms {
		n := at(i)
		if n <= 0 || n >= len(lines) {
			continue
		}
		recording.Times[i] = lines[n].Timestamp
		if u := lines[n].Message.Usage; u != nil {
			recording.Bills[i] = u.toBill()
			recording.Bills[i].Model, recording.Bills[i].Reply = lines[n].Message.Model, lines[n].Message.ID
		}
		next := len(lines)
		if i+1 < len(ms) {
			next = at(i + 1)
		}
		for k := n; k < next && k < len(lines); k++ {
			if u := lines[k].Payload.Info.Last; u != nil {
				assignBill(recording, ms, i, u.toBill())
			}
		}
	}
	return recording
}

// assignBill sets the bill of the model's last turn up to message i.
func assignBill(recording *replay.Recording, ms []transcript.Message, i int, bill replay.Bill) {
	for i >= 0 && ms[i].Role != transcript.Assistant {
		i--
	}
	for k := i; k >= 0 && ms[k].Turn == ms[i].Turn; k-- {
		recording.Bills[k] = bill
	}
}

// sliceRequest returns a request with the messages from..to-1 of req.
func sliceRequest(req *wire.Request, from, to int) (*wire.Request, error) {
	all, raw := req.Transcript().Messages(), req.Raw()
	if from == 0 && to == len(all) {
		return req, nil
	}
	body := slices.Concat(raw[:all[0].Span.Start], raw[all[from].Span.Start:all[to-1].Span.End], raw[all[len(all)-1].Span.End:])
	return wire.Parse(body, wire.Options{Dialect: req.Dialect, Profile: req.Profile.Name, Model: req.Model()})
}

// replaySession replays all parts of a session.
func (r *replayRun) replaySession(style picture.Style, from origin, session sessionFile) (outcomes []outcome, err error) {
	parts, err := splitSession(session.Log)
	if err != nil {
		return nil, err
	}
	options := r.options
	for i, part := range parts {
		from.isOneOfMany = from.isOneOfMany || len(parts) > 1
		if len(parts) > 1 {
			from.thread = fmt.Sprintf("part %d", i+1)
		}
		q := *r
		q.options = options
		q.options.Recording = part.Recording
		if first := session.First(); q.options.Model == "" && part.request.Model() == "" && first != nil {
			q.options.Model = first.Model()
		}
		out, err := q.replayTranscript(style, from, part.request)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, out)
	}
	return outcomes, nil
}

// repaired returns the request as it must have been sent, with its recording.
func (r *replayRun) repaired(req *wire.Request) (*wire.Request, *replay.Recording, error) {
	plan, err := r.repair.Plan(context.Background(), req)
	if err != nil {
		return nil, nil, err
	}
	out, recording := plan.Result(), r.options.Recording
	if recording == nil || out == req {
		return out, recording, nil
	}
	moved := &replay.Recording{}
	for i := range out.Transcript().Messages() {
		var at time.Time
		var bill replay.Bill
		if m := dialect.MessageIn(out, req, i); m >= 0 && m < len(recording.Times) {
			at, bill = recording.Times[m], recording.Bills[m]
		}
		moved.Times, moved.Bills = append(moved.Times, at), append(moved.Bills, bill)
	}
	return out, moved, nil
}
