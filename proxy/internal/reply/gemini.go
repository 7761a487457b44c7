package reply

import "github.com/pare-llm/pare/internal/jsonedit"

// gemini is generateContent and streamGenerateContent.
type gemini struct{}

func (g gemini) readWhole(reply []byte) [][]byte { return g.readEvents([]event{{data: reply}}) }

// readEvents reads chunks. Each chunk has the shape of a whole reply.
func (gemini) readEvents(events []event) [][]byte {
	var parts [][]byte
	for _, e := range events {
		if len(jsonedit.Elements(e.data, "candidates")) > 1 {
			continue
		}
		for _, part := range jsonedit.Elements(e.data, "candidates", 0, "content", "parts") {
			isEmpty := string(jsonedit.Get(part, "text")) == `""` && jsonedit.Get(part, "thoughtSignature") == nil
			if !isEmpty {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return [][]byte{jsonedit.New("role", "model", "parts", jsonedit.List(parts...))}
}
