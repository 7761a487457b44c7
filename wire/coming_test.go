package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/wire"
)

// comingBodies are whole requests of several dialects, clean or not.
func comingBodies() map[string]struct {
	dialect wire.Dialect
	body    []byte
} {
	type one = struct {
		dialect wire.Dialect
		body    []byte
	}
	unpaired := bytes.Replace(benchdata.Anthropic(60<<10), []byte(`"tool_use_id":"`), []byte(`"tool_use_id":"lost_`), 1)
	return map[string]one{
		"anthropic": {wire.Anthropic, benchdata.Anthropic(60 << 10)}, "unpaired": {wire.Anthropic, unpaired},
		"messages": {wire.Anthropic, benchdata.Dense(benchdata.Messages, 30<<10)}, "chat": {wire.OpenAIChat, benchdata.Dense(benchdata.Chat, 30<<10)},
		"responses": {wire.OpenAIResponses, benchdata.Dense(benchdata.Responses, 30<<10)},
		"small":     {wire.Anthropic, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)},
		"detected":  {wire.Auto, benchdata.Dense(benchdata.Messages, 10<<10)},
	}
}

// TestGlanceComing sees of a body that comes in pieces what is to be seen of the whole, and
// takes none for whole that is not.
func TestGlanceComing(t *testing.T) {
	var p wire.Parser
	for name, c := range comingBodies() {
		o := wire.Options{Dialect: c.dialect}
		want, err := p.Glance(c.body, o, wire.CheckOptions{})
		if err != nil || want.Clean != (name != "unpaired") {
			t.Fatal(name, want, err)
		}
		for _, size := range []int{13, 1000, 16 << 10} {
			for _, most := range []int{len(c.body), len(c.body) - 1, len(c.body) / 2} {
				data := bytes.Repeat([]byte("}"), len(c.body))
				here := copy(data[:min(size/2, most)], c.body) // some is there already
				got, err := p.GlanceComing(data, here, func() int {
					here += copy(data[here:min(here+size, most)], c.body[here:])
					return here
				}, o, wire.CheckOptions{})
				switch {
				case most < len(c.body) && err == nil:
					t.Errorf("%s, %d bytes of %d: taken for whole", name, most, len(c.body))
				case most == len(c.body) && (err != nil || got != want || here != most):
					t.Errorf("%s in pieces of %d: %+v, %v, want %+v", name, size, got, err, want)
				}
			}
		}
	}
}

// TestGlanceComingDense: no index is held while more is waited for that is much larger than
// the body.
func TestGlanceComingDense(t *testing.T) {
	body := []byte(`{"messages":["` + strings.Repeat(`","`, 100_000) + `"]}`)
	data, here, waited := bytes.Repeat([]byte(" "), len(body)), 0, 0
	var p wire.Parser
	_, err := p.GlanceComing(data, 0, func() int {
		here += copy(data[here:min(here+4<<10, len(body))], body[here:])
		waited++
		return here
	}, wire.Options{Dialect: wire.Anthropic}, wire.CheckOptions{})
	if err == nil || waited > 5 {
		t.Errorf("waited %d times for more of a list of empty messages, %v", waited, err)
	}
	if g, err := p.Glance(body, wire.Options{Dialect: wire.Anthropic}, wire.CheckOptions{}); err != nil || g.Messages < 1000 {
		t.Error(g, err)
	}
}
