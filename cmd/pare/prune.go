package main

type pruneCmd struct {
	ruleFlags   `embed:""`
	lineFlags   `embed:""`
	changeFlags `embed:""`
}

// Help returns the detailed help of the command.
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

func (c *pruneCmd) run(env *environment) int {
	conf, used, status := c.load(env, c.JSON)
	if status != statusClean {
		return status
	}
	conf.Window, conf.Compact, conf.Archive = nil, nil, nil // only trim and compact use these
	if err := c.ruleFlags.applyTo(conf); err != nil {
		return env.failUsage(err, "prune")
	}
	policy, status := env.compile(conf, used)
	if status != statusClean {
		return status
	}
	if err := c.changeFlags.applyTo(policy); err != nil {
		return env.failUsage(err, "prune")
	}
	return c.changeFlags.run(env, task{command: "prune", plan: newPlanner(policy), lines: &c.lineFlags, sessionRepair: newSessionRepair(policy), planSession: planEachRequest(newPlanner(policy))})
}
