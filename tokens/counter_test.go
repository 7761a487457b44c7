package tokens

import "testing"

// counter is what a planner asks of a counter.
type counter interface {
	Count(text []byte) int
	CountJSON(raw []byte) int
	Media(mime string, data []byte, low bool) int
	Overhead(messages, tools int) int
}

var (
	_ counter = Estimator{}
	_ counter = Counter{}
	_ Text    = O200k()
	_ Text    = Func(nil)
)

func TestReading(t *testing.T) {
	e := For("claude-opus-5")
	length := Func(func(text []byte) int { return len(text) })
	for _, x := range []struct {
		c           Counter
		plain, json int
	}{
		{e.Reading(length), 4, 3},
		{e.Reading(O200k()), O200k().Count([]byte(`a\nb`)), O200k().Count([]byte("a\nb"))},
		{e.Reading(nil), e.Count([]byte(`a\nb`)), e.Count([]byte("a\nb"))},
	} {
		if plain, json := x.c.Count([]byte(`a\nb`)), x.c.CountJSON([]byte(`a\nb`)); plain != x.plain || json != x.json {
			t.Errorf("%d and %d, want %d and %d", plain, json, x.plain, x.json)
		}
		if x.c.Media("image", nil, true) != e.Media("image", nil, true) || x.c.Overhead(3, 2) != e.Overhead(3, 2) {
			t.Error("media or overhead are not the estimator's")
		}
	}
	if got, want := (Counter{}).Count([]byte("word")), For("").Count([]byte("word")); got != want {
		t.Errorf("the zero Counter counts %d, want %d", got, want)
	}
	raw := []byte("no escapes")
	if n := testing.AllocsPerRun(10, func() { length.CountJSON(raw) }); n != 0 {
		t.Errorf("a Func allocates %v times", n)
	}
}
