package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/wire"
)

// readAndEdited is a session that reads files and runs programs, and edits a line of every second file
// ten calls later.
func readAndEdited() string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"repair it"}`)
	call := func(id, tool, args, said string) {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, tool, args, id, said)
	}
	for i := range 30 {
		var text strings.Builder
		for k := range 150 {
			fmt.Fprintf(&text, "\tvalue_%d_%d := compute(%d)\n", i, k, k)
		}
		tool, args := "Read", fmt.Sprintf(`{"file_path":"pkg/file%d.go"}`, i)
		if i%5 == 0 {
			tool, args = "Bash", fmt.Sprintf(`{"command":"make test%d"}`, i)
		}
		call(fmt.Sprint("r", i), tool, args, text.String())
		if j := i - 10; j > 0 && j%2 == 0 {
			call(fmt.Sprint("e", i), "Edit", fmt.Sprintf(`{"file_path":"pkg/file%d.go","old_string":"value_%d_99 := compute(99)","new_string":"value_%d_99 := other(99)"}`, j, j, j), "ok")
		}
	}
	b.WriteString(`]}`)
	return b.String()
}

// TestOracle: whoever knows the future misses nothing, and nobody who misses nothing either by leaving
// something out of results costs less.
func TestOracle(t *testing.T) {
	var all []replay.Policy
	for _, name := range []string{"everything", "shorten", "trim:cold,shorten", "mask", "keep", "oracle"} {
		p, err := replay.ParsePolicy(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	res := mustReplay(t, mustParse(t, readAndEdited(), wire.Options{}), replay.Options{Policies: all})
	oracle := res.Runs[len(res.Runs)-1]
	if oracle.Missed > 0 || oracle.Changed == 0 || oracle.Refused > 0 {
		t.Errorf("%d missed, %d changed, %d refused", oracle.Missed, oracle.Changed, oracle.Refused)
	}
	if res.Edits == 0 || res.Runs[0].Money == 0 {
		t.Fatal("nothing was measured")
	}
	for _, run := range res.Runs {
		if run.Missed == 0 && run.Money < oracle.Money {
			t.Errorf("%s misses nothing for %.4f, the oracle costs %.4f", run.Policy, run.Money, oracle.Money)
		}
		t.Logf("%s: %.4f, %d missed", run.Policy, run.Money, run.Missed)
	}
}
