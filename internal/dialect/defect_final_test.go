package dialect_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestDefectThinkingAtTheEnd: thinking that may not be part of the last message stays where
// something else has to stand behind that anyway: the result of an open call, or a turn of the
// user's.
func TestDefectThinkingAtTheEnd(t *testing.T) {
	t.Parallel()
	const (
		think = `{"type":"thinking","thinking":"hm","signature":"S"}`
		call  = `{"type":"tool_use","id":"t1","name":"f","input":{}}`
		say   = `{"type":"text","text":"a"}`
	)
	for _, c := range []struct {
		name, model string
		content     string
		repair      dialect.Repair
		stays       bool
	}{
		{"an open call", "claude-sonnet-4-5", think + "," + call, dialect.Repair{}, true},
		{"an open call that stays open", "claude-sonnet-4-5", think + "," + call, dialect.Repair{Open: true}, true},
		{"an open call that goes", "claude-sonnet-4-5", think + "," + say + "," + call, dialect.Repair{OrphanCall: dialect.RemedyDrop}, false},
		{"the user must end", "claude-opus-5", think + "," + say, dialect.Repair{}, true},
		{"somebody else sees to the end", "claude-opus-5", think + "," + say, dialect.Repair{Unended: true}, true},
		{"the assistant may end", "claude-sonnet-4-5", think + "," + say, dialect.Repair{}, false},
		{"the assistant may end, and somebody else sees to it", "claude-sonnet-4-5", think + "," + say, dialect.Repair{Unended: true}, false},
	} {
		r := parsed(t, dialect.Anthropic, `{"model":"`+c.model+`","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[`+c.content+`]}]}`)
		m, err := dialect.RepairRequest(r, c.repair, dialect.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.Request.Raw()); strings.Contains(got, think) != c.stays || len(m.Left) > 0 {
			t.Errorf("%s: %s\n%v", c.name, got, m.Left)
		}
	}
}
