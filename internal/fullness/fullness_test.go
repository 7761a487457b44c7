package fullness

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

func parse(t *testing.T, body string) *wire.Request {
	t.Helper()
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	file  = `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Read the file, and say what it does."},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"path":"a.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"package a // it does nothing at all, and does it well"}]}]}`
	whole = `{"max_tokens":100,"system":"Be brief, whatever you are asked.","tools":[{"name":"Read","input_schema":{"type":"object"}}],` + file[1:]
)

// TestPartsAddUp: what the parts take and what the file does not hold come to the whole, whatever
// was counted.
func TestPartsAddUp(t *testing.T) {
	for _, body := range []string{file, whole, strings.ReplaceAll(whole, "claude-sonnet-4-5", "nobody-knows")} {
		r := parse(t, body)
		for counted := range 5 {
			for _, n := range []int{0, 1, 30, 60, 90, 500, 20_000, 450_000} {
				s := Of(Question{Request: r, Counted: Counted{Input: n, Output: n / 10, Messages: min(counted, 3)}})
				if got := r.Tokens(s.Counter()) + s.Beside; got != s.Tokens {
					t.Errorf("%d messages with %d tokens: parts of %d come to %d", counted, n, s.Tokens, got)
				}
				if s.Recorded > 0 && s.Tokens < s.Recorded {
					t.Errorf("%d tokens, of which %d were counted", s.Tokens, s.Recorded)
				}
				if s.Beside > 0 && body != file {
					t.Error("a request that holds its system prompt and tools has nothing beside it")
				}
			}
		}
	}
}

// TestWindows: where a window comes from, and what it says.
func TestWindows(t *testing.T) {
	known, unknown := parse(t, whole), parse(t, strings.ReplaceAll(whole, "claude-sonnet-4-5", "nobody-knows"))
	for _, c := range []struct {
		name    string
		q       Question
		window  int
		source  string
		guess   bool
		over    bool
		limited bool
	}{
		{"published", Question{Request: known}, 200_000, "published for claude-sonnet-4-5", false, false, true},
		{"recorded", Question{Request: known, Counted: Counted{Window: 258_400}}, 258_400, "recorded in the session", false, false, true},
		{"answered", Question{Request: known, Counted: Counted{Input: 450_000, Messages: 3}}, 1_000_000, "a longer request", false, false, true},
		{"too long", Question{Request: known, Counted: Counted{Input: 199_000, Output: 2000, Messages: 3}}, 200_000, "published", false, true, true},
		{"refused", Question{Request: known, Counted: Counted{Refused: true}}, 200_000, "published", false, true, true},
		{"nobody knows", Question{Request: unknown, Counted: Counted{Input: 450_000, Messages: 3}}, 128_000, "a guess", true, false, false},
		{"by another name", Question{Request: unknown, Model: "claude-sonnet-4-5"}, 200_000, "published", false, false, true},
	} {
		s := Of(c.q)
		limit, _ := s.Limits()
		if s.Window != c.window || !strings.Contains(s.Source, c.source) || s.Guess != c.guess || s.Over() != c.over || (limit > 0) != c.limited {
			t.Errorf("%s: %+v, limit %d", c.name, s, limit)
		}
		if s.Room() > s.Window || s.Room()+s.Reply != s.Window {
			t.Errorf("%s: room %d and a reply of %d in %d", c.name, s.Room(), s.Reply, s.Window)
		}
	}
}
