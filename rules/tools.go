package rules

import (
	"slices"
	"strings"
)

// A Kind is what a tool does.
type Kind string

const (
	KindRead   Kind = "read"   // shows one file
	KindWrite  Kind = "write"  // replaces one file as a whole
	KindEdit   Kind = "edit"   // changes a file
	KindSearch Kind = "search" // looks around and changes nothing
	KindRun    Kind = "run"    // may do anything
	KindOther  Kind = "other"  // is not known to be any of these
)

var kinds = []Kind{KindRead, KindWrite, KindEdit, KindSearch, KindRun, KindOther}

// A Tool says what a tool does and what its arguments mean. Many goroutines may read it.
type Tool struct {
	// The tool's name, in any case.
	Name string `json:"name" required:"\"my_tool\""`
	// What it does: read, write, edit, search, run or other. Default: other.
	Kind Kind `json:"kind,omitempty" enum:"read,write,edit,search,run,other"`
	// The argument that decides what it does, for a tool that does several things. Default: none.
	Command string `json:"command,omitempty"`
	// What it does by the value of that argument; for other values, kind says it. Default: none.
	Commands map[string]Kind `json:"commands,omitempty" enum:"read,write,edit,search,run,other"`
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

// defaultLines is where the common agents' read tools stop.
const defaultLines = 2000

// The usual names of arguments, in the order in which they are tried.
var (
	pathNames = []string{
		"file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "notebookPath", "relative_path",
		"relative_workspace_path", "filename", "file_name", "fileName", "file",
	}
	startNames = []string{"offset", "start_line", "startLine", "line_start", "start_line_one_indexed", "startLineNumberBaseZero", "line_offset", "start"}
	endNames   = []string{"end_line", "endLine", "line_end", "end_line_one_indexed_inclusive", "endLineNumberBaseZero", "end"}
	limitNames = []string{"limit", "n_lines", "max_lines", "line_count", "num_lines"}
	rangeNames = []string{"view_range", "line_range", "range"}
	// What a run tool runs; the rest (a description, a time limit) is not the target.
	commandNames = []string{"command", "cmd", "script", "code", "commands"}
	// What a model adds for people to read.
	proseNames = []string{"description", "explanation", "reason", "task_progress", "toolSummary", "toolAction"}
)

// table is the tools of common agents. Names that several agents use stand once:
// arguments are found by their usual names.
var table = []Tool{
	// Claude Code
	{Name: "Read", Kind: KindRead}, {Name: "Write", Kind: KindWrite}, {Name: "Edit", Kind: KindEdit}, {Name: "MultiEdit", Kind: KindEdit},
	{Name: "NotebookRead", Kind: KindRead}, {Name: "NotebookEdit", Kind: KindEdit},
	{Name: "Bash", Kind: KindRun}, {Name: "BashOutput", Kind: KindRun}, {Name: "KillShell", Kind: KindRun}, {Name: "PowerShell", Kind: KindRun},
	{Name: "Grep", Kind: KindSearch}, {Name: "Glob", Kind: KindSearch}, {Name: "LS", Kind: KindSearch}, {Name: "LSP", Kind: KindSearch},
	{Name: "WebFetch", Kind: KindSearch}, {Name: "WebSearch", Kind: KindSearch}, {Name: "ToolSearch", Kind: KindSearch},
	// opencode, crush, pi, amp, goose
	{Name: "List", Kind: KindSearch}, {Name: "view", Kind: KindRead}, {Name: "fetch", Kind: KindSearch}, {Name: "sourcegraph", Kind: KindSearch},
	{Name: "patch", Kind: KindEdit, Patch: "patchText"}, {Name: "codesearch", Kind: KindSearch}, {Name: "find", Kind: KindSearch},
	{Name: "create_file", Kind: KindWrite}, {Name: "edit_file", Kind: KindEdit}, {Name: "undo_edit", Kind: KindEdit}, {Name: "download", Kind: KindRun},
	{Name: "developer__shell", Kind: KindRun}, {Name: "developer__text_editor", Kind: KindEdit, Command: "command", Commands: editorCommands},
	{Name: "text_editor", Kind: KindEdit, Command: "command", Commands: editorCommands},
	// Codex
	{Name: "shell", Kind: KindRun}, {Name: "local_shell", Kind: KindRun}, {Name: "shell_command", Kind: KindRun}, {Name: "exec_command", Kind: KindRun},
	{Name: "unified_exec", Kind: KindRun}, {Name: "write_stdin", Kind: KindRun}, {Name: "container.exec", Kind: KindRun},
	{Name: "apply_patch", Kind: KindEdit, Patch: "input"}, {Name: "view_image", Kind: KindRead, Lines: -1},
	{Name: "grep_files", Kind: KindSearch}, {Name: "list_dir", Kind: KindSearch},
	// Gemini CLI, Qwen Code
	{Name: "read_file", Kind: KindRead}, {Name: "write_file", Kind: KindWrite}, {Name: "replace", Kind: KindEdit}, {Name: "run_shell_command", Kind: KindRun},
	{Name: "read_many_files", Kind: KindSearch}, {Name: "search_file_content", Kind: KindSearch}, {Name: "grep_search", Kind: KindSearch},
	{Name: "list_directory", Kind: KindSearch}, {Name: "web_fetch", Kind: KindSearch}, {Name: "google_web_search", Kind: KindSearch}, {Name: "web_search", Kind: KindSearch},
	// Cline, Roo Code, Kilo
	{Name: "write_to_file", Kind: KindWrite}, {Name: "replace_in_file", Kind: KindEdit}, {Name: "apply_diff", Kind: KindEdit}, {Name: "insert_content", Kind: KindEdit},
	{Name: "search_and_replace", Kind: KindEdit}, {Name: "search_replace", Kind: KindEdit}, {Name: "execute_command", Kind: KindRun}, {Name: "search_files", Kind: KindSearch},
	{Name: "list_files", Kind: KindSearch}, {Name: "list_code_definition_names", Kind: KindSearch}, {Name: "browser_action", Kind: KindRun},
	{Name: "codebase_search", Kind: KindSearch}, {Name: "use_mcp_tool", Kind: KindRun}, {Name: "access_mcp_resource", Kind: KindSearch},
	// SWE-agent, OpenHands, Anthropic's own editors
	{Name: "str_replace_editor", Kind: KindEdit, Command: "command", Commands: editorCommands},
	{Name: "str_replace_based_edit_tool", Kind: KindEdit, Command: "command", Commands: editorCommands},
	{Name: "str_replace_based_edit", Kind: KindEdit, Command: "command", Commands: editorCommands},
	{Name: "file_editor", Kind: KindEdit, Command: "command", Commands: editorCommands},
	{Name: "str_replace", Kind: KindEdit}, {Name: "insert", Kind: KindEdit}, {Name: "open", Kind: KindRead, Start: "line_number", Lines: 100}, {Name: "create", Kind: KindEdit},
	{Name: "goto", Kind: KindRun}, {Name: "scroll_down", Kind: KindRun}, {Name: "scroll_up", Kind: KindRun},
	{Name: "find_file", Kind: KindSearch}, {Name: "search_dir", Kind: KindSearch}, {Name: "search_file", Kind: KindSearch},
	{Name: "execute_bash", Kind: KindRun}, {Name: "execute_ipython_cell", Kind: KindRun}, {Name: "execute_python", Kind: KindRun}, {Name: "terminal", Kind: KindRun},
	// Copilot, Cursor, Windsurf, Zed, Continue
	{Name: "insert_edit_into_file", Kind: KindEdit}, {Name: "replace_string_in_file", Kind: KindEdit}, {Name: "multi_replace_string_in_file", Kind: KindEdit},
	{Name: "run_in_terminal", Kind: KindRun}, {Name: "get_terminal_output", Kind: KindRun}, {Name: "runTests", Kind: KindRun}, {Name: "semantic_search", Kind: KindSearch},
	{Name: "file_search", Kind: KindSearch}, {Name: "get_errors", Kind: KindSearch}, {Name: "fetch_webpage", Kind: KindSearch},
	{Name: "get_changed_files", Kind: KindSearch}, {Name: "list_code_usages", Kind: KindSearch}, {Name: "edit_notebook_file", Kind: KindEdit}, {Name: "edit_notebook", Kind: KindEdit},
	{Name: "run_terminal_cmd", Kind: KindRun}, {Name: "run_terminal_command", Kind: KindRun}, {Name: "reapply", Kind: KindEdit}, {Name: "delete_file", Kind: KindRun},
	{Name: "create_new_file", Kind: KindWrite}, {Name: "edit_existing_file", Kind: KindEdit}, {Name: "single_find_and_replace", Kind: KindEdit},
	{Name: "view_file", Kind: KindRead}, {Name: "view_line_range", Kind: KindRead}, {Name: "str_replace_edit", Kind: KindEdit},
	{Name: "run_command", Kind: KindRun}, {Name: "replace_file_content", Kind: KindEdit}, {Name: "multi_replace_file_content", Kind: KindEdit}, {Name: "read_currently_open_file", Kind: KindSearch},
	// The reference filesystem server
	{Name: "mcp__filesystem__read_file", Kind: KindRead, Lines: -1}, {Name: "mcp__filesystem__read_text_file", Kind: KindRead, Lines: -1, Limit: "head"},
	{Name: "mcp__filesystem__write_file", Kind: KindWrite}, {Name: "mcp__filesystem__edit_file", Kind: KindEdit},
	{Name: "mcp__filesystem__list_directory", Kind: KindSearch}, {Name: "mcp__filesystem__search_files", Kind: KindSearch},
}

// editorCommands are those of Anthropic's text editor and what is modelled on it.
var editorCommands = map[string]Kind{
	"view": KindRead, "read": KindRead, "create": KindWrite, "write": KindWrite, "str_replace": KindEdit, "insert": KindEdit, "undo_edit": KindEdit, "edit_file": KindEdit,
}

// Table returns the tools that the rules know.
func Table() []Tool { return slices.Clone(table) }

// protectedTools hold what the rest of the work is steered by: plans, tasks,
// skills, memories, questions to a person, and the reports of sub-agents.
var protectedTools = []string{
	"todo*", "*todos", "task", "task[cglosu]*", "agent", "agents", "spawn_agent", "wait_agent", "delegate_*", "skill", "skills", "load_skill", "activate_skill", "use_skill",
	"update_plan", "plan_*", "*_plan", "*plan_mode*", "*planmode", "plan", "think", "new_task", "switch_mode", "attempt_completion", "plan_mode_respond",
	"ask_*", "askuser*", "question", "request_user_input", "save_memory", "memory", "memory_*", "*_memory", "update_todo_list", "manage_todo_list", "focus_chain",
	"compress", "distill", "prune", "recall", "finish", "submit",
}

// ProtectedTools returns the globs of the tools that no rule touches, whatever the
// options say.
func ProtectedTools() []string { return slices.Clone(protectedTools) }

// patchFiles returns the files that a patch in Codex' format touches.
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
