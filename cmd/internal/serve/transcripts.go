package serve

import (
	"context"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// KindClaude is the kind of entries that are lines of Claude Code's transcripts, as the
// SessionStore for the Claude Agent SDK writes them.
const KindClaude store.Kind = "claude-transcript"

// OpenStore opens a store that makes windows of agents' transcripts, too.
func OpenStore(ctx context.Context, dsn string) (*store.Store, error) {
	return store.OpenWith(ctx, dsn, storeOptions())
}

// OpenDamagedStore opens a store that may be damaged, to read the intact part.
func OpenDamagedStore(ctx context.Context, dsn string) (*store.Store, error) {
	o := storeOptions()
	o.Damaged = true
	return store.OpenWith(ctx, dsn, o)
}

func storeOptions() store.Options {
	return store.Options{Transcripts: map[store.Kind]store.Transcript{
		KindClaude: func(lines []byte, model string) (*wire.Request, error) {
			return agentlog.ResumeRequest(lines, agentlog.Options{Format: agentlog.ClaudeCode, Model: model})
		},
	}}
}
