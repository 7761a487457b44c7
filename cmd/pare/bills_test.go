package main

import (
	"math"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/trial"
)

func TestBillsRequestByRequest(t *testing.T) {
	step := trial.SparseStride(6)
	for agent, parts := range recordedParts(t) {
		t.Run(agent, func(t *testing.T) {
			var all replay.Bills
			for i := 0; i < len(parts); i += step {
				everything, err := replay.ParsePolicy("everything", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				result, err := replay.Replay(parts[i].request, replay.Options{Recording: parts[i].Recording, Policies: []replay.Policy{everything}})
				if err != nil {
					t.Fatal(err)
				}
				if result.Bills.Money > 0 {
					all.Add(&result.Bills)
				}
			}
			if all.Requests == 0 {
				t.Fatal("nothing was billed")
			}
			t.Logf("%d requests, %.2f dollars billed, %.2f counted, within 2 %%: %d", all.Requests, all.Money, all.Paid, all.PaidNear)
			if all.PaidNear*100 < 97*all.Requests || math.Abs(all.Paid-all.Money) > all.Money/100 {
				t.Errorf("of %d requests %d are counted as they were billed; %.2f dollars for %.2f", all.Requests, all.PaidNear, all.Paid, all.Money)
			}
		})
	}
}
