package dialect

import "testing"

// What clients put in front of the task is nobody's words, so that the task is what a window pins.
func TestReminders(t *testing.T) {
	for text, want := range map[string]string{
		"<environment_context>\n  <cwd>/home/dev</cwd>\n</environment_context>":          "",
		"<environment_context><cwd>/</cwd></environment_context>\nport it":               "port it",
		"<user_instructions>\n\nbe brief\n\n</user_instructions>":                        "",
		"<environment_context> is what Codex writes":                                     "<environment_context> is what Codex writes",
		"<system-reminder>a</system-reminder><user_instructions>b</user_instructions>go": "go",
	} {
		if got := PersonsWords(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
