package reply

import "github.com/pare-llm/pare/internal/jsonedit"

// responses is the Responses API.
type responses struct{}

func (responses) readWhole(reply []byte) [][]byte { return jsonedit.Elements(reply, "output") }

func (responses) readEvents(events []event) [][]byte {
	var items [][]byte
	for _, e := range events {
		switch jsonedit.TextAt(e.data, "type") {
		case "response.output_item.done":
			if item := jsonedit.Get(e.data, "item"); item != nil {
				items = append(items, item)
			}
		case "response.completed", "response.incomplete", "response.failed":
			// Items of a reply that was cut off are never done: only this event contains them.
			if output := jsonedit.Elements(e.data, "response", "output"); len(output) > len(items) {
				items = output
			}
		}
	}
	return items
}
