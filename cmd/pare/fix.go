package main

import (
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

type fixCmd struct {
	changing `embed:""`
}

// Help is the page's last paragraph.
func (c *fixCmd) Help() string {
	return `A transcript without faults, and every line of a batch that has none, comes back
byte for byte. What cannot be mended is named on standard error and the rest is
mended all the same (status 1), in place too. If some of the input cannot be read
(status 2), no file is written; standard output from a pipe ends in front of it.`
}

func (c *fixCmd) run(w *world) int {
	var o pare.Options
	if err := c.override(&o); err != nil {
		return w.usage(err, "fix")
	}
	return c.changing.run(w, task{command: "fix", plan: func(r *wire.Request) (*pare.Plan, error) { return pare.Repair(r, counted(o, r)) }})
}
