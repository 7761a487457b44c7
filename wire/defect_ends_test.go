package wire_test

import (
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestEndsInProvidersCall: what the provider runs gets no stub, so a history that ends with it
// and may not end with the model goes on like any other.
func TestEndsInProvidersCall(t *testing.T) {
	for _, last := range []string{`{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"toolCall":{"id":"s","toolType":"GOOGLE_SEARCH_WEB","args":{}}}`} {
		defect{name: last, as: wire.Gemini, model: "gemini-3-pro-preview",
			body:  `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"},` + last + `]}]}`,
			found: []string{"last-role"}, keeps: []string{"Continue.", last}}.run(t)
	}
}
