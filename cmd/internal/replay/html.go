package replay

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
)

// maxCurves bounds the histories whose curves a page shows; the tables have all.
const maxCurves = 40

// WriteHTML writes a page with the tables of all results, their sum first if there
// are several, and the curves of the first 40. The page needs nothing but itself.
func WriteHTML(w io.Writer, all []*Result) error {
	p := &page{bufio.NewWriter(w)}
	p.print(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pare replay</title>
<style>
`, style(), `</style>
</head>
<body>
<main>
<h1>pare replay</h1>
<p class="note">A history, request by request, as each policy would have sent it. Cached: share of the tokens that are read from the cache.
Refused: requests that the provider would not have accepted. Over limit: requests that could not be made to fit and were sent as they were.
Rewrites: requests that do not begin with the one before, so that something is written to the cache again.
Blind edits: those of which a line that they replace had been shown, and is nowhere in what was sent. Names unseen: calls with
an identifier, a part of a path or a number of which that is true. Missed: the share of calls that are one of these. Net: money with
what it costs to read that again. Losing: histories that cost more than with the first policy, net.</p>
`)
	if len(all) == 0 {
		p.print("<p>Nothing was replayed.</p>\n")
	}
	if len(all) > 1 {
		p.section(Sum("All", all))
	}
	for i, r := range all {
		p.section(r)
		if i < maxCurves {
			p.curves(r)
		}
	}
	if len(all) > maxCurves {
		p.print("<p>Curves are drawn for the first ", strconv.Itoa(maxCurves), " histories.</p>\n")
	}
	p.print("</main>\n</body>\n</html>\n")
	return p.Flush()
}

type page struct{ *bufio.Writer }

func (p *page) print(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// section writes the table of a result.
func (p *page) section(r *Result) {
	p.print("<h2>", html.EscapeString(r.Title()), "</h2>\n<div class=\"wide\"><table>\n")
	for i, row := range r.rows() {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		p.print("<tr>")
		for j, cell := range row {
			key := ""
			if i > 0 && j == 0 {
				key = swatch(i - 1)
			}
			p.print("<", tag, ">", key, html.EscapeString(cell), "</", tag, ">")
		}
		p.print("</tr>\n")
	}
	p.print("</table></div>\n")
	for _, n := range r.Notes() {
		p.print("<p class=\"note\">", html.EscapeString(n), "</p>\n")
	}
}

func swatch(i int) string {
	return fmt.Sprintf(`<svg class="key" viewBox="0 0 24 8" aria-hidden="true"><line x1="0" y1="4" x2="24" y2="4" class="%s"/></svg>`, lineClass(i))
}

// lineClass gives each policy a colour, and a dash for those who do not see colours.
func lineClass(i int) string { return fmt.Sprintf("line c%d d%d", i%colours, i%dashes) }

const (
	colours = 8
	dashes  = 4
)

// curves draws tokens and money of all policies, and what the cache did for each.
func (p *page) curves(r *Result) {
	if r.Requests < 2 {
		return
	}
	var sent, money []curve
	for i, run := range r.Runs {
		s, m := curve{name: run.Policy, class: lineClass(i)}, curve{name: run.Policy, class: lineClass(i)}
		total := 0.0
		for j := range run.Steps {
			step := &run.Steps[j]
			s.y = append(s.y, float64(step.Sent))
			if r.Priced > 0 {
				total += step.money
			} else {
				total += step.weight(r.Cache)
			}
			m.y = append(m.y, total)
		}
		sent, money = append(sent, s), append(money, m)
	}
	p.print("<div class=\"charts\">\n")
	p.lines("Tokens sent, request by request", sent, r.Limit, func(v float64) string { return short(v) })
	if r.Priced > 0 {
		p.lines("Money so far, in US dollars", money, 0, Dollars)
	} else {
		p.lines("Weighted tokens of input so far", money, 0, short)
	}
	for i := range r.Runs {
		p.stack(&r.Runs[i])
	}
	p.print("</div>\n")
}

func (s *Step) weight(b Billing) float64 {
	return float64(1000*s.Input+b.Read*s.Read+b.Write*s.Written) / 1000
}

// A curve is one line of a chart, a value for each request.
type curve struct {
	name, class string
	y           []float64
}

// The size of a chart, and its margins.
const (
	chartWide, chartHigh        = 560.0, 220.0
	marginLeft, marginRight     = 64.0, 8.0
	marginTop, marginBottom     = 10.0, 22.0
	maxPoints               int = 500
)

// A frame maps values to places.
type frame struct {
	n   int     // requests
	top float64 // the greatest value
}

func (f frame) x(i int) string {
	at := marginLeft
	if f.n > 1 {
		at += float64(i) * (chartWide - marginLeft - marginRight) / float64(f.n-1)
	}
	return coordinate(at)
}

func (f frame) y(v float64) string {
	return coordinate(chartHigh - marginBottom - v/f.top*(chartHigh-marginTop-marginBottom))
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// picks are the requests that are drawn: all, or evenly spread ones with the last.
func (f frame) picks(yield func(i int) bool) {
	step := 1 + (f.n-1)/maxPoints
	for i := 0; i < f.n-1; i += step {
		if !yield(i) {
			return
		}
	}
	yield(f.n - 1)
}

// open begins a chart with its axes.
func (p *page) open(title string, f frame, write func(float64) string) {
	fmt.Fprintf(p, "<figure><figcaption>%s</figcaption><svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">\n", html.EscapeString(title), chartWide, chartHigh, html.EscapeString(title))
	for i := range 4 {
		v := f.top * float64(i) / 3
		fmt.Fprintf(p, "<line class=\"grid\" x1=\"%g\" y1=\"%s\" x2=\"%g\" y2=\"%s\"/><text x=\"%g\" y=\"%s\" class=\"tick right\" dy=\"4\">%s</text>\n",
			marginLeft, f.y(v), chartWide-marginRight, f.y(v), marginLeft-6, f.y(v), html.EscapeString(write(v)))
	}
	fmt.Fprintf(p, "<text class=\"tick\" x=\"%g\" y=\"%g\">1</text><text class=\"tick right\" x=\"%g\" y=\"%g\">request %d</text>\n",
		marginLeft, chartHigh-6, chartWide-marginRight, chartHigh-6, f.n)
}

// lines draws one chart with a line for each policy.
func (p *page) lines(title string, all []curve, limit int, write func(float64) string) {
	f := frame{top: float64(limit)}
	for _, c := range all {
		f.n = max(f.n, len(c.y))
		for _, v := range c.y {
			f.top = max(f.top, v)
		}
	}
	if f.top == 0 {
		return
	}
	if limit > 3*int(greatest(all)) { // a limit far above would flatten the curves
		limit, f.top = 0, greatest(all)
	}
	p.open(title, f, write)
	if limit > 0 {
		y := f.y(float64(limit))
		fmt.Fprintf(p, "<line class=\"limit\" x1=\"%g\" y1=\"%s\" x2=\"%g\" y2=\"%s\"><title>the limit, %s</title></line>\n", marginLeft, y, chartWide-marginRight, y, grouped(limit))
	}
	for _, c := range all {
		var points []string
		for i := range f.picks {
			points = append(points, f.x(i)+","+f.y(c.y[i]))
		}
		last := c.y[len(c.y)-1]
		fmt.Fprintf(p, "<polyline class=\"%s\" points=\"%s\"><title>%s: %s at the end</title></polyline>\n", c.class, strings.Join(points, " "), html.EscapeString(c.name), html.EscapeString(write(last)))
	}
	p.print("</svg></figure>\n")
}

func greatest(all []curve) float64 {
	top := 0.0
	for _, c := range all {
		for _, v := range c.y {
			top = max(top, v)
		}
	}
	return top
}

// stack draws what of each request was cached and what was not.
func (p *page) stack(run *Run) {
	f := frame{n: len(run.Steps)}
	for i := range run.Steps {
		f.top = max(f.top, float64(run.Steps[i].Sent))
	}
	if f.top == 0 {
		return
	}
	p.open(run.Policy+": read from the cache, and written or plain", f, short)
	area := func(class, name string, low, high func(*Step) float64) {
		var there, back []string
		for i := range f.picks {
			s := &run.Steps[i]
			there = append(there, f.x(i)+","+f.y(high(s)))
			back = append(back, f.x(i)+","+f.y(low(s)))
		}
		for i := len(back) - 1; i >= 0; i-- {
			there = append(there, back[i])
		}
		fmt.Fprintf(p, "<polygon class=\"%s\" points=\"%s\"><title>%s</title></polygon>\n", class, strings.Join(there, " "), name)
	}
	zero := func(*Step) float64 { return 0 }
	read := func(s *Step) float64 { return float64(s.Read) }
	sent := func(s *Step) float64 { return float64(s.Sent) }
	area("read", "read from the cache", zero, read)
	area("fresh", "written to the cache, or plain input", read, sent)
	p.print("</svg></figure>\n")
}

// short writes a number of tokens for an axis.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%.1fk", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func style() string {
	light := []string{"#2a78d6", "#eb6834", "#1baf7a", "#4a3aa7", "#d6538d", "#b07800", "#008300", "#e34948"}
	dark := []string{"#5598e7", "#e5743f", "#2fbf8c", "#9085e9", "#e07ba7", "#d99b1c", "#3fae3f", "#e66767"}
	var b strings.Builder
	b.WriteString(`:root { color-scheme: light dark; --page: #ffffff; --text: #1d1d1b; --faint: #6b6a64; --grid: #e3e2dc; --read: #9ec5f4; --fresh: #eb6834;`)
	for i, c := range light {
		fmt.Fprintf(&b, " --c%d: %s;", i, c)
	}
	b.WriteString(" }\n@media (prefers-color-scheme: dark) { :root { --page: #1a1a19; --text: #f0efe9; --faint: #a3a29a; --grid: #383835; --read: #184f95; --fresh: #e5743f;")
	for i, c := range dark {
		fmt.Fprintf(&b, " --c%d: %s;", i, c)
	}
	b.WriteString(` } }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 16px; }
h1 { font-size: 22px; } h2 { font-size: 16px; margin-top: 36px; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 3px 10px; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { color: var(--faint); font-weight: 500; }
.note, figcaption { color: var(--faint); font-size: 13px; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: 12px; margin-top: 12px; }
figure { margin: 0; } svg { width: 100%; height: auto; } svg.key { width: 24px; height: 8px; margin-right: 8px; }
.grid { stroke: var(--grid); } .limit { stroke: var(--faint); stroke-dasharray: 2 4; }
.tick { fill: var(--faint); font-size: 11px; } .right { text-anchor: end; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.d1 { stroke-dasharray: 8 3; } .d2 { stroke-dasharray: 2 3; } .d3 { stroke-dasharray: 9 3 2 3; }
.read { fill: var(--read); } .fresh { fill: var(--fresh); }
`)
	for i := range light {
		fmt.Fprintf(&b, ".c%d { stroke: var(--c%d); }", i, i)
	}
	b.WriteByte('\n')
	return b.String()
}
