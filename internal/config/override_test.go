package config

import (
	"errors"
	"testing"

	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/rules"
)

// TestOnly wants every rule there is to run alone, and pairing to be taken for granted.
func TestOnly(t *testing.T) {
	const own = "[rules.recency]\nturns = 3\nafter = ['mine']\n[[expression]]\nname = 'mine'\nwhen = 'failed'\naction = 'drop'\n"
	names := []string{"mine"}
	for _, e := range rulelist.All() {
		names = append(names, e.Name)
	}
	for _, name := range names {
		for _, file := range []string{own, own + "[pin]\nfirst_user = true\n"} {
			c := mustParse(t, "pare.toml", file)
			if err := c.Only(name, "tool-pairing"); err != nil {
				t.Fatal(err)
			}
			if r := c.Rules(); len(r) != 1 || r[0].Name != name {
				t.Errorf("Only(%q) lets %d rules run", name, len(r))
			}
		}
	}
	c := mustParse(t, "pare.toml", "keep_recent = 3")
	if err := c.Only("deduplication"); err != nil || len(c.Rules()) != 1 {
		t.Errorf("%v, %d rules", err, len(c.Rules()))
	}
	var unknown *UnknownRuleError
	if err := Default().Only("recency", "dedup"); !errors.As(err, &unknown) || unknown.Hint() != "did you mean deduplication?" {
		t.Errorf("got %v", err)
	}
}

// TestRecent wants the caller's word to count over what the file says.
func TestRecent(t *testing.T) {
	for _, file := range []string{"", "keep_recent = 3", "[rules.recency]\nturns = 3", "[rules.recency]\nenabled = false"} {
		c := mustParse(t, "pare.toml", file)
		c.Recent(5)
		o := c.options(mustNamed(t, "recency")).(*rules.Recency)
		if _, err := c.Pipeline(); err != nil || o.Turns != nil || o.Messages == nil || *o.Messages != 5 || len(c.Rules()) != 4 {
			t.Errorf("%s: %+v, %v", file, o, err)
		}
	}
}

func mustNamed(t *testing.T, name string) rulelist.Entry {
	t.Helper()
	e, ok := rulelist.Named(name)
	if !ok {
		t.Fatal(name)
	}
	return e
}
