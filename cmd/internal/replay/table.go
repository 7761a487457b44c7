package replay

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/plain"
)

// Title says in one line what was replayed.
func (r *Result) Title() string {
	var b strings.Builder
	if r.Source != "" {
		b.WriteString(r.Source + ": ")
	}
	if r.Histories != 1 {
		fmt.Fprintf(&b, "%s, %s, %s tokens at their ends", plural(r.Histories, "history", "histories"), r.requests(), grouped(r.Tokens))
	} else {
		fmt.Fprintf(&b, "%s, %s tokens at the end", r.requests(), grouped(r.Tokens))
	}
	if r.Model != "" {
		b.WriteString(", " + r.Model)
	}
	if r.Limit > 0 {
		fmt.Fprintf(&b, "; limit %s, low mark %s", grouped(r.Limit), grouped(r.Low))
	}
	return plain.Line(b.String())
}

// requests says how many were replayed, and of how many each is one.
func (r *Result) requests() string {
	n := plural(r.Requests, "request", "requests")
	if r.Every > 1 {
		n += fmt.Sprintf(" (one of every %d)", r.Every)
	}
	return n
}

// rows are the table, with its head; all columns but the first are numbers.
func (r *Result) rows() [][]string {
	head := []string{"policy", "tokens sent", "cached", "money", "", "net", "refused", "did not fit", "changed", "rewrites", "blind edits", "names unseen", "missed", "losing"}
	if len(r.Runs) > 0 {
		head[4] = "vs. " + plain.Line(r.Runs[0].Policy)
		if r.Runs[0].Policy == "everything" {
			head[4] = "vs. sending all"
		}
	}
	rows := [][]string{head}
	for i := range r.Runs {
		run := &r.Runs[i]
		rows = append(rows, []string{
			plain.Line(run.Policy), grouped(run.Sent), percent(float64(run.Read), float64(run.Sent)), r.money(run), r.ofFirst(run), r.net(run),
			grouped(run.Refused), grouped(run.Unfit), grouped(run.Changed), grouped(run.Rewrites),
			fmt.Sprintf("%d/%d", run.Blind, r.Edits), fmt.Sprintf("%d/%d", run.Unseen, r.Calls), percent(float64(run.Missed), float64(r.Calls)), grouped(run.Dearer),
		})
	}
	return rows
}

// money is what a run costs.
func (r *Result) money(run *Run) string {
	if r.Priced == 0 {
		return "–"
	}
	return Dollars(run.Money)
}

// ofFirst compares a run with the first: by money, or by weight where there is none.
func (r *Result) ofFirst(run *Run) string {
	if r.Priced == 0 {
		return percent(run.Weight, r.Runs[0].Weight)
	}
	return percent(run.Money, r.Runs[0].Money)
}

// net compares a run with the first, with what has to be read again.
func (r *Result) net(run *Run) string {
	if r.Priced == 0 {
		return percent(run.Netted, r.Runs[0].Netted)
	}
	return percent(run.Net, r.Runs[0].Net)
}

// Notes say what the table cannot: what is missing from the money, and why requests
// would have been refused.
func (r *Result) Notes() []string {
	var all []string
	switch {
	case r.Priced == 0 && r.Histories > 0:
		all = append(all, "No list price is known, so runs are compared by weight: tokens of input, cached ones by what they cost; output left aside.")
	case r.Priced < r.Histories:
		all = append(all, fmt.Sprintf("Money is that of the %d histories whose model has a list price.", r.Priced))
	}
	for i := range r.Runs {
		if run := &r.Runs[i]; run.Refused > 0 {
			var why []string
			for _, x := range run.Reasons {
				why = append(why, fmt.Sprintf("%s %s", x.Rule, grouped(x.Requests)))
			}
			all = append(all, plain.Line(fmt.Sprintf("Refused with %s: %s.", run.Policy, strings.Join(why, ", "))))
		}
	}
	return all
}

// Table is the result for a terminal.
func (r *Result) Table() string {
	rows := r.rows()
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	b.WriteString(r.Title() + "\n")
	for _, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				b.WriteString("  " + cell + pad)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteByte('\n')
	}
	for _, n := range r.Notes() {
		b.WriteString("  " + n + "\n")
	}
	return b.String()
}

// Markdown is the result as a table of Markdown.
func (r *Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Title())
	for i, row := range r.rows() {
		for j, cell := range row {
			if i > 0 && j == 0 {
				cell = "`" + cell + "`"
			}
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("| --- |" + strings.Repeat(" --: |", len(row)-1) + "\n")
		}
	}
	for i, n := range r.Notes() {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(n + "\n")
	}
	return b.String()
}

// Dollars writes an amount of money with as many digits as say something.
func Dollars(d float64) string {
	switch {
	case d >= 1 || d == 0:
		return fmt.Sprintf("$%.2f", d)
	case d >= 0.01:
		return fmt.Sprintf("$%.4f", d)
	}
	return fmt.Sprintf("$%.6f", d)
}

func percent(part, whole float64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}

func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}
