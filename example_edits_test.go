package pare_test

import (
	"fmt"

	"github.com/pare-llm/pare"
)

// The edits of a plan are spans of the input and what takes their place, for programs that
// hold the text themselves: an editor, a database, a client in another language.
func ExamplePlan_Edits() {
	body := []byte(`[{"role":"user","content":"Look."},{"role":"assistant","content":"","tool_calls":[]},{"role":"user","content":"And?"}]`)
	_, plan, err := pare.Fix(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range plan.Edits() {
		fmt.Printf("%d:%d %q becomes %q\n", e.Start, e.End, body[e.Start:e.End], e.New)
	}
	// Output:
	// 67:83 ",\"tool_calls\":[]" becomes ""
}
