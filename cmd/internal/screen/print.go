package screen

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
)

// A Text may be printed as it is: a constant of the program, or what this package has made
// of something else. It may have colours and several lines.
type Text string

// Line is text from elsewhere, safe and on one line.
func Line(s string) Text { return Text(plain.Line(s)) }

// safe is a value as it may be printed. Numbers and texts stay what they are, so that the
// verbs of a format still work.
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

// Printf is [fmt.Sprintf] for people: what is no Text is made safe. The format is one of
// the program's own.
func Printf(format string, args ...any) Text { return Text(fmt.Sprintf(format, makeAllSafe(args)...)) }

// Fprintf writes for people, see [Printf].
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, makeAllSafe(args)...)
}

// Appendf appends for people, see [Printf].
func Appendf(b []byte, format string, args ...any) []byte {
	return fmt.Appendf(b, format, makeAllSafe(args)...)
}

// Fprint writes what is no Text as [Printf] would.
func Fprint(w io.Writer, parts ...any) (int, error) {
	return io.WriteString(w, string(Join(parts, "")))
}

// Fprintln is [Fprint] and the end of the line.
func Fprintln(w io.Writer, parts ...any) (int, error) {
	return io.WriteString(w, string(Join(parts, ""))+"\n")
}

// Join puts parts together; what is no Text is made safe.
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

// Repeat is a Text n times.
func Repeat(t Text, n int) Text { return Text(strings.Repeat(string(t), n)) }

// TrimRight is a Text without spaces at its end.
func TrimRight(t Text) Text { return Text(strings.TrimRight(string(t), " ")) }
