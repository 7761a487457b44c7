package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// Names of the work whose speed has a floor.
const (
	validWork = "json.Valid"
	nodeWork  = "parse, slice, stringify"
	checkWork = "check"
)

// nodeFloors are the floors next to Node.
var nodeFloors = []struct {
	work  string
	floor float64
}{
	{"fix clean", 14},
	{"fix broken", 5},
	{"prune", 4},
	{"trim to half", 5},
	{"trim to a tenth", 4},
}

const checkFloor = 5

// measureEngine measures the library on one dense body per dialect.
func measureEngine(ctx context.Context, c config) ([]speed, error) {
	_, err := exec.LookPath("node")
	hasNode := err == nil
	var all []speed
	for _, shape := range benchdata.Shapes {
		body := benchdata.Dense(shape, c.bodySize)
		contestants, err := engineWork(ctx, body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shape, err)
		}
		speeds, err := compareEngine(ctx, c, shape, body, contestants, hasNode)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shape, err)
		}
		all = append(all, speeds...)
	}
	return all, nil
}

func compareEngine(ctx context.Context, c config, shape benchdata.Shape, body []byte, contestants []contestant, hasNode bool) ([]speed, error) {
	skipped := ""
	if !hasNode {
		skipped = "node is not installed"
	} else {
		folder, err := os.MkdirTemp("", "pare-floors-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(folder)
		node, err := startNodeSlicer(ctx, folder, body)
		if err != nil {
			return nil, err
		}
		defer node.stop()
		contestants = append(contestants, contestant{nodeWork, node.slice})
	}
	medians, err := takeTurns(c.rounds, contestants)
	if err != nil {
		return nil, err
	}
	ratio := func(base, work string) float64 { return float64(medians[base]) / float64(medians[work]) }
	speeds := []speed{{work: checkWork + ", " + shape.String(), base: validWork, ratio: ratio(validWork, checkWork), floor: checkFloor}}
	for _, f := range nodeFloors {
		s := speed{work: f.work + ", " + shape.String(), base: "node: " + nodeWork, floor: f.floor, skipped: skipped}
		if hasNode {
			s.ratio = ratio(nodeWork, f.work)
		}
		speeds = append(speeds, s)
	}
	return speeds, nil
}

// engineWork returns the work of the library on a clean body, and json.Valid.
func engineWork(ctx context.Context, body []byte) ([]contestant, error) {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		return nil, err
	}
	request, err := wire.Parse(body, wire.Options{})
	if err != nil {
		return nil, err
	}
	broken, err := dropMessages(body)
	if err != nil {
		return nil, err
	}
	total := request.Tokens(tokens.For(request.Model()))
	prune := pare.Policy{Rules: standard}
	fix := func(b []byte) error { _, _, err := pare.Fix(b); return err }
	trim := func(limit int) error { _, _, err := pare.Fit(ctx, body, limit); return err }
	return []contestant{
		goWork(validWork, func() error {
			if !json.Valid(body) {
				return errors.New("the body is not valid JSON")
			}
			return nil
		}),
		goWork(checkWork, func() error {
			r, err := wire.Parse(body, wire.Options{})
			if err == nil {
				r.Check(wire.CheckOptions{})
			}
			return err
		}),
		goWork("fix clean", func() error { return fix(body) }),
		goWork("fix broken", func() error { return fix(broken) }),
		goWork("prune", func() error {
			r, err := wire.Parse(body, wire.Options{})
			if err != nil {
				return err
			}
			plan, err := prune.Plan(ctx, r)
			if err != nil {
				return err
			}
			_, err = plan.Apply()
			return err
		}),
		goWork("trim to half", func() error { return trim(total / 2) }),
		goWork("trim to a tenth", func() error { return trim(total / 10) }),
	}, nil
}

// dropMessages returns the body without every hundredth message, so that calls and results
// lose their counterparts.
func dropMessages(body []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	list := "messages"
	if members[list] == nil {
		list = "input"
	}
	var messages, kept []json.RawMessage
	if err := json.Unmarshal(members[list], &messages); err != nil {
		return nil, err
	}
	for i, m := range messages {
		if i%100 != 50 {
			kept = append(kept, m)
		}
	}
	var err error
	if members[list], err = json.Marshal(kept); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}
