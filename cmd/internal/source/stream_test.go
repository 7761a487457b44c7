package source

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// readAll returns what an input makes of one source: the documents, or the lines
// with their numbers.
func readAll(t *testing.T, r io.Reader) (items []string) {
	t.Helper()
	in := &Input{}
	in.stream("x", r, nil, false, func(c Chunk) bool {
		if c.Err != nil {
			items = append(items, "error: "+c.Err.Error())
			return true
		}
		if c.Line == 0 {
			items = append(items, "document: "+string(c.Data))
			return true
		}
		for t := range c.Texts() {
			items = append(items, fmt.Sprintf("%d: %s", t.Line, t.Raw))
		}
		return true
	})
	return items
}

func TestDocumentOrLines(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 3*chunkSize) + `"}`
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"one line", `{"a":1}`, []string{`document: {"a":1}`}},
		{"one line, ended", "{\"a\":1}\n", []string{"document: {\"a\":1}\n"}},
		{"one line, blank lines around", "\n\n{\"a\":1}\r\n \n", []string{"document: \n\n{\"a\":1}\r\n \n"}},
		{"pretty", "{\n \"a\": 1\n}\n", []string{"document: {\n \"a\": 1\n}\n"}},
		{"pretty list", "[\n{\"a\":1}\n]", []string{"document: [\n{\"a\":1}\n]"}},
		{"lines", "{\"a\":1}\n[]\n", []string{`1: {"a":1}`, "2: []"}},
		{"lines, the last not ended", "{\"a\":1}\r\n\r\n[]", []string{`1: {"a":1}`, "2: ", "3: []"}},
		{"lines behind blank ones", "\n{\"a\":1}\n[]", []string{"1: ", `2: {"a":1}`, "3: []"}},
		{"lines, the second broken", "{\"a\":1}\n{", []string{`1: {"a":1}`, "2: {"}},
		{"lines, the first broken", "{\"a\n{\"messages\":[]}", []string{`1: {"a`, `2: {"messages":[]}`}},
		{"lines, the first two broken", "{\"a\n{\"b\n\xef\xbb\xbf{\"messages\":[]}", []string{`1: {"a`, `2: {"b`, `3: {"messages":[]}`}},
		{"lines, the first broken, lists", "{\"a\n[{\"role\":\"user\"}]\n{", []string{`1: {"a`, `2: [{"role":"user"}]`, "3: {"}},
		{"lists, the first broken", "[{\"role\":\n[{\"role\":\"user\"}", []string{"document: [{\"role\":\n[{\"role\":\"user\"}"}},
		{"lists, the first cut off in a text", "[{\"role\":\"us\n[{\"role\":\"user\"}]", []string{`1: [{"role":"us`, `2: [{"role":"user"}]`}},
		{"lines, the first with more behind it", "{\"a\":1},\nno JSON\n{\"b\":1}\n{\"messages\":[]}", []string{`1: {"a":1},`, "2: no JSON", `3: {"b":1}`, `4: {"messages":[]}`}},
		{"lines, the first two cut off where an object cannot follow", "{\"a\":[1\n{\"a\":[1\n[{\"role\":\"user\"}]", []string{`1: {"a":[1`, `2: {"a":[1`, `3: [{"role":"user"}]`}},
		{"lines, the first cut off where a key is due", "{\"a\":1,\n{\"b\n[{\"role\":\"user\"}]", []string{`1: {"a":1,`, `2: {"b`, `3: [{"role":"user"}]`}},
		{"a document that is broken in its first line", "{\"a\": oops,\n\"messages\": [\n{\"role\":\"user\"}\n]}", []string{"document: {\"a\": oops,\n\"messages\": [\n{\"role\":\"user\"}\n]}"}},
		{"a broken document with a request in it", "[{\"a\":\n[1\n{\"messages\":[]}", []string{"document: [{\"a\":\n[1\n{\"messages\":[]}"}},
		{"a broken document that is pretty", "{\n \"a\": [\n{\"messages\":[]}\n", []string{"document: {\n \"a\": [\n{\"messages\":[]}\n"}},
		{"long document", long, []string{"document: " + long}},
		{"long lines", long + "\n" + long + "\n{}\n" + long, []string{"1: " + long, "2: " + long, "3: {}", "4: " + long}},
		{"a mark", "\xef\xbb\xbf{}\n{}", []string{"1: {}", "2: {}"}},
		{"text", "hello\nworld", []string{"document: hello\nworld"}},
		{"nothing", "", []string{"document: "}},
	} {
		file := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(file, []byte(c.in), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for kind, r := range map[string]io.Reader{
			"file": f, "pipe": struct{ io.Reader }{strings.NewReader(c.in)},
			"small pieces": iotest.HalfReader(strings.NewReader(c.in)), "end with data": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			got, want := strings.Join(readAll(t, r), "\n"), strings.Join(c.want, "\n")
			if got != want {
				t.Errorf("%s from a %s:\n got %.200q\nwant %.200q", c.name, kind, got, want)
			}
		}
	}
}

// Whoever writes line by line sees each line reported without delay: what has
// arrived is handed on before more is asked for.
func TestLinesDoNotWait(t *testing.T) { synctest.Test(t, linesDoNotWait) }

// linesDoNotWait ends in a deadlock, which is seen, if a line is held back.
func linesDoNotWait(t *testing.T) {
	r, w := io.Pipe()
	got := make(chan string, 10)
	go func() {
		in := &Input{}
		in.stream("x", r, nil, false, func(c Chunk) bool {
			for l := range strings.Lines(string(c.Data)) {
				got <- l
			}
			return true
		})
		close(got)
	}()
	io.WriteString(w, "[1]\n[2]\n") // the first line alone might be a document
	for i := range 5 {
		want := fmt.Sprintf("[%d]\n", i+1)
		if s := <-got; s != want {
			t.Errorf("got %q, want %q", s, want)
		}
		if i > 0 {
			fmt.Fprintf(w, "[%d]\n", i+2)
		}
	}
	w.Close()
}

// A file's long line gets a buffer of its own size, not of the next power of two.
func TestLongLineIsAllocatedOnce(t *testing.T) {
	line := `["` + strings.Repeat("x", 10*chunkSize) + `"]`
	file := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(file, []byte("[]\n"+line+"\n[]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var done atomic.Int64
	s, err := openStream(f, nil, 0, &done, nil)
	if err != nil {
		t.Fatal(err)
	}
	for largest := 0; ; {
		data := s.lines()
		if len(data) == 0 {
			if done.Load() != int64(len(line)+7) {
				t.Errorf("counted %d bytes", done.Load())
			}
			return
		}
		if largest = max(largest, cap(s.buf)); largest > len(line)+2*spare {
			t.Fatalf("a buffer of %d for a line of %d", largest, len(line))
		}
	}
}

// TestFar: what comes through a pipe, in whatever pieces, is what a file has; and of a document that
// is put together once, there are never more than two.
func TestFar(t *testing.T) {
	long := `{"messages":["` + strings.Repeat("x", 3*chunkSize) + `"]}`
	for name, in := range map[string]string{
		"document": long, "ended": long + "\n", "lines": strings.Repeat(long+"\n", 3), "mixed": "[1]\n" + long + "\n[2]\n" + long,
		"indented": "{\n" + strings.Repeat(" \"a\": 1,\n", chunkSize) + "\"messages\":[]}\n", "blank": strings.Repeat("\n", 3*chunkSize) + "[1]",
	} {
		of := func(r io.Reader) string {
			var all []string
			input := &Input{Paths: []string{Stdin}, Stdin: r}
			input.Each(func(c Chunk) bool {
				for text := range c.Texts() {
					all = append(all, fmt.Sprint(text.Line, text.Blank, string(text.Whole)))
				}
				return c.Err == nil
			})
			return strings.Join(all, "|")
		}
		want := of(strings.NewReader(in))
		for _, piece := range []int{1000, 70_000, 10 * chunkSize} {
			if got := of(&slowReader{in, piece}); got != want {
				t.Errorf("%s in pieces of %d: %.100q and not %.100q", name, piece, got, want)
			}
		}
	}
	in := `{"messages":["` + strings.Repeat("x", 20<<20) + `"]}` + "\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	(&Input{Paths: []string{Stdin}, Stdin: &slowReader{in, 1 << 16}}).Each(func(c Chunk) bool { return len(c.Data) == len(in) })
	runtime.ReadMemStats(&after)
	if bodies := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(in)); bodies > 2.5 {
		t.Errorf("a pipe took %.2f times what came through it", bodies)
	}
}

// A slowReader gives at most so many bytes at once.
type slowReader struct {
	rest  string
	piece int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, r.rest[:min(r.piece, len(r.rest))])
	r.rest = r.rest[n:]
	return n, nil
}

// TestVetReadsNoDocument: to see that a file of one line is no batch takes no reading.
func TestVetReadsNoDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(file, []byte(`{"messages":["`+strings.Repeat("x", 9*chunkSize)+`"]}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	input := &Input{Paths: []string{file}, BatchesOnly: true}
	input.Each(func(c Chunk) bool { t.Errorf("line %d", c.Line); return true })
	if n := input.Read.Load(); n > chunkSize {
		t.Errorf("%d bytes were read", n)
	}
}

func TestReadError(t *testing.T) {
	for _, in := range []string{"", `{"a":`, "{}\n{}\n"} {
		got := readAll(t, io.MultiReader(strings.NewReader(in), iotest.ErrReader(io.ErrClosedPipe)))
		if len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "error: ") {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// Lines come as they are written, and each of them counts.
func TestLinesOneByOne(t *testing.T) {
	r, w := io.Pipe()
	answers := make(chan Text)
	go func() {
		for text, err := range Lines(r) {
			if err != nil {
				t.Error(err)
			}
			answers <- text
		}
		close(answers)
	}()
	for i, line := range []string{"\xef\xbb\xbf[1]\n", "\n", "[2]\r\n", "[3]"} {
		go func() {
			io.WriteString(w, line)
			if i == 3 {
				w.Close()
			}
		}()
		got := <-answers
		lead := 0
		if i == 0 {
			lead = len(utf8Mark)
		}
		if got.Line != i+1 || got.Lead != lead || string(got.Whole) != line[lead:] || got.Blank != (i == 1) {
			t.Errorf("%+v", got)
		}
	}
	if _, more := <-answers; more {
		t.Error("there is no more")
	}
	for text, err := range Lines(iotest.ErrReader(io.ErrClosedPipe)) {
		if err == nil {
			t.Errorf("%+v", text)
		}
	}
}
