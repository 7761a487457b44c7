package screen

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
)

// A Text is safe to print: a constant of the program, or output of this package. It may contain
// colors and several lines.
type Text string

// Line returns text from outside the program, made safe, on one line.
func Line(s string) Text { return Text(plain.Line(s)) }

// makeSafe returns a value that is safe to print. Numbers and texts keep their types, so that
// format verbs work.
func makeSafe(v any) any {
	switch v := v.(type) {
	case nil, Text, int, int64, float64, bool, rune:
		return v
	case Command:
		return Text(v.line)
	case string:
		return Line(v)
	case []byte:
		return Line(string(v))
	case error:
		return Line(v.Error())
	case fmt.Stringer:
		return Line(v.String())
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt(), r.CanUint(), r.CanFloat(), r.Kind() == reflect.Bool:
		return v
	case r.Kind() == reflect.String:
		return Line(r.String())
	}
	return Line(fmt.Sprint(v))
}

func makeAllSafe(args []any) []any {
	clean := make([]any, len(args))
	for i, a := range args {
		clean[i] = makeSafe(a)
	}
	return clean
}

// Printf is [fmt.Sprintf] for people: values that are not a Text are made safe. The format must be
// a constant.
func Printf(format string, args ...any) Text { return Text(fmt.Sprintf(format, makeAllSafe(args)...)) }

// Fprintf writes like [Printf].
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, makeAllSafe(args)...)
}

// Appendf appends like [Printf].
func Appendf(b []byte, format string, args ...any) []byte {
	return fmt.Appendf(b, format, makeAllSafe(args)...)
}

// Fprint writes parts. Values that are not a Text are made safe.
func Fprint(w io.Writer, parts ...any) (int, error) {
	return io.WriteString(w, string(Join(parts, "")))
}

// Fprintln is [Fprint] with a line break at the end.
func Fprintln(w io.Writer, parts ...any) (int, error) {
	return io.WriteString(w, string(Join(parts, ""))+"\n")
}

// Join returns the parts with a separator between them. Values that are not a Text are made safe.
func Join[T any](parts []T, between Text) Text {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(string(between))
		}
		fmt.Fprint(&b, makeSafe(p))
	}
	return Text(b.String())
}

// Repeat returns n copies of a Text.
func Repeat(t Text, n int) Text { return Text(strings.Repeat(string(t), n)) }

// TrimRight returns a Text without trailing spaces.
func TrimRight(t Text) Text { return Text(strings.TrimRight(string(t), " ")) }
