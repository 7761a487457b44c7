package main

import (
	"context"
	"errors"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
	summaries "github.com/pare-llm/pare/summary"
)

type sessionCompactCmd struct {
	oneSession `embed:""`
	MinKeep    int `default:"12" placeholder:"N" help:"Keep at least the last N messages. Default: 12."`
}

func (c *sessionCompactCmd) run(w *world) int {
	if err := notNegative("--min-keep", c.MinKeep); err != nil {
		return w.usage(err, "session compact")
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		made, err := st.Compact(ctx, c.key(), &pare.Compactor{MinKeep: c.MinKeep, Summarize: summaries.Extract(summaries.ExtractOptions{}), Memory: st.Memory()})
		var not *pare.CompactionError
		if errors.As(err, &not) && not.Reason == pare.ReasonLarger {
			screen.Fprintf(w.stderr, "nothing to compact: %v\n", not.Err)
			return statusClean, nil
		}
		if err != nil {
			return 0, err
		}
		if made == nil {
			screen.Fprintln(w.stderr, "nothing to compact")
			return statusClean, nil
		}
		return w.say(screen.Appendf(nil, "%s up to entry %d are summarized; pare session recall %s shows them\n", plural(made.Messages, "message"), made.To, quoted(made.Archive))), nil
	})
}
