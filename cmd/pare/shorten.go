package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
)

type shortenCmd struct {
	MaxBytes int    `placeholder:"N" help:"Shorten what is longer than N bytes. Default: 3072."`
	Archive  string `placeholder:"FILE" help:"Append the whole of what is shortened to FILE as JSON lines; what is left names it."`
	Hook     string `placeholder:"AGENT" enum:",claude" default:"" help:"Be a hook of an agent: claude reads the JSON of Claude Code's PostToolUse and answers with updatedToolOutput."`
}

// Help returns the detailed help of the command.
func (c *shortenCmd) Help() string {
	return `For example:

    pare shorten --hook claude --archive ~/.claude/whole.jsonl
    make test 2>&1 | pare shorten
    make test 2>&1 | pare shorten --max-bytes 8000 --archive whole.jsonl

What a tool says is shortened before a model reads it, which is the one moment at which that costs
no cache. The beginning and the end stay, and of what lies between the lines that matter: errors,
failed tests, changed lines of a diff. Names that are left out are listed. What is short
enough is written as it came.

As a hook, put this into .claude/settings.json:

    {"hooks": {"PostToolUse": [{"matcher": "*", "hooks": [
      {"type": "command", "command": "pare shorten --hook claude"}]}]}}

Of results that show a file only those of more than 40,960 bytes are shortened, and the tools that no
rule touches are left alone; if there is nothing to shorten, nothing is written. pare serve does the same on the way to the provider, for
any agent: docs/value.md.`
}

func (c *shortenCmd) run(env *environment) int {
	if err := checkNotNegative("--max-bytes", c.MaxBytes); err != nil {
		return env.failUsage(err, "shorten")
	}
	rule, err := rules.Oversized{MaxBytes: c.MaxBytes, Arrival: true}.Rule()
	if err != nil {
		return env.failUsage(fmt.Errorf("--max-bytes: %w", err), "shorten")
	}
	pipeline, err := pare.Compile(rule)
	if err != nil {
		return env.failUsage(err, "shorten")
	}
	if err := env.claimOutput("--archive", c.Archive); err != nil {
		return env.failUsage(err, "shorten")
	}
	in, err := io.ReadAll(env.stdin)
	if err != nil {
		return env.fail("read standard input: "+err.Error(), "")
	}
	s := &shortener{policy: pare.Policy{Rules: pipeline, SkipTokenCounts: true}}
	if c.Archive != "" {
		file, err := archive.Open(c.Archive)
		if err != nil {
			return env.fail(err.Error(), writeHint(err, false))
		}
		defer file.Close()
		s.policy.Archive = file
	}
	out, err := s.shortenText("shell", nil, string(in))
	if c.Hook != "" {
		out, err = s.answerClaudeHook(in)
	}
	if err != nil {
		return env.fail(err.Error(), "")
	}
	if _, err := env.stdout.Write([]byte(out)); err != nil {
		return env.failOutput(err)
	}
	return statusClean
}

// A shortener shortens tool output with the rule for results that have just arrived.
type shortener struct{ policy pare.Policy }

// shortenText shortens the output of a tool call. input is the call's arguments as JSON, or nil.
func (s *shortener) shortenText(tool string, input json.RawMessage, said string) (string, error) {
	if input = bytes.TrimSpace(input); len(input) == 0 || input[0] != '{' {
		input = json.RawMessage("{}")
	}
	quote := func(text string) []byte { return jsonspan.AppendQuote(nil, text) }
	// Gemini requests need no ids for calls, which Pare would have to invent.
	body := slices.Concat([]byte(`{"contents":[{"role":"user","parts":[{"text":"."}]},{"role":"model","parts":[{"functionCall":{"name":`), quote(tool), []byte(`,"args":`), input,
		[]byte(`}}]},{"role":"user","parts":[{"functionResponse":{"name":`), quote(tool), []byte(`,"response":{"output":`), quote(said), []byte(`}}}]}]}`))
	req, err := pare.Parse(body)
	if err != nil {
		return "", err
	}
	plan, err := s.policy.Plan(context.Background(), req)
	if err != nil {
		return "", err
	}
	if out := plan.Result(); out != req {
		for b, blk := range out.Transcript().Blocks() {
			if blk.Kind == transcript.Result {
				return out.Text(transcript.BlockID(b)), nil
			}
		}
	}
	return said, nil
}

// answerClaudeHook answers a PostToolUse hook of Claude Code. The answer has the shape of the
// tool's response; only strings in it are shortened. It returns "" if nothing has to be shortened.
func (s *shortener) answerClaudeHook(in []byte) (string, error) {
	var event struct {
		Event    string          `json:"hook_event_name"`
		Tool     string          `json:"tool_name"`
		Input    json.RawMessage `json:"tool_input"`
		Response json.RawMessage `json:"tool_response"`
	}
	if err := json.Unmarshal(in, &event); err != nil {
		return "", fmt.Errorf("read the event on standard input: %w", err)
	}
	if event.Event != "PostToolUse" {
		return "", errors.New("the event on standard input is no PostToolUse")
	}
	var edits []jsonspan.Edit
	err := forEachText(event.Response, func(span jsonspan.Span, said string) error {
		text, err := s.shortenText(event.Tool, event.Input, said)
		if err == nil && text != said {
			edits = append(edits, jsonspan.Edit{Span: span, New: jsonspan.AppendQuote(nil, text)})
		}
		return err
	})
	if err != nil || len(edits) == 0 {
		return "", err
	}
	out, err := jsonspan.Splice(event.Response, edits)
	if err != nil {
		return "", err
	}
	return `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":` + string(out) + "}}\n", nil
}

// forEachText calls visit with each string of a JSON value that is not a member name, and with its
// span including the quotes.
func forEachText(raw []byte, found func(jsonspan.Span, string) error) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	var in []byte // the enclosing values: 'n' object before a name, 'v' object before a value, 'l' list
	for {
		from := int(d.InputOffset())
		token, err := d.Token()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		top := len(in) - 1
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{':
				in = append(in, 'n')
				continue
			case '[':
				in = append(in, 'l')
				continue
			}
			in, top = in[:top], top-1
		case string:
			if top >= 0 && in[top] == 'n' {
				in[top] = 'v'
				continue
			}
			for raw[from] != '"' {
				from++
			}
			if err := found(jsonspan.Span{Start: from, End: int(d.InputOffset())}, v); err != nil {
				return err
			}
		}
		if top >= 0 && in[top] == 'v' { // the next token in the object is a name
			in[top] = 'n'
		}
	}
}
