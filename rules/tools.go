package rules

import (
	"slices"
	"strings"
)

// Kinds of tools.
const (
	kindRead   = "read"   // shows one file
	kindWrite  = "write"  // replaces one file as a whole
	kindEdit   = "edit"   // changes a file
	kindSearch = "search" // lists or searches and changes nothing
	kindRun    = "run"    // may do anything
	kindOther  = "other"  // none of these, as far as is known
)

var kinds = []string{kindRead, kindWrite, kindEdit, kindSearch, kindRun, kindOther}

// Tool describes what a tool does and the meaning of its arguments.
type Tool struct {
	// The tool's name, in any case.
	Name string `json:"name" required:"\"my_tool\""`
	// What it does: read, write, edit, search, run or other. Default: other.
	Kind string `json:"kind,omitempty" enum:"read,write,edit,search,run,other"`
	// The argument that decides what it does, for a tool that does several things. Default: none.
	Command string `json:"command,omitempty"`
	// What it does by the value of that argument; for other values, kind says it. Default: none.
	Commands map[string]string `json:"commands,omitempty" enum:"read,write,edit,search,run,other"`
	// The argument that names the file. Default: the usual names are tried.
	Path string `json:"path,omitempty"`
	// The argument that holds a patch in Codex' format, which names the file. Default: none.
	Patch string `json:"patch,omitempty"`
	// The argument with the first line of a read. Default: the usual names are tried.
	Start string `json:"start,omitempty"`
	// The argument with the last line of a read. Default: the usual names are tried.
	End string `json:"end,omitempty"`
	// The argument with the number of lines of a read. Default: the usual names are tried.
	Limit string `json:"limit,omitempty"`
	// How many lines a read without a limit shows at most; negative is all. Default: 2000.
	Lines int `json:"lines,omitempty" min:"-1"`
}

// defaultLines is the limit of the read tools of common agents.
const defaultLines = 2000

// The usual names of arguments, in the order of preference.
var (
	pathNames = []string{
		"file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "notebookPath", "relative_path",
		"relative_workspace_path", "filename", "file_name", "fileName", "file",
	}
	startNames = []string{"offset", "start_line", "startLine", "line_start", "start_line_one_indexed", "startLineNumberBaseZero", "line_offset", "start"}
	endNames   = []string{"end_line", "endLine", "line_end", "end_line_one_indexed_inclusive", "endLineNumberBaseZero", "end"}
	limitNames = []string{"limit", "n_lines", "max_lines", "line_count", "num_lines"}
	rangeNames = []string{"view_range", "line_range", "range"}
	// commandNames hold the target of a run tool; other arguments are descriptions and limits.
	commandNames = []string{"command", "cmd", "script", "code", "commands"}
	// proseNames hold text for people.
	proseNames = []string{"description", "explanation", "reason", "task_progress", "toolSummary", "toolAction"}
)

// knownTools lists the tools of common agents. A name that several agents use occurs once:
// arguments are found by their usual names.
var knownTools = []Tool{
	// Claude Code
	{Name: "Read", Kind: kindRead}, {Name: "Write", Kind: kindWrite}, {Name: "Edit", Kind: kindEdit}, {Name: "MultiEdit", Kind: kindEdit},
	{Name: "NotebookRead", Kind: kindRead}, {Name: "NotebookEdit", Kind: kindEdit},
	{Name: "Bash", Kind: kindRun}, {Name: "BashOutput", Kind: kindRun}, {Name: "KillShell", Kind: kindRun}, {Name: "PowerShell", Kind: kindRun},
	{Name: "Grep", Kind: kindSearch}, {Name: "Glob", Kind: kindSearch}, {Name: "LS", Kind: kindSearch}, {Name: "LSP", Kind: kindSearch},
	{Name: "WebFetch", Kind: kindSearch}, {Name: "WebSearch", Kind: kindSearch}, {Name: "ToolSearch", Kind: kindSearch},
	// opencode, crush, pi, amp, goose
	{Name: "List", Kind: kindSearch}, {Name: "view", Kind: kindRead}, {Name: "fetch", Kind: kindSearch}, {Name: "sourcegraph", Kind: kindSearch},
	{Name: "patch", Kind: kindEdit, Patch: "patchText"}, {Name: "codesearch", Kind: kindSearch}, {Name: "find", Kind: kindSearch},
	{Name: "create_file", Kind: kindWrite}, {Name: "edit_file", Kind: kindEdit}, {Name: "undo_edit", Kind: kindEdit}, {Name: "download", Kind: kindRun},
	{Name: "developer__shell", Kind: kindRun}, {Name: "developer__text_editor", Kind: kindEdit, Command: "command", Commands: editorCommands},
	{Name: "text_editor", Kind: kindEdit, Command: "command", Commands: editorCommands},
	// Codex
	{Name: "shell", Kind: kindRun}, {Name: "local_shell", Kind: kindRun}, {Name: "shell_command", Kind: kindRun}, {Name: "exec_command", Kind: kindRun},
	{Name: "unified_exec", Kind: kindRun}, {Name: "write_stdin", Kind: kindRun}, {Name: "container.exec", Kind: kindRun},
	{Name: "apply_patch", Kind: kindEdit, Patch: "input"}, {Name: "view_image", Kind: kindRead, Lines: -1},
	{Name: "grep_files", Kind: kindSearch}, {Name: "list_dir", Kind: kindSearch},
	// Gemini CLI, Qwen Code
	{Name: "read_file", Kind: kindRead}, {Name: "write_file", Kind: kindWrite}, {Name: "replace", Kind: kindEdit}, {Name: "run_shell_command", Kind: kindRun},
	{Name: "read_many_files", Kind: kindSearch}, {Name: "search_file_content", Kind: kindSearch}, {Name: "grep_search", Kind: kindSearch},
	{Name: "list_directory", Kind: kindSearch}, {Name: "web_fetch", Kind: kindSearch}, {Name: "google_web_search", Kind: kindSearch}, {Name: "web_search", Kind: kindSearch},
	// Cline, Roo Code, Kilo
	{Name: "write_to_file", Kind: kindWrite}, {Name: "replace_in_file", Kind: kindEdit}, {Name: "apply_diff", Kind: kindEdit}, {Name: "insert_content", Kind: kindEdit},
	{Name: "search_and_replace", Kind: kindEdit}, {Name: "search_replace", Kind: kindEdit}, {Name: "execute_command", Kind: kindRun}, {Name: "search_files", Kind: kindSearch},
	{Name: "list_files", Kind: kindSearch}, {Name: "list_code_definition_names", Kind: kindSearch}, {Name: "browser_action", Kind: kindRun},
	{Name: "codebase_search", Kind: kindSearch}, {Name: "use_mcp_tool", Kind: kindRun}, {Name: "access_mcp_resource", Kind: kindSearch},
	// SWE-agent, OpenHands, Anthropic's own editors
	{Name: "str_replace_editor", Kind: kindEdit, Command: "command", Commands: editorCommands},
	{Name: "str_replace_based_edit_tool", Kind: kindEdit, Command: "command", Commands: editorCommands},
	{Name: "str_replace_based_edit", Kind: kindEdit, Command: "command", Commands: editorCommands},
	{Name: "file_editor", Kind: kindEdit, Command: "command", Commands: editorCommands},
	{Name: "str_replace", Kind: kindEdit}, {Name: "insert", Kind: kindEdit}, {Name: "open", Kind: kindRead, Start: "line_number", Lines: 100}, {Name: "create", Kind: kindEdit},
	{Name: "goto", Kind: kindRun}, {Name: "scroll_down", Kind: kindRun}, {Name: "scroll_up", Kind: kindRun},
	{Name: "find_file", Kind: kindSearch}, {Name: "search_dir", Kind: kindSearch}, {Name: "search_file", Kind: kindSearch},
	{Name: "execute_bash", Kind: kindRun}, {Name: "execute_ipython_cell", Kind: kindRun}, {Name: "execute_python", Kind: kindRun}, {Name: "terminal", Kind: kindRun},
	// Copilot, Cursor, Windsurf, Zed, Continue
	{Name: "insert_edit_into_file", Kind: kindEdit}, {Name: "replace_string_in_file", Kind: kindEdit}, {Name: "multi_replace_string_in_file", Kind: kindEdit},
	{Name: "run_in_terminal", Kind: kindRun}, {Name: "get_terminal_output", Kind: kindRun}, {Name: "runTests", Kind: kindRun}, {Name: "semantic_search", Kind: kindSearch},
	{Name: "file_search", Kind: kindSearch}, {Name: "get_errors", Kind: kindSearch}, {Name: "fetch_webpage", Kind: kindSearch},
	{Name: "get_changed_files", Kind: kindSearch}, {Name: "list_code_usages", Kind: kindSearch}, {Name: "edit_notebook_file", Kind: kindEdit}, {Name: "edit_notebook", Kind: kindEdit},
	{Name: "run_terminal_cmd", Kind: kindRun}, {Name: "run_terminal_command", Kind: kindRun}, {Name: "reapply", Kind: kindEdit}, {Name: "delete_file", Kind: kindRun},
	{Name: "create_new_file", Kind: kindWrite}, {Name: "edit_existing_file", Kind: kindEdit}, {Name: "single_find_and_replace", Kind: kindEdit},
	{Name: "view_file", Kind: kindRead}, {Name: "view_line_range", Kind: kindRead}, {Name: "str_replace_edit", Kind: kindEdit},
	{Name: "run_command", Kind: kindRun}, {Name: "replace_file_content", Kind: kindEdit}, {Name: "multi_replace_file_content", Kind: kindEdit}, {Name: "read_currently_open_file", Kind: kindSearch},
	// The reference filesystem server
	{Name: "mcp__filesystem__read_file", Kind: kindRead, Lines: -1}, {Name: "mcp__filesystem__read_text_file", Kind: kindRead, Lines: -1, Limit: "head"},
	{Name: "mcp__filesystem__write_file", Kind: kindWrite}, {Name: "mcp__filesystem__edit_file", Kind: kindEdit},
	{Name: "mcp__filesystem__list_directory", Kind: kindSearch}, {Name: "mcp__filesystem__search_files", Kind: kindSearch},
}

// editorCommands are the commands of Anthropic's text editor tool and its imitations.
var editorCommands = map[string]string{
	"view": kindRead, "read": kindRead, "create": kindWrite, "write": kindWrite, "str_replace": kindEdit, "insert": kindEdit, "undo_edit": kindEdit, "edit_file": kindEdit,
}

// Table returns the built-in tools.
func Table() []Tool { return slices.Clone(knownTools) }

// protectedTools hold state that steers the work: plans, tasks, skills, memories, questions to a
// person, and reports of sub-agents.
var protectedTools = []string{
	"todo*", "*todos", "task", "task[cglosu]*", "agent", "agents", "spawn_agent", "wait_agent", "delegate_*", "skill", "skills", "load_skill", "activate_skill", "use_skill",
	"update_plan", "plan_*", "*_plan", "*plan_mode*", "*planmode", "plan", "think", "new_task", "switch_mode", "attempt_completion", "plan_mode_respond",
	"ask_*", "askuser*", "question", "request_user_input", "save_memory", "memory", "memory_*", "*_memory", "update_todo_list", "manage_todo_list", "focus_chain",
	"compress", "distill", "prune", "recall", "finish", "submit",
}

// ProtectedTools returns the globs of the tools that no rule touches, whatever the options are.
func ProtectedTools() []string { return slices.Clone(protectedTools) }

// patchFiles returns the files of a patch in Codex' format.
func patchFiles(patch string) []string {
	var files []string
	for line := range strings.Lines(patch) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), head); ok {
				files = append(files, strings.TrimSpace(name))
			}
		}
	}
	return files
}
