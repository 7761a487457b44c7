package agentlog

import (
	"fmt"
	"strings"
	"testing"
)

// TestSpeakersAreNotQuotedAsTools checks that a response which contains a message of a speaker is
// not quoted, because the quotation would attribute the words to the tool. A text that merely
// quotes somebody is an ordinary text.
func TestSpeakersAreNotQuotedAsTools(t *testing.T) {
	for says, quoted := range map[string]bool{
		`{"toolUse":{"role":"user","parts":[{"text":"please look here"}]}}`:   false,
		`{"output":"[{\"role\":\"user\",\"content\":\"please look here\"}]"}`: true,
	} {
		for name, session := range map[string]string{
			"in its call":   `{"type":"gemini","content":"","toolCalls":[{"id":"c","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"x"}}},{"functionResponse":{"id":"c","name":"f","response":%s}}]}]}`,
			"in another's":  `{"type":"gemini","content":"","toolCalls":[{"id":"c","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"x"}}},{"functionResponse":{"id":"d","name":"f","response":%s}}]}]}`,
			"of the user's": `{"type":"user","content":[{"text":"hi"},{"functionResponse":{"id":"d","name":"f","response":%s}}]}`,
		} {
			raw := `{"sessionId":"a1b2c3d4-1111-4000-8000-000000000000","projectHash":"abc","startTime":"2026-03-01T10:00:00Z","lastUpdated":"2026-03-01T10:00:00Z","messages":[{"type":"user","content":"hi"},` + fmt.Sprintf(session, says) + `]}`
			l := mustRead(t, "session.json", []byte(raw))
			fixed, err := l.Fix(Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(fixed.Raw), "quoted, not written by the user"); got != quoted {
				t.Errorf("%s, %s: quoted: %v\n%s", name, says, got, fixed.Raw)
			}
			if !strings.Contains(string(fixed.Raw), "please look here") {
				t.Errorf("%s: lost:\n%s", name, fixed.Raw)
			}
		}
	}
}
