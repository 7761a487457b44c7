package agentlog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestResumeNamesExactSession checks that the command to resume names exactly the examined session,
// and that there is none if the agent could only resume its newest session or did not assign the
// name.
func TestResumeNamesExactSession(t *testing.T) {
	const id = "01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d"
	head := `{"sessionId":"` + id + `","kind":"main"}` + "\n"
	for path, want := range map[string][]string{
		".claude/projects/p/" + id + ".jsonl":                                         {"claude", "--resume", id},
		".claude/projects/p/a;touch PWN;.jsonl":                                       nil,
		".claude/projects/p/--help.jsonl":                                             nil,
		".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-" + id + ".jsonl":     {"codex", "resume", id},
		".codex/sessions/2026/01/01/rollout-a;b.jsonl":                                nil,
		".gemini/tmp/p/chats/session-2026-01-01T00-00-01a1e58d.jsonl":                 {"gemini", "--resume", id},
		".pi/agent/sessions/p/it's.jsonl":                                             {"pi", "--session", "HOME/.pi/agent/sessions/p/it's.jsonl"},
		".qwen/projects/p/chats/" + id + ".jsonl":                                     {"qwen", "--resume", id},
		".copilot/session-state/" + id + "/events.jsonl":                              {"copilot", "--resume=" + id},
		".copilot/session-state/a b/events.jsonl":                                     nil,
		".continue/sessions/" + id + ".json":                                          nil,
		".local/share/opencode/storage/message/ses_01/msg_01.json":                    {"opencode", "--session", "ses_01"},
		".local/share/goose/sessions/20260101_1.jsonl":                                nil,
		".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/" + clineFile: nil,
	} {
		home := t.TempDir()
		file := filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		found := Find(Search{Home: home}).Sessions
		if len(found) != 1 {
			t.Errorf("%s: found %d sessions", path, len(found))
			continue
		}
		for i, w := range want {
			want[i] = strings.Replace(w, "HOME", home, 1)
		}
		if got := Examine(found[0]).Resume(); !slices.Equal(got, want) {
			t.Errorf("%s is resumed by %q, want %q", path, got, want)
		}
	}
}
