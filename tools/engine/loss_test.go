package engine

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// TestSummariesDescribeTheirLoss checks that the first line of each summary gives the blocks and
// bytes that it replaces, its own size, and the handle of the content.
func TestSummariesDescribeTheirLoss(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talkOf(t, d, 12)
		for i, text := range []string{gist, "more\nthan one line"} {
			c := pare.Compactor{Summarize: says(text), MinKeep: 8 - 4*i, Options: pare.CompactOptions{Archived: i == 1}}
			before := len(r.Transcript().Blocks())
			plan, err := planner.Compact(context.Background(), &c, r)
			if err != nil {
				t.Fatalf("%s: %v", d, err)
			}
			var lines [][]string
			for _, u := range utterances(t, d, plan.Result().Raw()) {
				lines = append(lines, lossLine.FindAllStringSubmatch(u.text, -1)...)
			}
			if len(lines) != i+1 {
				t.Fatalf("%s: %q after %d compactions", d, lines, i+1)
			}
			bytes, items := 0, plan.Archive()
			for _, item := range items {
				bytes += len(item.Raw)
			}
			blocks := before - len(plan.Result().Transcript().Blocks()) + 1 - i
			line := lines[i]
			if line[1] != strconv.Itoa(blocks) || line[3] != strconv.Itoa(len(text)) {
				t.Errorf("%s: %q, %d blocks are gone, the text has %d bytes", d, line[0], blocks, len(text))
			}
			if n, _ := strconv.Atoi(line[2]); n < 10*blocks || n > bytes {
				t.Errorf("%s: %q, %d bytes are archived", d, line[0], bytes)
			}
			name := ""
			if i == 1 {
				name = archive.Name(items)
			}
			if line[4] != name {
				t.Errorf("%s: archived as %q, not %q", d, line[4], name)
			}
			if !strings.HasSuffix(line[0], "]\n") {
				t.Errorf("%s: %q is no line", d, line[0])
			}
			r = plan.Result()
		}
	}
}
