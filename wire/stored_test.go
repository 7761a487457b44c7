package wire

import "testing"

// TestStored: what an agent's own records have beside role and content is not sent; in a
// request it is refused.
func TestStored(t *testing.T) {
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1}},{"role":"user","content":"n"}]}`)
	for _, stored := range []bool{true, false} {
		r, err := Parse(body, Options{Dialect: Anthropic, Stored: stored})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Check(CheckOptions{}); (len(got) == 0) != stored {
			t.Errorf("stored %v: %+v", stored, got)
		}
		m, err := r.Mend(Repair{}, CheckOptions{})
		if err != nil || (len(m.Changes) == 0) != stored || len(m.Left) > 0 {
			t.Errorf("stored %v: %v %+v", stored, err, m)
		}
	}
}
