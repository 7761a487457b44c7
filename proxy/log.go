package proxy

import "log/slog"

// LogValue returns the attributes for a log, without text of conversations and without keys.
func (r *Record) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("id", r.ID), slog.String("upstream", r.Upstream), slog.String("path", r.Path), slog.String("model", r.Model),
		slog.Int("status", r.Status), slog.Int64("in", r.BytesIn), slog.Int64("out", r.BytesOut), slog.Int64("reply", r.Reply),
		slog.Duration("planned", r.Planned), slog.Duration("took", r.Took),
	}
	if r.Requests > 0 {
		attrs = append(attrs, slog.Int("requests", r.Requests))
	}
	if n := len(r.Changes); n > 0 {
		attrs = append(attrs, slog.Int("changes", n), slog.Any("rules", r.Rules), slog.Int("saved", r.Saved))
	}
	if len(r.Faults) > 0 {
		attrs = append(attrs, slog.Any("faults", r.Faults))
	}
	for _, a := range []slog.Attr{slog.String("healed", r.Healed), slog.String("tried", r.Tried), slog.String("skipped", string(r.Skipped)), slog.String("detail", r.Detail), slog.String("error", r.Error)} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	return slog.GroupValue(attrs...)
}
