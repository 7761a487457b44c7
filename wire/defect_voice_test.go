package wire_test

import (
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestDefectVoice: what a repair writes in the user's place is not taken for a person's words
// when it is read again.
func TestDefectVoice(t *testing.T) {
	for body, want := range map[string]bool{
		`[{"role":"model","parts":[{"text":"hello"}]},{"role":"user","parts":[{"text":"q"}]}]`:                                                                                       false,
		`[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]},{"role":"model","parts":[{"text":"hello"}]},{"role":"user","parts":[{"text":"q"}]}]`: false,
		`[{"role":"user","parts":[{"text":"[see; this]"}]},{"role":"user","parts":[{"text":"q"}]}]`:                                                                                  true,
		`[{"role":"user","parts":[{"text":"(The beginning is missing)"}]},{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"q"}]}]`:                           true,
	} {
		r, err := wire.Parse([]byte(`{"model":"gemini-3-pro-preview","contents":`+body+`}`), wire.Options{Dialect: wire.Gemini})
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Mend(wire.Repair{}, wire.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := wire.Parse(m.Request.Raw(), wire.Options{Dialect: wire.Gemini})
		if err != nil {
			t.Fatal(err)
		}
		if first := out.Transcript().Messages()[0]; first.Speaks != want {
			t.Errorf("a person speaks in the first message: %v, expected %v\n%s", first.Speaks, want, out.Raw())
		}
	}
}
