package jsonspan

import "testing"

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"{\n  \"a\": 1,\r\n\t\"b\": \"x  \\n y\"\n}": `{"a": 1,"b": "x  \n y"}`,
		`[1, 2]`: `[1, 2]`,
		"\n\n 1": "1",
	} {
		if got := string(OneLine([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
