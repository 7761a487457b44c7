package picture

import (
	"bytes"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

// WriteDifference writes up to limit lines that only one of the two files contains. Of a long line
// that was changed it writes the part that differs.
func WriteDifference(b *bytes.Buffer, paint screen.Palette, width, most int, before, after []byte) {
	was, is := bytes.Split(bytes.TrimSuffix(before, []byte("\n")), []byte("\n")), bytes.Split(bytes.TrimSuffix(after, []byte("\n")), []byte("\n"))
	inWas, inIs := countLines(was), countLines(is)
	shown := 0
	say := func(sign string, line []byte, colour func(any) screen.Text) {
		if shown++; shown <= most {
			screen.Fprintf(b, "    %s\n", colour(sign+" "+screen.Clip(screen.OneLine(string(line)), max(width-6, 20))))
		}
	}
	for i, j := 0, 0; i < len(was) || j < len(is); {
		both := i < len(was) && j < len(is)
		switch {
		case both && bytes.Equal(was[i], is[j]):
			inWas[string(was[i])]--
			inIs[string(is[j])]--
			i, j = i+1, j+1
		case both && inIs[string(was[i])] == 0 && inWas[string(is[j])] == 0:
			old, young := cutCommonEnds(was[i], is[j])
			say("−", old, paint.Fault)
			say("+", young, paint.Good)
			inWas[string(was[i])]--
			inIs[string(is[j])]--
			i, j = i+1, j+1
		case j < len(is) && (i == len(was) || inWas[string(is[j])] == 0):
			say("+", is[j], paint.Good)
			inIs[string(is[j])]--
			j++
		default:
			say("−", was[i], paint.Fault)
			inWas[string(was[i])]--
			i++
		}
	}
	if shown > most {
		screen.Fprintf(b, "    %s\n", paint.Faint("and "+screen.Plural(shown-most, "line")+" more"))
	}
}

func countLines(lines [][]byte) map[string]int {
	all := make(map[string]int, len(lines))
	for _, line := range lines {
		all[string(line)]++
	}
	return all
}

// cutCommonEnds returns two lines without their common start and end, except for a few bytes.
func cutCommonEnds(a, b []byte) (was, is []byte) {
	const around = 24
	front, back := 0, 0
	for front < min(len(a), len(b)) && a[front] == b[front] {
		front++
	}
	for back < min(len(a), len(b))-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	part := func(line []byte) []byte {
		from, to := max(front-around, 0), min(len(line)-back+around, len(line))
		text := bytes.ToValidUTF8(line[from:to], nil)
		if from > 0 {
			text = append([]byte("…"), text...)
		}
		if to < len(line) {
			text = append(text[:len(text):len(text)], "…"...)
		}
		return text
	}
	return part(a), part(b)
}
