package config_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/config"
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
