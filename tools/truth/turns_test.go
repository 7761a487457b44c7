package truth

import (
	"encoding/json"
	"testing"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// TestOldTurnListsKeepEveryLeaf checks that the turns that Interactions accepted before it had steps are read,
// and that nothing is lost when they are written as steps.
func TestOldTurnListsKeepEveryLeaf(t *testing.T) {
	t.Parallel()
	n := trial.Size(120)
	found := run(t, n, commands(t), func(i int) sample {
		body, _ := histories.Mixed(uint64(i), wire.GeminiInteractions, histories.MixOptions{Breaks: i % 3})
		return sample{wire.GeminiInteractions, asTurns(t, body), uint64(i)}
	}, leaves, trail, edits, pairs)
	if found.changed < n {
		t.Errorf("only %d plans of %d histories change something", found.changed, n)
	}
	found.report(t)
}

// asTurns writes steps as turns: texts as parts, everything else unchanged.
func asTurns(t *testing.T, body []byte) []byte {
	t.Helper()
	var request map[string]json.RawMessage
	var steps []json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(request["input"], &steps) != nil {
		return body
	}
	type turn struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	turns := []turn{}
	for _, raw := range steps {
		var step struct {
			Type    string
			Content []json.RawMessage
		}
		role, parts := "model", []json.RawMessage{raw}
		if json.Unmarshal(raw, &step) == nil {
			switch step.Type {
			case "user_input":
				role, parts = "user", step.Content
			case "model_output":
				parts = step.Content
			case "function_result", "text", "image", "audio", "video", "document":
				role = "user"
			}
		}
		if k := len(turns) - 1; k >= 0 && turns[k].Role == role {
			turns[k].Content = append(turns[k].Content, parts...)
			continue
		}
		turns = append(turns, turn{role, parts})
	}
	input, err := json.Marshal(turns)
	if err != nil {
		t.Fatal(err)
	}
	request["input"] = input
	out, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
