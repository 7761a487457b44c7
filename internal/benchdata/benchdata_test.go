package benchdata

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestAnthropic(t *testing.T) {
	for _, size := range []int{0, 100_000, 1_000_000} {
		body := Anthropic(size)
		if !bytes.Equal(body, Anthropic(size)) {
			t.Errorf("size %d: two bodies differ", size)
		}
		if len(body) < size || len(body) > size+128<<10 {
			t.Errorf("size %d: got %d bytes", size, len(body))
		}
		checkHistory(t, body)
	}
}

func TestProportions(t *testing.T) {
	body := Anthropic(1_000_000)
	for _, c := range []struct {
		char     string
		min, max float64 // percent
	}{{`"`, 3, 5}, {`\`, 5, 7}, {`\u`, 0.05, 1}} {
		got := 100 * float64(bytes.Count(body, []byte(c.char))) / float64(len(body))
		if got < c.min || got > c.max {
			t.Errorf("%s is %.2f %% of the body, want %v to %v", c.char, got, c.min, c.max)
		}
	}
}

// checkHistory tests that every call is answered in the next message.
func checkHistory(t *testing.T, body []byte) {
	t.Helper()
	var req struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	type block struct {
		Type, ID  string
		ToolUseID string `json:"tool_use_id"`
	}
	var open []string
	for i, m := range req.Messages[1:] {
		var blocks []block
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				open = append(open, b.ID)
			case "tool_result":
				if len(open) == 0 || open[0] != b.ToolUseID {
					t.Fatalf("message %d: result for %s, open calls are %v", i+1, b.ToolUseID, open)
				}
				open = open[1:]
			}
		}
		if m.Role == "user" && len(open) > 0 {
			t.Fatalf("message %d leaves %v unanswered", i+1, open)
		}
	}
}

func TestDense(t *testing.T) {
	for _, shape := range Shapes {
		body := Dense(shape, 1_000_000)
		if !bytes.Equal(body, Dense(shape, 1_000_000)) || !json.Valid(body) {
			t.Errorf("%v: two bodies differ, or are no JSON", shape)
		}
		for _, c := range []struct {
			char     string
			min, max float64 // percent
		}{{`"`, 3, 6}, {`\`, 5, 7}} {
			got := 100 * float64(bytes.Count(body, []byte(c.char))) / float64(len(body))
			if got < c.min || got > c.max {
				t.Errorf("%v: %s is %.2f %% of the body, want %v to %v", shape, c.char, got, c.min, c.max)
			}
		}
	}
	body := Dense(Messages, 1_000_000)
	checkHistory(t, body)
	if n := bytes.Count(body, []byte(`{"role":`)); n < 320 || n > 360 {
		t.Errorf("%d messages in a megabyte, want about 340", n)
	}
}
