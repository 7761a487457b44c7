package ui

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/pare-llm/pare/wire"
)

var update = flag.Bool("update", false, "write the screenshots of docs/view")

// TestScreenshots takes the pictures that docs/ shows.
func TestScreenshots(t *testing.T) {
	if !*update {
		t.Skip("the pictures are taken with -update only")
	}
	b := startBrowser(t)
	r := parse(t, session(t))
	plain := file(t, New(r, options(r, "session.json")))
	page, _ := planned(t, session(t), "session.json", wire.Policy{})
	plan := file(t, page)
	lr := parse(t, long(5000))
	thousands := file(t, New(lr, options(lr, "long.json")))
	for _, s := range []struct {
		name, url     string
		width, height int
		scheme        string
		act           func(*tab)
	}{
		{"long-light", thousands, 1360, 860, "light", func(p *tab) { p.press("n", "n") }},
		{"top-light", plain, 1360, 860, "light", func(p *tab) {}},
		{"faults-light", plain, 1360, 860, "light", func(p *tab) { p.press("n") }},
		{"plan-light", plan, 1360, 860, "light", func(p *tab) { p.press("c", "c", "c") }},
		{"after-dark", plan, 1360, 860, "dark", func(p *tab) { p.press("n", "b") }},
		{"narrow-light", plan, 420, 860, "light", func(p *tab) { p.press("n") }},
	} {
		p := b.open(t, s.url, s.width, s.height, s.scheme)
		s.act(p)
		p.settled()
		raw := p.screenshot()
		if len(raw) < 10_000 {
			t.Errorf("%s: an empty picture", s.name)
		}
		if err := os.MkdirAll("../docs/view", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("../docs/view", s.name+".png"), small(t, raw), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// small writes a picture again as tightly as PNG allows.
func small(t *testing.T, raw []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
