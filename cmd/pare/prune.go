package main

import (
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

type pruneCmd struct {
	ruleset  `embed:""`
	changing `embed:""`
}

// Help is the page's first paragraph.
func (c *pruneCmd) Help() string {
	return `For example:

    pare prune request.json -o small.json
    pare prune --dry-run request.json             only show what would go, and why
    pare prune --rules deduplication,error-purging --keep-recent 20 request.json

The transcript is mended as by pare fix, then the rules vote on what it can do
without; no vote can break a pair. pare rules lists them. --rules runs exactly the
rules it names; --keep-recent adds recency to them. Status and files are as with
pare fix.`
}

func (c *pruneCmd) run(w *world) int {
	conf, used, err := w.loadConfig(c.Config)
	if err != nil {
		return w.misconfigured(used, err)
	}
	if err := c.ruleset.override(conf); err != nil {
		return w.usage(err, "prune")
	}
	o := conf.Options()
	if err := c.changing.override(&o); err != nil {
		return w.usage(err, "prune")
	}
	p, err := conf.Pipeline()
	if err != nil {
		return w.misconfigured(used, err)
	}
	if used != "" && c.Config == "" && !c.JSON {
		fmt.Fprintf(w.stderr, "pare: configured by %s\n", used)
	}
	return c.changing.run(w, task{command: "prune", plan: func(r *wire.Request) (*pare.Plan, error) { return p.Plan(r, counted(o, r)) }})
}
