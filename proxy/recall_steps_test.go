package proxy_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// hearsSteps reads an interaction in one piece.
func hearsSteps(t testing.TB, reply []byte) (got told) {
	t.Helper()
	r := decoded[struct {
		Status string
		Steps  []struct {
			Type, ID, Name string
			Arguments      json.RawMessage
			Content        []struct{ Text string }
		}
		Usage struct {
			Output int `json:"total_output_tokens"`
		}
	}](t, string(reply))
	got.stop, got.output = r.Status, r.Usage.Output
	for _, s := range r.Steps {
		for _, c := range s.Content {
			got.text += c.Text
		}
		if s.Type == "function_call" {
			got.calls, got.ids = append(got.calls, s.Name+string(s.Arguments)), append(got.ids, s.ID)
		}
	}
	if strings.Contains(string(reply), "pare_recall") {
		t.Errorf("the client sees the tool: %s", reply)
	}
	return got
}

// interactions reads the events of an interaction: steps have numbers that follow each other,
// and the last event has all of them once more.
func (g *told) interactions(t testing.TB, all []sent) {
	t.Helper()
	open, steps, text, args, id := false, 0, "", "", ""
	var calls []string
	for i, e := range all {
		if last := i == len(all)-1; last || string(e.data) == "[DONE]" {
			if !last || string(e.data) != "[DONE]" || e.name != "done" {
				t.Fatalf("event %d of %d: %s %s", i, len(all), e.name, e.data)
			}
			continue
		}
		v := decoded[struct {
			Type  string `json:"event_type"`
			Index int
			Step  struct{ Type, Name, ID string }
			Delta struct {
				Type, Text, Arguments string
			}
			Interaction json.RawMessage
		}](t, string(e.data))
		if v.Type != e.name || (v.Type == "interaction.created") != (i == 0) || (v.Type == "interaction.completed") != (i == len(all)-2) {
			t.Fatalf("event %d: %s %s", i, e.name, e.data)
		}
		if strings.HasPrefix(v.Type, "step.") && v.Index != steps {
			t.Errorf("step %d has the number %d: %s", steps, v.Index, e.data)
		}
		switch v.Type {
		case "interaction.created":
			id = decoded[struct{ ID string }](t, string(v.Interaction)).ID
		case "step.start":
			if open = true; v.Step.Type == "function_call" {
				calls = append(calls, v.Step.Name)
			}
		case "step.delta":
			text += v.Delta.Text
			args += v.Delta.Arguments
		case "step.stop":
			if !open {
				t.Errorf("a step ends that has not begun: %s", e.data)
			}
			if args != "" {
				calls[len(calls)-1] += args
			}
			open, args = false, ""
			steps++
		case "interaction.completed":
			*g = hearsSteps(t, v.Interaction)
			if last := decoded[struct{ ID string }](t, string(v.Interaction)).ID; last != id {
				t.Errorf("%s ends as %s", id, last)
			}
		}
	}
	if open || text != g.text || strings.Join(calls, " ") != strings.Join(g.calls, " ") {
		t.Errorf("streamed %q and %q, in the end %q and %q", text, calls, g.text, g.calls)
	}
}
