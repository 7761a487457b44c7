package proxy_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// A told is what a client makes of a reply.
type told struct {
	text   string
	calls  []string // tool and arguments
	ids    []string
	signed []string // by call, on Gemini
	stop   string
	output int
}

// hears reads a reply as a client does that trusts the API: numbers of blocks must follow
// each other, what begins must end, and the end must come once.
func hears(t testing.TB, d wire.Dialect, stream bool, reply string) told {
	t.Helper()
	if !stream && d == wire.GeminiInteractions {
		return hearsSteps(t, []byte(reply))
	}
	if !stream {
		return hearsWhole(t, d, reply)
	}
	var got told
	switch d {
	case wire.Anthropic:
		got.anthropic(t, events(t, reply))
	case wire.OpenAIChat:
		got.chat(t, events(t, reply))
	case wire.OpenAIResponses:
		got.responses(t, events(t, reply))
	case wire.Gemini:
		for _, e := range events(t, reply) {
			part := hearsWhole(t, d, string(e.data))
			if got.stop != "" {
				t.Errorf("something comes behind the end: %s", e.data)
			}
			got.signed = append(got.signed, part.signed...)
			got.text, got.calls, got.ids, got.stop, got.output = got.text+part.text, append(got.calls, part.calls...), append(got.ids, part.ids...), part.stop, part.output
		}
	case wire.GeminiInteractions:
		got.interactions(t, events(t, reply))
	case wire.Bedrock:
		got.bedrock(t, frames(t, reply))
	}
	if strings.Contains(reply, "pare_recall") || strings.Contains(reply, "archived as") {
		t.Errorf("the client sees the tool: %s", reply)
	}
	return got
}

func hearsWhole(t testing.TB, d wire.Dialect, reply string) (got told) {
	t.Helper()
	var r struct {
		Content []struct {
			Type, Text, Name, ID string
			Input                json.RawMessage
		}
		StopReason string `json:"stop_reason"`
		Usage      struct {
			OutputTokens     int `json:"output_tokens"`
			CompletionTokens int `json:"completion_tokens"`
			Bedrock          int `json:"outputTokens"`
		}
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
		Status     string
		Output     json.RawMessage
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text             string
					ThoughtSignature string
					FunctionCall     *struct {
						ID, Name string
						Args     json.RawMessage
					}
				}
			}
			FinishReason string
		}
		UsageMetadata struct{ CandidatesTokenCount int }
		BedrockStop   string `json:"stopReason"`
	}
	if err := json.Unmarshal([]byte(reply), &r); err != nil {
		t.Fatalf("%v: %s", err, reply)
	}
	call := func(id, name, args string) {
		got.calls, got.ids = append(got.calls, name+args), append(got.ids, id)
	}
	switch d {
	case wire.Anthropic:
		got.stop, got.output = r.StopReason, r.Usage.OutputTokens
		for _, b := range r.Content {
			got.text += b.Text
			if b.Type == "tool_use" {
				call(b.ID, b.Name, string(b.Input))
			}
		}
	case wire.OpenAIChat:
		c := r.Choices[0]
		got.text, got.stop, got.output = c.Message.Content, c.FinishReason, r.Usage.CompletionTokens
		for _, x := range c.Message.ToolCalls {
			call(x.ID, x.Function.Name, x.Function.Arguments)
		}
	case wire.OpenAIResponses:
		got.stop, got.output = r.Status, r.Usage.OutputTokens
		var items []struct {
			Type, Name, Arguments string
			CallID                string `json:"call_id"`
			Content               []struct{ Text string }
		}
		if err := json.Unmarshal(r.Output, &items); err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			for _, c := range i.Content {
				got.text += c.Text
			}
			if i.Type == "function_call" {
				call(i.CallID, i.Name, i.Arguments)
			}
		}
	case wire.Gemini:
		got.output = r.UsageMetadata.CandidatesTokenCount
		for _, c := range r.Candidates {
			got.stop = c.FinishReason
			for _, p := range c.Content.Parts {
				got.text += p.Text
				if p.FunctionCall != nil {
					call(p.FunctionCall.ID, p.FunctionCall.Name, string(p.FunctionCall.Args))
					got.signed = append(got.signed, p.ThoughtSignature)
				}
			}
		}
	case wire.Bedrock:
		got.stop, got.output = r.BedrockStop, r.Usage.Bedrock
		var out struct {
			Message struct {
				Content []struct {
					Text    string
					ToolUse *struct {
						ToolUseID, Name string
						Input           json.RawMessage
					}
				}
			}
		}
		if err := json.Unmarshal(r.Output, &out); err != nil {
			t.Fatal(err)
		}
		for _, b := range out.Message.Content {
			got.text += b.Text
			if b.ToolUse != nil {
				call(b.ToolUse.ToolUseID, b.ToolUse.Name, string(b.ToolUse.Input))
			}
		}
	}
	if strings.Contains(reply, "pare_recall") {
		t.Errorf("the client sees the tool: %s", reply)
	}
	return got
}

type sent struct {
	name string
	data []byte
}

// events cuts server-sent events.
func events(t testing.TB, reply string) (all []sent) {
	t.Helper()
	for _, one := range strings.Split(strings.TrimSpace(reply), "\n\n") {
		var e sent
		for line := range strings.Lines(one) {
			line = strings.TrimRight(line, "\n")
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = v
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				e.data = []byte(v)
			}
		}
		if string(e.data) != "[DONE]" && !json.Valid(e.data) {
			t.Fatalf("no JSON in %q", one)
		}
		all = append(all, e)
	}
	return all
}

// frames cuts the event stream of AWS.
func frames(t testing.TB, reply string) (all []sent) {
	t.Helper()
	for b := []byte(reply); len(b) > 0; {
		n, h := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
		head := b[12 : 12+h]
		_, name, _ := bytes.Cut(head, []byte(":event-type\x07"))
		size := int(binary.BigEndian.Uint16(name))
		all = append(all, sent{string(name[2 : 2+size]), b[12+h : n-4]})
		b = b[n:]
	}
	return all
}

func (g *told) anthropic(t testing.TB, all []sent) {
	t.Helper()
	open, blocks, args, ended := false, 0, "", 0
	for i, e := range all {
		var v struct {
			Type    string
			Index   int
			Message struct{ ID string }
			Block   struct{ Type, Name, ID string } `json:"content_block"`
			Delta   struct {
				Text, PartialJSON string
				Partial           string `json:"partial_json"`
				StopReason        string `json:"stop_reason"`
			}
			Usage struct {
				Output int `json:"output_tokens"`
			}
		}
		if err := json.Unmarshal(e.data, &v); err != nil || v.Type != e.name || ended > 1 || (v.Type == "message_start") != (i == 0) {
			t.Fatalf("event %d: %v: %s %s", i, err, e.name, e.data)
		}
		switch v.Type {
		case "content_block_start":
			if open || v.Index != blocks {
				t.Errorf("block %d begins as number %d", v.Index, blocks)
			}
			if open = true; v.Block.Type == "tool_use" {
				g.calls, g.ids = append(g.calls, v.Block.Name), append(g.ids, v.Block.ID)
			}
		case "content_block_delta":
			if !open || v.Index != blocks {
				t.Errorf("block %d goes on as number %d", v.Index, blocks)
			}
			g.text += v.Delta.Text
			args += v.Delta.Partial
		case "content_block_stop":
			if !open || v.Index != blocks {
				t.Errorf("block %d ends as number %d", v.Index, blocks)
			}
			if args != "" {
				g.calls[len(g.calls)-1] += args
			}
			open, args = false, ""
			blocks++
		case "message_delta":
			g.stop, g.output = v.Delta.StopReason, v.Usage.Output
			ended++
		case "message_stop":
			ended++
		}
	}
	if ended != 2 || open {
		t.Errorf("it has not ended well: %d", ended)
	}
}

func (g *told) bedrock(t testing.TB, all []sent) {
	t.Helper()
	blocks, calls := 0, map[int]int{}
	for _, e := range all {
		var v struct {
			Index int `json:"contentBlockIndex"`
			Start struct {
				ToolUse struct{ Name, ToolUseID string }
			}
			Delta struct {
				Text    string
				ToolUse struct{ Input string }
			}
			StopReason string
			Usage      struct{ OutputTokens int }
		}
		if err := json.Unmarshal(e.data, &v); err != nil {
			t.Fatal(err)
		}
		switch e.name {
		case "contentBlockStart":
			calls[v.Index] = len(g.calls)
			g.calls, g.ids = append(g.calls, v.Start.ToolUse.Name), append(g.ids, v.Start.ToolUse.ToolUseID)
		case "contentBlockDelta":
			g.text += v.Delta.Text
			if i, ok := calls[v.Index]; ok {
				g.calls[i] += v.Delta.ToolUse.Input
			}
		case "contentBlockStop":
			if v.Index != blocks {
				t.Errorf("block %d ends as number %d", v.Index, blocks)
			}
			blocks++
		case "messageStop":
			g.stop += v.StopReason
		case "metadata":
			g.output = v.Usage.OutputTokens
		}
	}
}

func (g *told) chat(t testing.TB, all []sent) {
	t.Helper()
	id, done := "", false
	for _, e := range all {
		if done {
			t.Errorf("behind the end: %s", e.data)
		}
		if done = string(e.data) == "[DONE]"; done {
			continue
		}
		var v struct {
			ID      string
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
			Usage struct {
				Output int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal(e.data, &v); err != nil || id != "" && id != v.ID {
			t.Fatalf("%v, %s: %s", err, id, e.data)
		}
		id = v.ID
		g.output = max(g.output, v.Usage.Output)
		for _, c := range v.Choices {
			g.text += c.Delta.Content
			for _, x := range c.Delta.ToolCalls {
				if x.ID != "" {
					if x.Index != len(g.calls) {
						t.Errorf("call %d has the number %d", len(g.calls), x.Index)
					}
					g.calls, g.ids = append(g.calls, ""), append(g.ids, x.ID)
				}
				g.calls[x.Index] += x.Function.Name + x.Function.Arguments
			}
			if g.stop != "" {
				t.Errorf("behind the end: %s", e.data)
			}
			g.stop += c.FinishReason
		}
	}
	if !done {
		t.Error("it has not ended")
	}
}

func (g *told) responses(t testing.TB, all []sent) {
	t.Helper()
	text, items := "", 0
	for i, e := range all {
		var v struct {
			Type     string
			Sequence int  `json:"sequence_number"`
			Index    *int `json:"output_index"`
			Delta    json.RawMessage
			Response json.RawMessage
		}
		if err := json.Unmarshal(e.data, &v); err != nil || v.Type != e.name || v.Sequence != i || (v.Type == "response.completed") != (i == len(all)-1) {
			t.Fatalf("event %d: %v: %s %s", i, err, e.name, e.data)
		}
		switch v.Type {
		case "response.output_text.delta":
			var s string
			json.Unmarshal(v.Delta, &s)
			text += s
		case "response.output_item.added":
			if *v.Index != items {
				t.Errorf("item %d has the number %d", items, *v.Index)
			}
			items++
		case "response.completed":
			*g = hearsWhole(t, wire.OpenAIResponses, string(v.Response))
		}
	}
	if n := strings.Count(text, ""); text != g.text || n == 0 {
		t.Errorf("streamed %q, in the end %q", text, g.text)
	}
	if items == 0 {
		t.Error(fmt.Sprint("no items in ", len(all), " events"))
	}
}

func decoded[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
