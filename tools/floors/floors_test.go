//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestEveryFloorIsMeasured runs all comparisons once, on small inputs. It judges no speed.
func TestEveryFloorIsMeasured(t *testing.T) {
	c := config{rounds: 1, bodySize: 40_000, appends: 20}
	speeds, err := c.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(speeds) != 3*(1+len(nodeFloors))+1+len(proxyFloors) {
		t.Errorf("measured %d speeds", len(speeds))
	}
	_, noNode := exec.LookPath("node")
	for _, s := range speeds {
		mayBeSkipped := noNode != nil && strings.HasPrefix(s.base, "node")
		if s.floor <= 0 || s.skipped == "" && s.ratio <= 0 || s.skipped != "" && !mayBeSkipped {
			t.Errorf("not measured: %+v", s)
		}
	}
}

func TestReportCountsSpeedsBelowTheirFloor(t *testing.T) {
	var out strings.Builder
	below := report(&out, []speed{
		{work: "fast", ratio: 2, floor: 1},
		{work: "slow", ratio: 0.5, floor: 1},
		{work: "unknown", floor: 1, skipped: "no node"},
	})
	if below != 1 || strings.Count(out.String(), "BELOW") != 1 || !strings.Contains(out.String(), "skipped: no node") {
		t.Errorf("%d below:\n%s", below, out.String())
	}
}
