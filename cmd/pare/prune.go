package main

type pruneCmd struct {
	ruleset  `embed:""`
	lining   `embed:""`
	changing `embed:""`
}

// Help is the page's first paragraph.
func (c *pruneCmd) Help() string {
	return `For example:

    pare prune request.json -o small.json
    pare prune --dry-run request.json             only show what would go, and why
    pare prune --rules deduplication,error-purging --keep-recent 20 request.json

The transcript is repaired as by pare fix, then the rules vote on what it can do
without; no vote can break a pair. pare rules lists them. --rules runs exactly the
rules it names; --keep-recent adds recency to them. Status and files are as with
pare fix.

Before each request of a conversation, that costs more than it saves while the provider's
cache is warm: what stands in front changes, and the rest is written to the cache again.
After a pause pare trim --cold clears what will hardly be needed.`
}

func (c *pruneCmd) run(w *world) int {
	conf, used, status := c.load(w, c.JSON)
	if status != statusClean {
		return status
	}
	conf.Window, conf.Compact, conf.Archive = nil, nil, nil // they are for trim and compact
	if err := c.ruleset.override(conf); err != nil {
		return w.usage(err, "prune")
	}
	p, status := w.compile(conf, used)
	if status != statusClean {
		return status
	}
	if err := c.changing.override(p); err != nil {
		return w.usage(err, "prune")
	}
	return c.changing.run(w, task{command: "prune", plan: by(p), lines: &c.lining, repairing: forSessions(p), shorten: bySession(by(p))})
}
