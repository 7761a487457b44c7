package agentlog

import (
	"strings"
	"testing"
)

// TestGeminiCopiedLine checks that a copy of a line restores the older state: Gemini CLI forgets
// everything after a repeated $set (seen by running it) and returns to an earlier version of a
// message. A copy that changes nothing is left alone.
func TestGeminiCopiedLine(t *testing.T) {
	const name = "session-2026-01-01T00-00-01a1e58d.jsonl"
	message := func(id, kind, content string) string {
		return `{"id":"` + id + `","timestamp":"2026-01-01T00:00:00.000Z","type":"` + kind + `","content":"` + content + `"}` + "\n"
	}
	head := `{"sessionId":"01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}` + "\n"
	one, two, three := message("1", "user", "one"), message("2", "gemini", "two"), message("3", "user", "three")
	set := `{"$set":{"messages":[` + strings.TrimSpace(one) + "," + strings.TrimSpace(two) + `],"lastUpdated":"2026-01-01T00:00:00.000Z"}}` + "\n"
	whole := head + one + two + set + three
	longer := message("2", "gemini", "two and more")
	for what, c := range map[string]struct{ raw, want string }{
		"a $set again":               {whole + set, whole},
		"an earlier version":         {head + one + two + longer + three + two, head + one + two + longer + three},
		"copies behind another $set": {whole + strings.Replace(set, "two", "2", 1) + three, ""},
		"the last version":           {whole + three, ""},
		"everything again":           {whole + whole, ""},
		"everything but the last":    {whole + head + one + two + set, whole + head},
		"another $set, a snapshot":   {whole + strings.Replace(set, "00:00.000Z\"}}", "00:09.000Z\"}}", 1), ""},
		"a head again in the middle": {head + one + head + two + set + three, ""},
	} {
		l, found, fixed := fix(t, name, []byte(c.raw))
		if c.want == "" {
			if Broken(found) || string(fixed.Raw) != c.raw {
				t.Errorf("%s: %+v\n%s", what, found, fixed.Raw)
			}
			continue
		}
		if !Broken(found) || count(found, "duplicate-line") == 0 || Broken(fixed.Remaining) || string(fixed.Raw) != c.want {
			t.Errorf("%s: %+v, left %+v\n%s", what, found, fixed.Remaining, fixed.Raw)
		}
		if said := sentText(l); !strings.Contains(said, "three") {
			t.Errorf("%s: sends %s", what, said)
		}
	}
}
