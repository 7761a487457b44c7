package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/engine"
	"github.com/pare-llm/pare/internal/jsonspan"
)

type linesCmd struct{}

// Help is the page's first paragraph.
func (c *linesCmd) Help() string {
	return `For example:

    pare lines

For programs in other languages that keep this one open: each line of standard input is a
call, {"call":NAME,"options":{…},"body":…}, and is answered by one line at once. The calls
are fix, fit, trim (the same), prune, compact, check, count, split and pairs; pare serve has
the same ones at /pare/v1/NAME. The options have the names of the flags, as in
{"max_tokens":100000}, and "config" takes what a pare.toml can say, as JSON.

The answer is {"body_bytes":N,"report":…,"body":…} if something was changed: the body is the
last N bytes in front of the closing brace, byte for byte as it is to be sent. It is
{"report":…} if nothing was, with null where there is nothing to say, or
{"error":{"type","message"}}. pare --lines is the same command.`
}

func (c *linesCmd) run(env *environment) int {
	for t, err := range source.Lines(env.stdin) {
		if err != nil {
			return env.failAnswering(err)
		}
		if _, err := env.stdout.Write(answerCall(t.Raw)); err != nil {
			return env.failOutput(err)
		}
	}
	return statusClean
}

// answered is the answer to a line.
func answerCall(line []byte) []byte {
	var asked struct {
		Call    string          `json:"call"`
		Options json.RawMessage `json:"options"`
		Body    json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(line, &asked); err != nil {
		return encodeLine(errorLine{&engine.Error{Type: "unreadable", Message: "the line is no call: " + err.Error()}})
	}
	r, err := engine.Call(asked.Call, asked.Body, asked.Options, engine.Callbacks{})
	if err != nil {
		var e *engine.Error
		if !errors.As(err, &e) {
			e = &engine.Error{Type: "failed", Message: err.Error()}
		}
		return encodeLine(errorLine{e})
	}
	report := r.Report
	if report == nil {
		report = []byte("null")
	}
	if r.Body == nil {
		return slices.Concat([]byte(`{"report":`), report, []byte("}\n"))
	}
	body := jsonspan.OneLine(r.Body)
	front := `{"body_bytes":` + strconv.Itoa(len(body)) + `,"report":`
	return slices.Concat([]byte(front), report, []byte(`,"body":`), body, []byte("}\n"))
}
