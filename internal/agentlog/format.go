package agentlog

import (
	"fmt"

	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

// A Format is the file format of an agent. The zero value means automatic detection.
type Format uint8

const (
	Auto       Format = iota
	ClaudeCode        // JSON lines with uuid and parentUuid
	Codex             // rollouts: JSON lines in the old and the new layout
	Pi                // JSON lines, linear or with id and parentId
	GeminiCLI         // chats: one object with messages and their toolCalls, or lines
	Cline             // api_conversation_history.json of Cline and Roo: a bare Anthropic list
	Goose             // JSON lines or recordings with toolRequest and toolResponse
	OpenHands         // event lists, alone or in the lines of an evaluation
	OpenCode          // a storage folder; see [ReadFolder]
	ADK               // an ADK session: one object with events
	Cline3            // ID.messages.json: one object with messages and metadata
	Continue          // one object with a history
	QwenCode          // JSON lines like those of Claude Code, with Gemini parts
	Copilot           // events.jsonl of GitHub Copilot CLI
	// One object with a session of opencode: an export or the rows of its database.
	OpenCodeExport
	ATIF           // a trajectory of a benchmark: one object with steps
	OpenHandsEvent // one event of an OpenHands folder; detected but not readable
)

// A formatSpec describes a format to the rest of the package. To add a format, write a file with
// its formatSpec and add it to formatTable.
type formatSpec struct {
	format  Format
	name    string       // in flags and in JSON
	maker   string       // the agent's product name
	dialect wire.Dialect // of the threads
	form    formatReader // nil if the format is not readable

	// lineEvidence returns the evidence that an object, as a line of a file or as a whole file, has
	// this format. It may be nil.
	lineEvidence func(o object) evidence
	// readsByteOrderMark reports whether the agent ignores a byte order mark. Nil means no or
	// unknown.
	readsByteOrderMark func(l *Log) bool
	// lenientUTF8 is true if the agent replaces invalid UTF-8 by replacement characters.
	lenientUTF8 bool
	// repairsItself reports whether the agent corrects a finding each time it sends the thread. Nil
	// means no or unknown.
	repairsItself func(l *Log, t *Thread, f wire.Finding) bool
	// unitUsage returns the token counts that the API reported for a reply, from the unit of the
	// reply. It is nil if the agent stores them elsewhere or not at all.
	unitUsage func(o object) (in, out int)
	// readCounted returns the token counts from separate lines. It may be nil.
	readCounted func(l *Log, t *Thread) fullness.Counted
	// shortensItself is true if the agent omits messages that do not fit the window.
	shortensItself bool
	// targetPercent is the fill of the window, in percent, to which a full session is shortened.
	// Zero means 50.
	targetPercent int
	// resultLimit is the maximum number of bytes of a result that the agent sends. Zero means no
	// limit.
	resultLimit int
	// isDocument reports whether a value is a complete file of the format. It is nil if files are
	// lines.
	isDocument func(o object) bool
}

// formatTable lists all formats. If two formats have equal evidence, the first one is chosen.
var formatTable = []formatSpec{
	claudeRow, codexRow, piRow, geminiRow, clineRow, gooseRow, openHandsEventRow, openHandsRow, openCodeRow, openCodeExportRow, adkRow, copilotRow, qwenRow,
	cline3Row, continueRow, atifRow,
}

// spec returns the description of a format, or false for Auto and unknown formats.
func (f Format) spec() (formatSpec, bool) {
	for _, r := range formatTable {
		if r.format == f {
			return r, true
		}
	}
	return formatSpec{}, false
}

// String returns the format's name in flags and in JSON.
func (f Format) String() string {
	if f == Auto {
		return "auto"
	}
	if r, ok := f.spec(); ok {
		return r.name
	}
	return "unknown"
}

// Maker returns the product name of the agent that writes the format.
func (f Format) Maker() string {
	r, _ := f.spec()
	return r.maker
}

// Dialect returns the dialect of the format's threads.
func (f Format) Dialect() wire.Dialect {
	r, _ := f.spec()
	return r.dialect
}

// Readable reports whether files of the format can be read. Others can only be detected.
func (f Format) Readable() bool {
	r, _ := f.spec()
	return r.form != nil
}

// An UnreadError reports a file of a format that is known but not readable.
type UnreadError struct{ Format Format }

func (e *UnreadError) Error() string {
	return fmt.Sprintf("this is a session file of %s, which Pare does not read yet", e.Format.Maker())
}

// Unwrap returns [ErrFormat].
func (e *UnreadError) Unwrap() error { return ErrFormat }
