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
// are several, and the curves of the first 40. The verdict comes first. The page
// needs nothing but itself.
func WriteHTML(w io.Writer, all []*Result) error {
	p := &page{bufio.NewWriter(w)}
	p.print(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pare replay</title>
<style>
`, style(), `</style>
</head>
<body>
<main>
<h1>What each policy would have sent</h1>
`)
	for i, line := range verdictOf(all) {
		class := "said"
		if i == 0 {
			class = "said verdict"
		}
		p.print("<p class=\"", class, "\"><bdi>", html.EscapeString(line), "</bdi></p>\n")
	}
	p.legend(all)
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
		p.print("<p class=\"note\">Curves are drawn for the first ", strconv.Itoa(maxCurves), " histories.</p>\n")
	}
	p.print("</main>\n</body>\n</html>\n")
	return p.Flush()
}

func verdictOf(all []*Result) []string {
	if v := Judge(all, Served); v != nil {
		return v.Lines
	}
	return nil
}

// columns say what the columns of the tables mean.
var columns = [][2]string{
	{"cached", "share of the tokens that are read from the cache"},
	{"net", "money, with what it costs to read again what was removed and is needed"},
	{"refused", "requests that the provider would not have accepted"},
	{"did not fit", "requests that could not be made to fit and were sent as they were"},
	{"rewrites", "requests that do not begin with the one before, so that something is written to the cache again"},
	{"blind edits", "edits of which a line that they replace had been shown, and is nowhere in what was sent"},
	{"names unseen", "calls with an identifier, a part of a path or a number of which that is true"},
	{"missed", "share of the calls that are one of these"},
	{"losing", "histories that cost more than with the first policy, net"},
}

// kindsOfPolicy say what a policy does, by the first part of its name.
var kindsOfPolicy = map[string]string{
	"everything": "sends all, as an agent does that cuts nothing", "sliding": "the last messages that fit, cut anywhere",
	"keep": "all results but the last ones are hidden", "mask": "all results but the last ones are hidden, above a limit", "shorten": "results are shortened as they arrive",
	"trim": "pare trim: made to fit, oldest results first", "prune": "pare prune: what the rules call superfluous is dropped",
}

// legend says which line is which policy, and what the columns mean.
func (p *page) legend(all []*Result) {
	if len(all) == 0 {
		return
	}
	p.print("<section class=\"legend\"><div><h2>Policies</h2>\n<dl>\n")
	for i, run := range all[0].Runs {
		kind, flags, _ := strings.Cut(run.Policy, ":")
		says := kindsOfPolicy[kind]
		if flags != "" {
			says += "; " + flags
		}
		p.print("<dt>", swatch(i), "<bdi>", html.EscapeString(run.Policy), "</bdi></dt><dd>", html.EscapeString(says), "</dd>\n")
	}
	p.print("</dl></div>\n<details><summary>What the columns mean</summary>\n<dl>\n")
	for _, c := range columns {
		p.print("<dt>", c[0], "</dt><dd>", c[1], "</dd>\n")
	}
	p.print("</dl></details></section>\n")
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
	p.print("</svg><p class=\"areas\"><span class=\"area read\"></span> read from the cache <span class=\"area fresh\"></span> written to it, or plain input</p></figure>\n")
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
	b.WriteString(`:root { color-scheme: light dark; --paper: light-dark(#f7f6f3, #131519); --surface: light-dark(#ffffff, #1a1d23); --line: light-dark(#e2dfd8, #2d323b);
--ink: light-dark(#1c1e22, #e8e7e4); --muted: light-dark(#5b5f68, #a3a9b4); --accent: light-dark(#2456c4, #8ab1ff); --read: light-dark(#9ec5f4, #245a9c); --fresh: light-dark(#eb6834, #e5743f);
--sans: "Inter", "SF Pro Text", "Segoe UI", "Helvetica Neue", Arial, "Noto Sans", sans-serif;`)
	for i := range light {
		fmt.Fprintf(&b, " --c%d: light-dark(%s, %s);", i, light[i], dark[i])
	}
	b.WriteString(` }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 0.875rem/1.5 var(--sans); }
main { max-width: 96rem; margin: 0 auto; padding: 1.25rem 1.5rem 4rem; }
h1 { font-size: 1.375rem; font-weight: 650; letter-spacing: -0.015em; margin: 0 0 0.5rem; }
h2 { font-size: 0.9375rem; font-weight: 600; margin: 2.25rem 0 0.5rem; overflow-wrap: anywhere; }
.said { margin: 0.2rem 0; max-width: 60rem; color: var(--muted); } .verdict { font-size: 1.125rem; color: var(--ink); font-weight: 550; }
.legend { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 0.5rem 3rem; margin: 1rem 0; font-size: 0.8125rem; }
.legend h2, summary { font-size: 0.75rem; font-weight: 600; color: var(--muted); margin: 0 0 0.35rem; cursor: default; } summary { cursor: pointer; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.15rem 1rem; margin: 0; } dt { font-weight: 550; } dd { margin: 0; color: var(--muted); }
.wide { overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 0.3rem 0.4rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; font-size: 0.8125rem; }
th, td { text-align: right; padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); white-space: nowrap; } tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; } th { color: var(--muted); font-weight: 600; font-size: 0.75rem; }
.note, figcaption, .areas { color: var(--muted); font-size: 0.8125rem; } .areas { margin: 0.1rem 0 0; }
.area { display: inline-block; width: 0.7rem; height: 0.7rem; border-radius: 3px; margin-left: 0.6rem; } .area:first-child { margin-left: 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: 1.25rem; margin-top: 1rem; }
figure { margin: 0; } svg { width: 100%; height: auto; } svg.key { width: 24px; height: 8px; margin-right: 8px; }
.grid { stroke: var(--line); } .limit { stroke: var(--muted); stroke-dasharray: 2 4; }
.tick { fill: var(--muted); font-size: 11px; } .right { text-anchor: end; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.d1 { stroke-dasharray: 8 3; } .d2 { stroke-dasharray: 2 3; } .d3 { stroke-dasharray: 9 3 2 3; }
.read { fill: var(--read); background: var(--read); } .fresh { fill: var(--fresh); background: var(--fresh); }
`)
	for i := range light {
		fmt.Fprintf(&b, ".c%d { stroke: var(--c%d); }", i, i)
	}
	b.WriteByte('\n')
	return b.String()
}
