package main

import "testing"

// TestOpinions checks that a prediction is right if it comes true, that a client which repairs
// a session loses nothing, and that broken promises are counted separately from unnecessary
// warnings.
func TestOpinions(t *testing.T) {
	for _, c := range []struct {
		says, does  string
		right, kind bool
	}{
		{whole, whole, true, false}, {"repairs", whole, true, false}, {forgets, forgets, true, false},
		{whole, dead, false, true}, {"repairs", forgets, false, true}, {whole, full, false, true},
		{dead, whole, false, false}, {forgets, whole, false, false},
	} {
		o := opinion{predicted: c.says, happened: c.does}
		if o.cameTrue() != c.right || o.isTooHopeful() != c.kind {
			t.Errorf("%s, %s: right %v, too kind %v", c.says, c.does, o.cameTrue(), o.isTooHopeful())
		}
	}
}

func TestOpinionTableCountsPromises(t *testing.T) {
	table, sum := opinionTable([]opinion{
		{session: "one", damage: none, predicted: whole, happened: whole, count: "8/8"},
		{session: "two", damage: overfull, predicted: whole, happened: full, count: "7 of 8 tokens"},
		{session: "one", damage: "after trim", predicted: whole, happened: whole},
	})
	want := "| damage | one | two |\n| --- | --- | --- |\n| none | resumes 8/8 | – |\n| too long | – | resumes, **but full** 7 of 8 tokens |\n| after trim | resumes | – |\n"
	if table != want {
		t.Errorf("got\n%s\nwant\n%s", table, want)
	}
	if want := "asked 2; right 1, too hopeful 1, too gloomy 0; 1 of 1 repaired or shortened sessions are clean; other faults 0"; sum != want {
		t.Errorf("got %s, want %s", sum, want)
	}
}
