package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
	page, _ := planned(t, session(t), "session.json", wire.Repair{})
	plan := file(t, page)
	lr := parse(t, long(5000))
	thousands := file(t, New(lr, options(lr, "long.json")))
	live := httptest.NewServer(TrafficHandler(someTraffic(t)))
	t.Cleanup(live.Close)
	type shot struct {
		name, url     string
		width, height int
		scheme        string
		act           func(*tab)
	}
	everything := file(t, deeds(t))
	compacted := deeds(t)
	compacted.Before.Messages[0].Summary = true
	compacted.Before.Messages[0].Blocks[0].Text = "This session is being continued from a previous conversation.\n\n1. The login tests compare the wall clock with itself\n2. **No globals**: the tests run in parallel"
	compacted.Thread, compacted.Others = "main", []Thread{{Name: "side a7", What: "sub-agent", Side: Side{Messages: []Message{}}}, {Name: "dormant", Side: Side{Messages: []Message{}}}}
	shots := []shot{
		{"opened-light", everything, 1360, 1500, "light", func(p *tab) { p.press("o") }},
		{"opened-dark", everything, 1360, 1500, "dark", func(p *tab) { p.press("o") }},
		{"opened-narrow", everything, 420, 1500, "light", func(p *tab) { p.press("o") }},
		{"compacted-light", file(t, compacted), 1360, 860, "light", func(p *tab) {}},
		{"hostile-dark", file(t, evilPage(t)), 1360, 860, "dark", func(p *tab) { p.press("o") }},
		{"long-dark", thousands, 1360, 860, "dark", func(p *tab) { p.press("G") }},
		{"traffic-dark", live.URL + "/", 1360, 860, "dark", unfold},
		{"traffic-narrow", live.URL + "/", 420, 1200, "light", unfold},
		{"long-light", thousands, 1360, 860, "light", func(p *tab) { p.press("n", "n") }},
		{"top-light", plain, 1360, 860, "light", func(p *tab) {}},
		{"faults-light", plain, 1360, 860, "light", func(p *tab) { p.press("n") }},
		{"plan-light", plan, 1360, 860, "light", func(p *tab) { p.press("c", "c", "c") }},
		{"after-dark", plan, 1360, 860, "dark", func(p *tab) { p.press("n", "b") }},
		{"traffic-light", live.URL + "/", 1360, 860, "light", unfold},
		{"narrow-light", plan, 420, 860, "light", func(p *tab) { p.press("n") }},
	}
	// The page after a day of use, as TestDay of internal/serve has written it.
	if file := os.Getenv("PARE_DAY"); file != "" {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		day := new(passing)
		if err := json.Unmarshal(raw, &day.now); err != nil {
			t.Fatal(err)
		}
		after := httptest.NewServer(TrafficHandler(day))
		t.Cleanup(after.Close)
		shots = []shot{{"day-light", after.URL + "/", 1360, 860, "light", func(p *tab) {}}}
	}
	for _, s := range shots {
		p := b.open(t, s.url, s.width, s.height, s.scheme)
		s.act(p)
		p.settled()
		raw := p.screenshot()
		if len(raw) < 10_000 {
			t.Errorf("%s: an empty picture", s.name)
		}
		if err := os.MkdirAll("../../../docs/view", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("../../../docs/view", s.name+".png"), small(t, raw), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// unfold opens a conversation of the live page.
func unfold(p *tab) {
	p.until("document.body.innerText.includes('Add a discount code')")
	p.eval("[...document.querySelectorAll('.talk-head')].at(-1).click()", nil)
}

// small writes a picture with the 256 colours that it uses most, the others as the
// nearest of them. Pages have few colours, so nobody sees a difference.
func small(t *testing.T, raw []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	uses := map[color.RGBA]int{}
	box := img.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA) }
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			uses[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(uses), func(a, b color.RGBA) int {
		return cmp.Or(uses[b]-uses[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var palette color.Palette
	for _, c := range all[:min(256, len(all))] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
