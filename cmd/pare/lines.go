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

// Help returns the detailed help of the command.
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
	for line, err := range source.Lines(env.stdin) {
		if err != nil {
			return env.failAnswering(err)
		}
		if _, err := env.stdout.Write(answerCall(line.Raw)); err != nil {
			return env.failOutput(err)
		}
	}
	return statusClean
}

// answerCall runs the call in a line of JSON and returns the line to answer.
func answerCall(line []byte) []byte {
	var call struct {
		Name    string          `json:"call"`
		Options json.RawMessage `json:"options"`
		Body    json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(line, &call); err != nil {
		return encodeLine(errorLine{&engine.Error{Type: "unreadable", Message: "the line is no call: " + err.Error()}})
	}
	result, err := engine.Call(call.Name, call.Body, call.Options, engine.Callbacks{})
	if err != nil {
		callErr, ok := errors.AsType[*engine.Error](err)
		if !ok {
			callErr = &engine.Error{Type: "failed", Message: err.Error()}
		}
		return encodeLine(errorLine{callErr})
	}
	report := result.Report
	if report == nil {
		report = []byte("null")
	}
	if result.Body == nil {
		return slices.Concat([]byte(`{"report":`), report, []byte("}\n"))
	}
	body := jsonspan.OneLine(result.Body)
	head := `{"body_bytes":` + strconv.Itoa(len(body)) + `,"report":`
	return slices.Concat([]byte(head), report, []byte(`,"body":`), body, []byte("}\n"))
}
