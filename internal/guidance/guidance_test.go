package guidance_test

import (
	"testing"

	"github.com/pare-llm/pare/internal/guidance"
	"github.com/pare-llm/pare/wire"
)

// TestGuidanceIsRecognizedByPathAndCommand tries the shapes in which agents call tools.
func TestGuidanceIsRecognizedByPathAndCommand(t *testing.T) {
	for _, c := range []struct {
		tool, args string
		want       guidance.Kind
	}{
		{"Read", `{"file_path":"/home/u/app/CLAUDE.md"}`, guidance.Instructions},
		{"read_file", `{"path":"C:\\app\\AGENTS.md"}`, guidance.Instructions},
		{"shell", `{"command":["bash","-lc","cat GEMINI.md && ls"]}`, guidance.Instructions},
		{"exec", `{"cmd":"sed -n 1,200p .github/copilot-instructions.md"}`, guidance.Instructions},
		{"view", `{"filePath":".cursor/rules/style.mdc"}`, guidance.Instructions},
		{"Bash", `{"command":"cat .cursorrules"}`, guidance.Instructions},
		{"exec_command", `{"cmd":"cat /home/ada/.codex/skills/pdf/SKILL.md","yield_time_ms":1000}`, guidance.Skill},
		{"anything", `{"argv":["cat","skills/a/SKILL.md"]}`, guidance.Skill},
		{"Write", `{"file_path":"/home/ada/.claude/plans/calm-river.md","content":"x"}`, guidance.Plan},
		{"exec", `head -50 PLAN.md`, guidance.Plan},
		{"read", `{"path":"./TODO"}`, guidance.ToDo},
		{"read", `{"path":"docs/tasks.md"}`, guidance.ToDo},
		{"Bash", `{"command":"cd app && gh issue view 12 --comments"}`, guidance.Task},
		{"shell", `{"command":["gh","pr","view","7"]}`, guidance.Task},
		{"run", `{"cmd":"glab mr view 3"}`, guidance.Task},
		{"run", `{"cmd":"jira issue view AB-1"}`, guidance.Task},
		{"run", `{"cmd":"bd show app-42"}`, guidance.Task},
		{"mcp__github__get_issue", `{"issue_number":4}`, guidance.Task},
		{"mcp__github__pull_request_read", `{"pullNumber":4}`, guidance.Task},

		{"Bash", `{"command":"grep -rn TODO src"}`, guidance.None},
		{"Bash", `{"command":"find . -name CLAUDE.md"}`, guidance.None},
		{"Bash", `{"command":"gh run view 12"}`, guidance.None},
		{"Bash", `{"command":"gh issue list"}`, guidance.None},
		{"mcp__github__list_issues", `{}`, guidance.None},
		{"Write", `{"file_path":"a.go","content":"// see CLAUDE.md"}`, guidance.None},
		{"Read", `{"file_path":"src/plan.go"}`, guidance.None},
		{"Read", `{"file_path":"skill_test.md"}`, guidance.None},
		{"Bash", `{"command":"make todo"}`, guidance.None},
	} {
		if got := guidance.KindOf(c.tool, c.args, "ok"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

// TestGuidanceIsRecognizedByItsText: the form of a text is enough, whatever showed it.
func TestGuidanceIsRecognizedByItsText(t *testing.T) {
	for _, c := range []struct {
		text string
		want guidance.Kind
	}{
		{"---\nname: pdf\ndescription: Reads PDF files.\n---\n# PDF\n", guidance.Skill},
		{"Chunk ID: 12\nWall time: 0.1\nOutput:\n---\nname: pdf\ndescription: |\n  Reads.\n---\n", guidance.Skill},
		{"     1→---\n     2→name: pdf\n     3→description: Reads.\n", guidance.Skill},
		{"# AGENTS.md\n\nRun the tests.\n", guidance.Instructions},
		{"   1\t# CLAUDE.md\n   2\t\n   3\tThis file provides guidance to Claude Code\n", guidance.Instructions},
		{"# Repository Guidelines\n\n## Build\n", guidance.Instructions},
		{"title:\tIt fails\nstate:\tOPEN\nauthor:\tann\nnumber:\t3\n--\nText\n", guidance.Task},
		{"# Work\n- [x] one thing\n- [ ] another\n- [ ] a third\n", guidance.ToDo},
		{"1. [ ] one thing\n2. [ ] another\n* [X] a third\n", guidance.ToDo},
		{"name: app\nversion: 1\ndescription: a package\n", guidance.None},
		{"ok 1\nok 2\n[x] passed\n[x] passed\n[x] passed\n", guidance.None},
		{"plain words\n", guidance.None},
	} {
		if got := guidance.KindOfText(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestLaterResultOfASessionHasTheKindOfItsCommand: the text of a file can come with a later call.
func TestLaterResultOfASessionHasTheKindOfItsCommand(t *testing.T) {
	body := `{"model":"gpt-5","input":[{"type":"message","role":"user","content":"go"},
{"type":"function_call","call_id":"a","name":"exec","arguments":"{\"cmd\":\"cat docs/plans/next.md\"}"},
{"type":"function_call_output","call_id":"a","output":"Process running with session ID 4711\nOutput:\n"},
{"type":"function_call","call_id":"b","name":"write_stdin","arguments":"{\"session_id\":4711,\"chars\":\"\"}"},
{"type":"function_call_output","call_id":"b","output":"step one of the plan"},
{"type":"function_call","call_id":"c","name":"write_stdin","arguments":"{\"session_id\":12,\"chars\":\"\"}"},
{"type":"function_call_output","call_id":"c","output":"a log"}]}`
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := guidance.OfExchanges(r)
	if len(got) != 3 || got[0] != guidance.Plan || got[1] != guidance.Plan || got[2] != guidance.None {
		t.Errorf("%q", got)
	}
}
