package main

import (
	"testing"

	"github.com/pare-llm/pare/agentlog"
)

// Whatever can be wrong with a file can be explained.
func TestExplainDamage(t *testing.T) {
	for rule := range agentlog.Damages() {
		if damageMends[rule] == "" {
			t.Errorf("nothing is said about the mend of %s", rule)
		}
		if status, out, errs := program(nil, "explain", rule); status != statusClean || out == "" {
			t.Errorf("%s: status %d: %s", rule, status, errs)
		}
	}
}
