package dialect

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/transcript"
)

// repaired repairs a body and checks what must hold for every repair: what is left is
// reported, a second repair changes nothing, no word of a user is lost, and a body
// without findings comes back as the same buffer.
func repaired(t *testing.T, body []byte, o Options, p Repair) *RepairedRequest {
	t.Helper()
	r, err := Parse(body, o)
	if err != nil {
		t.Fatal(err)
	}
	found := r.Check(CheckOptions{})
	out, err := r.repair(p, CheckOptions{})
	if err != nil {
		t.Fatalf("repair: %v\n%s", err, body)
	}
	if len(found) == 0 && (&out.Request.raw[0] != &body[0] || len(out.Changes) > 0) {
		t.Errorf("a clean body came back changed: %v", out.Changes)
	}
	again, err := out.Request.repair(p, CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Request.raw, out.Request.raw) {
		t.Errorf("a second repair changed %s\ninto %s\nby %v", out.Request.raw, again.Request.raw, again.Changes)
	}
	for _, text := range userTexts(r) {
		if !slices.ContainsFunc(userTexts(out.Request), func(s string) bool { return strings.Contains(s, text) }) {
			t.Errorf("the user's %q is lost\nin  %s\nout %s", text, body, out.Request.raw)
		}
	}
	return out
}

// userTexts returns what people say.
func userTexts(r *Request) []string {
	d := newDraft(r)
	var all []string
	for _, b := range r.t.Blocks()[r.t.Start():] { // what the provider has compacted may go
		if b.Kind == transcript.Text && r.t.Messages()[b.Message].Role == transcript.User {
			if s := strings.TrimSpace(plainText(d.raw, b.Body, 0)); s != "" {
				all = append(all, s)
			}
		}
	}
	return all
}

// reported are the faults that no repair should try: nothing is there to repair, the
// caller must choose, or repairing would lose what users said.
var reported = []string{"empty-content contents", "state-conflict"}

func mayStay(f Finding) bool {
	return slices.ContainsFunc(reported, func(s string) bool { return f.Rule == s || f.Rule+" "+f.Path == s })
}

func TestRepairZoo(t *testing.T) {
	for _, z := range zoo(t) {
		t.Run(z.ID, func(t *testing.T) {
			out := repaired(t, z.body(), Options{}, Repair{})
			for _, f := range slices.DeleteFunc(out.Left, mayStay) {
				t.Errorf("left: %s at %s in %s", f.Rule, f.Path, out.Request.raw)
			}
			dropped := repaired(t, z.body(), Options{}, Repair{OrphanCall: RemedyDrop, OrphanResult: RemedyDrop})
			for _, f := range slices.DeleteFunc(dropped.Left, mayStay) {
				t.Errorf("left when dropping: %s at %s in %s", f.Rule, f.Path, dropped.Request.raw)
			}
		})
	}
}

func TestRepairFixtures(t *testing.T) {
	for _, f := range corpus.Fixtures(t) {
		for _, body := range [][]byte{f.Bad, f.Good, f.Accept} {
			if body == nil {
				continue
			}
			t.Run(strings.ReplaceAll(f.Rule, "/", "-"), func(t *testing.T) {
				out := repaired(t, body, optionsOf(t, f, body), Repair{})
				for _, left := range slices.DeleteFunc(out.Left, mayStay) {
					t.Errorf("left: %s at %s in %s", left.Rule, left.Path, out.Request.raw)
				}
			})
		}
	}
}

// TestReasoningThatIsNone: what stands in the place of an object cannot be given words.
func TestReasoningThatIsNone(t *testing.T) {
	for _, thought := range []string{`"reasoningText":""`, `"reasoningText":null`, `"reasoningText":{"text":"look","signature":"Pnv8"},"reasoningText":""`} {
		body := `[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"reasoningContent":{` + thought + `}},{"text":""},{"text":"x"}]},{"role":"user","content":[{"text":"go"}]}]`
		for _, left := range repaired(t, []byte(body), Options{Dialect: Bedrock}, Repair{}).Left {
			t.Errorf("%s: %s at %s", thought, left.Rule, left.Path)
		}
	}
}

// TestTextThatIsNone: a text can be put in the place of what should have been one.
func TestTextThatIsNone(t *testing.T) {
	r, err := Parse([]byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":[]}]}]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := r.rewrite(nil, []BlockEdit{{0, "a \"word\""}})
	if err != nil || next.Text(0) != `a "word"` {
		t.Errorf("%v: %s", err, next.Raw())
	}
}

// FuzzRepair: whatever comes in, repairing ends without an error, names what it could
// not repair, and has nothing to add to its own work.
func FuzzRepair(f *testing.F) {
	for _, z := range zoo(f) {
		f.Add(z.body(), uint8(0))
	}
	for _, x := range corpus.Fixtures(f) {
		if x.Bad != nil {
			f.Add([]byte(x.Bad), uint8(len(x.Bad)))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, pick uint8) {
		o := Options{Dialect: Dialect(pick % 6)}
		p := Repair{OrphanCall: Remedy(pick >> 6 & 1), OrphanResult: Remedy(pick >> 7)}
		r, err := Parse(body, o)
		if err != nil {
			return
		}
		out, err := r.repair(p, CheckOptions{})
		if err != nil {
			t.Fatalf("repair: %v", err)
		}
		if got, want := len(out.Request.Check(CheckOptions{})), len(out.Left); got != want {
			t.Fatalf("%d findings in the result, %d named", got, want)
		}
		again, err := out.Request.repair(p, CheckOptions{})
		if err != nil {
			t.Fatalf("repair again: %v", err)
		}
		if !bytes.Equal(again.Request.raw, out.Request.raw) {
			t.Fatalf("not idempotent:\n%s\n%s\n%v", out.Request.raw, again.Request.raw, again.Changes)
		}
	})
}
