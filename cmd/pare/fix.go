package main

import (
	"time"

	"github.com/pare-llm/pare/internal/agentlog"
)

type fixCmd struct {
	AppendOnly  bool `help:"For a session file: keep every line and append the repaired branch. Not every format supports it."`
	Force       bool `help:"With --in-place, rewrite a session file even if its agent may still be writing to it."`
	configFlags `embed:""`
	lineFlags   `embed:""`
	changeFlags `embed:""`
}

// Help returns the detailed help of the command.
func (c *fixCmd) Help() string {
	return `For example:

    pare fix request.json -o fixed.json
    pare fix --in-place session.jsonl             the original becomes session.jsonl.bak
    pare fix --dry-run request.json               only show what would be done
    pare fix --orphan-call drop --receipt changes.jsonl request.json -o fixed.json
    pare fix --lines                              keep it open: a line in, a line out

A transcript without faults, and every line of a batch that has none, comes back
byte for byte. What cannot be repaired is named on standard error, and the
rest is still repaired (status 1), in place too. If some of the input cannot be read
(status 2), no file is written; where the input is a pipe, standard output ends in
front of what cannot be read, unless a receipt is wanted: nothing is written then that
has none.

The session file of an agent is repaired as a whole: lines that need no change stay
byte for byte. In place, it is replaced in one step, with the mode and the time of the
original, which becomes FILE.bak; pare undo FILE restores it. While its agent may be
writing to it (a lock, a process that has it open, a change in the last 10 seconds) it
is left alone.`
}

func (c *fixCmd) run(env *environment) int {
	conf, used, status := c.load(env, c.JSON)
	if status != statusClean {
		return status
	}
	conf.Window, conf.Compact, conf.Archive = nil, nil, nil // only trim and compact use these
	policy, status := env.compile(conf, used)
	if status != statusClean {
		return status
	}
	policy.Rules = nil // fix removes nothing
	if err := c.changeFlags.applyTo(policy); err != nil {
		return env.failUsage(err, "fix")
	}
	return c.changeFlags.run(env, task{
		command: "fix", isOff: policy.Off, lines: &c.lineFlags,
		plan:          newPlanner(policy),
		sessionRepair: &sessionRepair{Options: agentlog.Options{Repair: policy.Repair, Check: policy.Check, AppendOnly: c.AppendOnly}, overwritesBusy: c.Force, busy: agentlog.NewBusy(time.Now())},
	})
}
