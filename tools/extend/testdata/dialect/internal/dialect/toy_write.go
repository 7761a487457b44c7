package dialect

import "github.com/pare-llm/pare/transcript"

type toyPen struct{ anthropicPen }

// stub writes a result for a call that has none.
func (toyPen) stub(d *draft, call transcript.BlockID, text string) []byte {
	return object("type", "tool_result", "tool_use_id", d.t.Block(call).CallID, "content", text)
}
