package agentlog

import (
	"fmt"

	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

// A Format is the file format of an agent. The zero value asks for detection.
type Format uint8

const (
	Auto           Format = iota
	ClaudeCode            // JSON lines with uuid and parentUuid
	Codex                 // rollout, JSON lines, old and new layout
	Pi                    // JSON lines, linear or with id and parentId
	GeminiCLI             // a chat: one object with messages and their toolCalls, or lines
	Cline                 // api_conversation_history.json of Cline and Roo: a bare Anthropic list
	Goose                 // JSON lines or recordings with toolRequest and toolResponse
	OpenHands             // event lists, alone or in the lines of an evaluation
	OpenCode              // a storage folder; see [ReadFolder]
	ADK                   // an ADK session: one object with events
	Cline3                // ID.messages.json: one object with messages, beside bookkeeping
	Continue              // one object with a history
	QwenCode              // JSON lines like those of Claude Code, with the parts of Gemini
	Copilot               // events.jsonl of GitHub Copilot CLI
	OpenCodeExport        // a session of opencode in one object: an export, or rows of its database
	ATIF                  // a trajectory of a benchmark: one object with steps
	OpenHandsEvent        // one event of a folder of OpenHands; it is told apart, not read
)

// A row is all that the rest of the package knows about a format. A new format is a
// file with its row and what the row names, and a line in table.
type formatSpec struct {
	format  Format
	name    string       // in flags and in JSON
	maker   string       // the agent, as people call it
	dialect wire.Dialect // that its threads are put together in
	form    formatReader // reads and fixes it; nil: it is not read

	// line says how much an object tells for the format, as a line of its file or as the
	// whole of it; nil: nothing does.
	lineEvidence func(o object) evidence
	// marked reports whether the agent reads a file behind a byte order mark as if there
	// were none; nil: it does not, or that is not known.
	readsByteOrderMark func(l *Log) bool
	// lenient: the agent reads bytes that are no UTF-8 as replacement characters.
	lenientUTF8 bool
	// settles reports whether the agent itself puts right what is found in a thread, each time it
	// sends it; nil: it does not, or that is not known.
	repairsItself func(l *Log, t *Thread, f wire.Finding) bool
	// usage reads what the API has counted for a reply, off its unit; nil: the agent does not
	// note it there.
	unitUsage func(o object) (in, out int)
	// counts does so where lines of their own say it; nil: none do.
	readCounted func(l *Log, t *Thread) fullness.Counted
	// shortens: the agent leaves out of what it sends what does not fit.
	shortensItself bool
	// aim is how full a session that was too long is made, in percent. Zero: 50.
	targetPercent int
	// clips is how many bytes of a result the agent sends at most. Zero: all.
	resultLimit int
	// document reports whether a value is the whole of a file; nil: files are lines.
	isDocument func(o object) bool
}

// table is the list of all formats. Of two with as much evidence the first counts.
var formatTable = []formatSpec{
	claudeRow, codexRow, piRow, geminiRow, clineRow, gooseRow, openHandsEventRow, openHandsRow, openCodeRow, openCodeExportRow, adkRow, copilotRow, qwenRow,
	cline3Row, continueRow, atifRow,
}

// row returns what is known of the format; false for Auto and for none of ours.
func (f Format) spec() (formatSpec, bool) {
	for _, r := range formatTable {
		if r.format == f {
			return r, true
		}
	}
	return formatSpec{}, false
}

// String is the format's name in flags and in JSON.
func (f Format) String() string {
	if f == Auto {
		return "auto"
	}
	if r, ok := f.spec(); ok {
		return r.name
	}
	return "unknown"
}

// Maker is the agent that writes the format, as people call it.
func (f Format) Maker() string {
	r, _ := f.spec()
	return r.maker
}

// Dialect is the dialect that the threads of the format are put together in.
func (f Format) Dialect() wire.Dialect {
	r, _ := f.spec()
	return r.dialect
}

// Readable reports whether files of the format can be read. Others are only told
// apart.
func (f Format) Readable() bool {
	r, _ := f.spec()
	return r.form != nil
}

// An UnreadError says that a file is of a format that is known, and not read. Many
// goroutines may read it.
type UnreadError struct{ Format Format }

func (e *UnreadError) Error() string {
	return fmt.Sprintf("this is a session file of %s, which Pare does not read yet", e.Format.Maker())
}

// Unwrap makes it an [ErrFormat].
func (e *UnreadError) Unwrap() error { return ErrFormat }
