package guidance

import "testing"

// TestGuidanceIsFoundInJSON: a result is decoded in every spelling of the texts and session ids that are recognized.
func TestGuidanceIsFoundInJSON(t *testing.T) {
	for _, text := range []string{
		`Session ID: 7`, `session (id 5) goes on`, `running with id=bash_1`, `shell_id: 3`, `Bash_Id 4`, `in session\nid 9`,
		`# AGENTS.md\nBe brief.`, `1\t# CLAUDE.md`, `This File provides Guidance to Claude`, `---\nname: a\ndescription: b`, `title:\tA\nstate:\tOPEN`,
		`a\nb\n- [ ] first\n- [x] second`,
	} {
		if !mayBeGuidance([]byte(text)) {
			t.Errorf("%q is not decoded", text)
		}
	}
	if mayBeGuidance([]byte(`ok did it, the idea is valid; ids: 4`)) {
		t.Error("a text without a sign is decoded")
	}
}
