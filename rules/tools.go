package rules

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is what a tool does.
type Kind string

const (
	Read   Kind = "read"   // shows one file
	Write  Kind = "write"  // replaces one file as a whole
	Edit   Kind = "edit"   // changes a file
	Search Kind = "search" // looks around and changes nothing
	Run    Kind = "run"    // may do anything
	Other  Kind = "other"  // is not known to be any of these
)

var kinds = []Kind{Read, Write, Edit, Search, Run, Other}

// A Tool says what a tool does and what its arguments mean.
type Tool struct {
	// The tool's name, in any case.
	Name string `json:"name"`
	// What it does: read, write, edit, search, run or other.
	Kind Kind `json:"kind,omitempty" enum:"read,write,edit,search,run,other"`
	// The argument that decides what it does, for a tool that does several things.
	Command string `json:"command,omitempty"`
	// What it does by the value of that argument; for other values, Kind.
	Commands map[string]Kind `json:"commands,omitempty"`
	// The argument that names the file; "" tries the usual names.
	Path string `json:"path,omitempty"`
	// The argument that holds a patch in Codex' format, which names the file.
	Patch string `json:"patch,omitempty"`
	// The argument with the first line of a read; "" tries the usual names.
	Start string `json:"start,omitempty"`
	// The argument with the last line of a read; "" tries the usual names.
	End string `json:"end,omitempty"`
	// The argument with the number of lines of a read; "" tries the usual names.
	Limit string `json:"limit,omitempty"`
	// How many lines a read without a limit shows at most; 0 is 2000, negative is all.
	Lines int `json:"lines,omitempty"`
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
	{Name: "Read", Kind: Read}, {Name: "Write", Kind: Write}, {Name: "Edit", Kind: Edit}, {Name: "MultiEdit", Kind: Edit},
	{Name: "NotebookRead", Kind: Read}, {Name: "NotebookEdit", Kind: Edit},
	{Name: "Bash", Kind: Run}, {Name: "BashOutput", Kind: Run}, {Name: "KillShell", Kind: Run}, {Name: "PowerShell", Kind: Run},
	{Name: "Grep", Kind: Search}, {Name: "Glob", Kind: Search}, {Name: "LS", Kind: Search}, {Name: "LSP", Kind: Search},
	{Name: "WebFetch", Kind: Search}, {Name: "WebSearch", Kind: Search}, {Name: "ToolSearch", Kind: Search},
	// opencode, crush, pi, amp, goose
	{Name: "List", Kind: Search}, {Name: "view", Kind: Read}, {Name: "fetch", Kind: Search}, {Name: "sourcegraph", Kind: Search},
	{Name: "patch", Kind: Edit, Patch: "patchText"}, {Name: "codesearch", Kind: Search}, {Name: "find", Kind: Search},
	{Name: "create_file", Kind: Write}, {Name: "edit_file", Kind: Edit}, {Name: "undo_edit", Kind: Edit}, {Name: "download", Kind: Run},
	{Name: "developer__shell", Kind: Run}, {Name: "developer__text_editor", Kind: Edit, Command: "command", Commands: editorCommands},
	{Name: "text_editor", Kind: Edit, Command: "command", Commands: editorCommands},
	// Codex
	{Name: "shell", Kind: Run}, {Name: "local_shell", Kind: Run}, {Name: "shell_command", Kind: Run}, {Name: "exec_command", Kind: Run},
	{Name: "unified_exec", Kind: Run}, {Name: "write_stdin", Kind: Run}, {Name: "container.exec", Kind: Run},
	{Name: "apply_patch", Kind: Edit, Patch: "input"}, {Name: "view_image", Kind: Read, Lines: -1},
	{Name: "grep_files", Kind: Search}, {Name: "list_dir", Kind: Search},
	// Gemini CLI, Qwen Code
	{Name: "read_file", Kind: Read}, {Name: "write_file", Kind: Write}, {Name: "replace", Kind: Edit}, {Name: "run_shell_command", Kind: Run},
	{Name: "read_many_files", Kind: Search}, {Name: "search_file_content", Kind: Search}, {Name: "grep_search", Kind: Search},
	{Name: "list_directory", Kind: Search}, {Name: "web_fetch", Kind: Search}, {Name: "google_web_search", Kind: Search}, {Name: "web_search", Kind: Search},
	// Cline, Roo Code, Kilo
	{Name: "write_to_file", Kind: Write}, {Name: "replace_in_file", Kind: Edit}, {Name: "apply_diff", Kind: Edit}, {Name: "insert_content", Kind: Edit},
	{Name: "search_and_replace", Kind: Edit}, {Name: "search_replace", Kind: Edit}, {Name: "execute_command", Kind: Run}, {Name: "search_files", Kind: Search},
	{Name: "list_files", Kind: Search}, {Name: "list_code_definition_names", Kind: Search}, {Name: "browser_action", Kind: Run},
	{Name: "codebase_search", Kind: Search}, {Name: "use_mcp_tool", Kind: Run}, {Name: "access_mcp_resource", Kind: Search},
	// SWE-agent, OpenHands, Anthropic's own editors
	{Name: "str_replace_editor", Kind: Edit, Command: "command", Commands: editorCommands},
	{Name: "str_replace_based_edit_tool", Kind: Edit, Command: "command", Commands: editorCommands},
	{Name: "str_replace_based_edit", Kind: Edit, Command: "command", Commands: editorCommands},
	{Name: "file_editor", Kind: Edit, Command: "command", Commands: editorCommands},
	{Name: "str_replace", Kind: Edit}, {Name: "insert", Kind: Edit}, {Name: "open", Kind: Read, Start: "line_number", Lines: 100}, {Name: "create", Kind: Edit},
	{Name: "goto", Kind: Run}, {Name: "scroll_down", Kind: Run}, {Name: "scroll_up", Kind: Run},
	{Name: "find_file", Kind: Search}, {Name: "search_dir", Kind: Search}, {Name: "search_file", Kind: Search},
	{Name: "execute_bash", Kind: Run}, {Name: "execute_ipython_cell", Kind: Run}, {Name: "execute_python", Kind: Run}, {Name: "terminal", Kind: Run},
	// Copilot, Cursor, Windsurf, Zed, Continue
	{Name: "insert_edit_into_file", Kind: Edit}, {Name: "replace_string_in_file", Kind: Edit}, {Name: "multi_replace_string_in_file", Kind: Edit},
	{Name: "run_in_terminal", Kind: Run}, {Name: "get_terminal_output", Kind: Run}, {Name: "runTests", Kind: Run}, {Name: "semantic_search", Kind: Search},
	{Name: "file_search", Kind: Search}, {Name: "get_errors", Kind: Search}, {Name: "fetch_webpage", Kind: Search},
	{Name: "get_changed_files", Kind: Search}, {Name: "list_code_usages", Kind: Search}, {Name: "edit_notebook_file", Kind: Edit}, {Name: "edit_notebook", Kind: Edit},
	{Name: "run_terminal_cmd", Kind: Run}, {Name: "run_terminal_command", Kind: Run}, {Name: "reapply", Kind: Edit}, {Name: "delete_file", Kind: Run},
	{Name: "create_new_file", Kind: Write}, {Name: "edit_existing_file", Kind: Edit}, {Name: "single_find_and_replace", Kind: Edit},
	{Name: "view_file", Kind: Read}, {Name: "view_line_range", Kind: Read}, {Name: "str_replace_edit", Kind: Edit},
	{Name: "run_command", Kind: Run}, {Name: "replace_file_content", Kind: Edit}, {Name: "multi_replace_file_content", Kind: Edit}, {Name: "read_currently_open_file", Kind: Search},
	// The reference filesystem server
	{Name: "mcp__filesystem__read_file", Kind: Read, Lines: -1}, {Name: "mcp__filesystem__read_text_file", Kind: Read, Lines: -1, Limit: "head"},
	{Name: "mcp__filesystem__write_file", Kind: Write}, {Name: "mcp__filesystem__edit_file", Kind: Edit},
	{Name: "mcp__filesystem__list_directory", Kind: Search}, {Name: "mcp__filesystem__search_files", Kind: Search},
}

// editorCommands are those of Anthropic's text editor and what is modelled on it.
var editorCommands = map[string]Kind{
	"view": Read, "read": Read, "create": Write, "write": Write, "str_replace": Edit, "insert": Edit, "undo_edit": Edit, "edit_file": Edit,
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

// validate says what is wrong with an entry of a table.
func (t Tool) validate() error {
	if t.Name == "" {
		return fmt.Errorf("tools: a tool has no name")
	}
	all := []Kind{t.Kind}
	for _, k := range t.Commands {
		all = append(all, k)
	}
	slices.Sort(all) // so that the first of several errors is always the same
	for _, k := range all {
		if k != "" && !slices.Contains(kinds, k) {
			return fmt.Errorf("tools: %s: %q is no kind; the kinds are read, write, edit, search, run and other", t.Name, k)
		}
	}
	if t.Command == "" && len(t.Commands) > 0 {
		return fmt.Errorf("tools: %s: commands without the argument they are values of", t.Name)
	}
	return nil
}

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
