package paretest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

type collector struct {
	testing.TB
	got map[string]string
	n   map[string]int
	ctx string
}

func (c *collector) Helper() {}

var digits = regexp.MustCompile(`\d+`)

func (c *collector) Errorf(f string, a ...any) {
	msg := fmt.Sprintf(f, a...)
	k := digits.ReplaceAllString(strings.SplitN(msg, "\n", 2)[0], "N")
	if i := strings.Index(k, "["); i > 0 {
		k = k[:i]
	}
	if len(k) > 200 {
		k = k[:200]
	}
	k = c.ctx + " :: " + k
	c.n[k]++
	if old, ok := c.got[k]; !ok || len(msg) < len(old) {
		c.got[k] = msg
	}
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	n := 300
	c := &collector{TB: t, got: map[string]string{}, n: map[string]int{}}
	for seed := range uint64(n) {
		s := Random(seed, GenOptions{Turns: 1 + int(seed%3), Steps: 2})
		c.ctx = "clean"
		CheckClean(c, s)
		CheckDialects(c, s)
		r := rand.New(rand.NewPCG(seed, 1))
		b, _ := Break(r, s)
		for _, d := range wire.Dialects() {
			c.ctx = "clean " + d.String()
			CheckAppending(c, s, d)
			for i, x := range []Script{s, b} {
				c.ctx = fmt.Sprint("break ", i, d)
				CheckRenaming(c, x, d)
				body := x.Render(d, RenderOptions{})
				CheckReading(c, body, wire.Options{})
				CheckSpelling(c, body, wire.Options{Dialect: d})
				CheckModes(c, body, wire.Options{})
				CheckBare(c, body, wire.Options{Dialect: d})
			}
			body := s.Render(d, RenderOptions{})
			for range 4 {
				cor, did := Corrupt(r, body)
				if strings.Contains(did, "byte") {
					did = "bytes"
				}
				c.ctx = "corrupt " + d.String()
				CheckReading(c, cor, wire.Options{Dialect: d})
				CheckModes(c, cor, wire.Options{Dialect: d})
				CheckSpelling(c, cor, wire.Options{Dialect: d})
				CheckBare(c, cor, wire.Options{Dialect: d})
				CheckRepeatedKeys(c, cor, wire.Options{Dialect: d})
				CheckReading(c, cor, wire.Options{})
				body = cor
			}
		}
	}
	var keys []string
	for k := range c.got {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Printf("=== %d %s\n%.1500s\n", c.n[k], k, c.got[k])
	}
}
