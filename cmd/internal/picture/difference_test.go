package picture

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

func TestDifferenceShowsChangedLines(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a\nb\nc\n", "a\nb\nc\n", ""},
		{"a\nb\nc\n", "a\nc\n", "− b"},
		{"a\nc\n", "a\nb\nc\n", "+ b"},
		{"a\nc\n", "a\nb\nc\nd", "+ b|+ d"},
		{"a\nb\nc\n", "a\nx\nc\n", "− b|+ x"},
		{"a\nb\nc\n", "c\na\nb\n", "− a|− b|+ a|+ b"},
		{"a\na\n", "a\n", "− a"},
		{"", "a\n", "− |+ a"},
		{strings.Repeat("x", 500) + "old" + strings.Repeat("y", 500), strings.Repeat("x", 500) + "new" + strings.Repeat("y", 500), "− …" + strings.Repeat("x", 24) + "old" + strings.Repeat("y", 24) + "…|+ …" + strings.Repeat("x", 24) + "new" + strings.Repeat("y", 24) + "…"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n", "− 1|+ 0|− 2|− 3|− 4|− 5|− 6|− 7|and 2 lines more"},
	} {
		var b bytes.Buffer
		WriteDifference(&b, screen.Palette(false), 80, 8, []byte(c.before), []byte(c.after))
		got := b.String()
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], "    ")
		}
		if joined := strings.Join(lines, "|"); joined != c.want {
			t.Errorf("%.20q, %.20q: %q, want %q", c.before, c.after, joined, c.want)
		}
	}
}
