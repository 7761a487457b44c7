package main

import (
	"fmt"
	"slices"
	"strings"
)

// opinionTable returns a table with a column for each session and a line for each damage, and
// a sentence on how often the opinions came true.
func opinionTable(rows []opinion) (table, sum string) {
	var kinds, damages []string
	cells := map[[2]string]string{}
	asked, right, kind, clean, remedies, faults := 0, 0, 0, 0, 0, 0
	for _, o := range rows {
		if o.predicted == "" {
			continue
		}
		if !slices.Contains(kinds, o.session) {
			kinds = append(kinds, o.session)
		}
		if !slices.Contains(damages, o.damage) {
			damages = append(damages, o.damage)
		}
		cells[[2]string{o.session, o.damage}] = o.cell()
		remedy := strings.HasPrefix(o.damage, "after ")
		if !remedy {
			asked++
			if o.cameTrue() {
				right++
			}
			if o.isTooHopeful() {
				kind++
			}
		}
		if o.remedy != "" && o.remedy != "not repaired" || remedy {
			remedies++
			if len(o.faults) == 0 && (!remedy || o.happened == whole) {
				clean++
			}
		}
		if len(o.faults) > 0 {
			faults++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| damage | %s |\n|%s\n", strings.Join(kinds, " | "), strings.Repeat(" --- |", len(kinds)+1))
	for _, d := range damages {
		fmt.Fprintf(&b, "| %s |", d)
		for _, k := range kinds {
			cell := cells[[2]string{k, d}]
			if cell == "" {
				cell = noCell
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String(), fmt.Sprintf("asked %d; right %d, too hopeful %d, too gloomy %d; %d of %d repaired or shortened sessions are clean; other faults %d", asked, right, kind, asked-right-kind, clean, remedies, faults)
}
