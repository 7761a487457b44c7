package config_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/rules"
)

// TestCold: rules for cold moments are off unless somebody asks for them, and then the window is a
// stable one.
func TestCold(t *testing.T) {
	for file, want := range map[string]int{"[window]\ntokens = 1000": 0, "[window]\ncold = true": 50, "[window]\ncold = true\nlow = \"70%\"": 70} {
		c, err := config.Parse("pare.toml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Policy(nil)
		if err != nil {
			t.Fatal(err)
		}
		if w := p.Window; (w.ColdRules != nil) != (want > 0) || w.LowPercent != want || w.Cold != nil {
			t.Errorf("%s: %+v", file, w)
		}
	}
	for _, file := range []string{"[window]\ncold = true\nturns = 3", "[window]\ncold = true\norder = \"middle\""} {
		c, err := config.Parse("pare.toml", []byte(file))
		if err == nil {
			_, err = c.Policy(nil)
		}
		if err == nil || !strings.Contains(err.Error(), "window.cold") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestCutWhenFree: one switch for both; what the file says of either stays, and so does the original.
func TestCutWhenFree(t *testing.T) {
	for file, want := range map[string]struct{ low, bytes int }{
		"":                         {70, 0},
		"[window]\ntokens = 90000": {50, 0},
		"[window]\nlow = \"30%\"\n[rules.oversized]\nmax_bytes = 5000": {30, 5000},
	} {
		c, err := config.Parse("pare.toml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		cut := c.Clone()
		cut.CutWhenFree(config.Mark{Percent: 70})
		p, err := cut.Policy(nil)
		if err != nil {
			t.Fatal(err)
		}
		o := cut.Standard["oversized"].Options.(*rules.Oversized)
		if p.Window.ColdRules == nil || p.Window.LowPercent != want.low || !o.Arrival || o.MaxBytes != want.bytes {
			t.Errorf("%q: %+v, %+v", file, p.Window, o)
		}
		if t2 := c.Standard["oversized"]; c.Window != nil && c.Window.Cold || t2 != nil && t2.Options.(*rules.Oversized).Arrival {
			t.Errorf("%q: the original has changed", file)
		}
	}
}
