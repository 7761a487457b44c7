package source

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// packed is data as a file of that kind.
func packed(t testing.TB, how string, write func(io.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := Packer(how)(&b)
	if err != nil {
		t.Fatal(err)
	}
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDefectR3Bound: a small file that is huge unpacked ends at the bound, whatever is in
// it, and takes no more memory than that.
func TestDefectR3Bound(t *testing.T) {
	const bound = 2 << 20
	fill := func(begin, piece string) func(io.Writer) {
		return func(w io.Writer) {
			io.WriteString(w, begin)
			for n := 0; n < 3*bound; n += len(piece) {
				io.WriteString(w, piece)
			}
		}
	}
	zeros := strings.Repeat("\x00", 1<<16)
	for name, write := range map[string]func(io.Writer){
		"a document":  fill(`{"messages":[{"role":"user","content":"`, strings.Repeat("x", 1<<16)),
		"a long line": fill("[]\n[\"", strings.Repeat("y", 1<<16)),
		"white space": fill("", strings.Repeat(" ", 1<<16)),
		"lines":       fill("", strings.Repeat("[]\n", 1<<14)),
		"brackets":    fill("", strings.Repeat("[", 1<<16)),
		"objects":     fill("x\n", strings.Repeat("{\"\n", 1<<14)),
	} {
		for _, how := range []string{Gzip, Zstd} {
			raw := packed(t, how, write)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			in := &Input{Paths: []string{Stdin}, Stdin: bytes.NewReader(raw), MaxSize: bound}
			var last error
			in.Each(func(c Chunk) bool { last = c.Err; return true })
			runtime.ReadMemStats(&after)
			var large *TooLargeError
			if !errors.As(last, &large) || large.Max != bound {
				t.Errorf("%s, %s: %v", name, how, last)
			}
			// Buffers grow by half, and all of them count here. What looks at single lines makes
			// garbage for each.
			if used := after.TotalAlloc - before.TotalAlloc; used > 10*bound && name != "objects" {
				t.Errorf("%s, %s: %d bytes allocated for a bound of %d", name, how, used, bound)
			}
		}
	}
	in := &Input{Paths: []string{Stdin}, Stdin: bytes.NewReader(packed(t, Gzip, fill(zeros, zeros))), MaxSize: bound}
	in.Each(func(c Chunk) bool {
		if c.Err != nil || len(c.Data) > 2*chunkSize {
			t.Errorf("what is no JSON is looked at only in front: %v, %d bytes", c.Err, len(c.Data))
		}
		return true
	})
}

func TestBoundIsExact(t *testing.T) {
	for _, how := range []string{Gzip, Zstd} {
		raw := packed(t, how, func(w io.Writer) { io.WriteString(w, "0123456789") })
		for most, want := range map[int64]string{9: "", 10: "0123456789", 11: "0123456789", 0: "0123456789"} {
			r, got, err := Unpack(bytes.NewReader(raw), most)
			if err != nil || got != how {
				t.Fatalf("%q, %v", got, err)
			}
			all, err := io.ReadAll(r)
			if (err != nil) != (want == "") || want != "" && string(all) != want {
				t.Errorf("bound %d: %q, %v", most, all, err)
			}
			if err != nil && err.Error() != "unpack "+how+": more than 9 B unpacked" {
				t.Errorf("it says %q", err)
			}
			r.Close()
		}
	}
}

// TestDefectR3Folders: what nobody named is unpacked only if its name says JSON.
func TestDefectR3Folders(t *testing.T) {
	t.Chdir(t.TempDir())
	list := packed(t, Gzip, func(w io.Writer) { io.WriteString(w, "[]") })
	for _, name := range []string{"d/a.json.gz", "d/b.JSONL.GZ", "d/c.gz", "d/d.tar.gz", "d/e.zst", "d/f.json"} {
		put(t, name, list)
	}
	in := &Input{Paths: []string{"d"}}
	var got []string
	each := func(c Chunk) bool { got = append(got, c.Source); return true }
	in.Each(each)
	if want := "[d/a.json.gz d/b.JSONL.GZ d/f.json]"; fmt.Sprint(got) != want || in.Skipped.Packed != 3 {
		t.Errorf("%v, %+v; want %s", got, in.Skipped, want)
	}
	in, got = &Input{Paths: []string{"d/c.gz"}}, nil
	if in.Each(each); len(got) != 1 {
		t.Error("who names it wants it")
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "500MB": 5e8, " 4 gb ": 4e9, "12KB": 12_000, "7 B": 7, "1TB": 1e12} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "1.5GB", "GB", "99999999999999999999", "9999999TB", "1 GB x"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d", text, got)
		}
	}
	for n, want := range map[int64]string{MaxSize: "1 GB", 1500: "1500 B", 5e8: "500 MB", 0: "0 B"} {
		if got := SizeString(n); got != want {
			t.Errorf("SizeString(%d) = %q", n, got)
		}
	}
}

func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"d/a.json", "d/a.json.bak", "d/.hidden", "d/.git/x", "d/sub/b", "d/out", "d/receipt"} {
		put(t, name, []byte("[]"))
	}
	put(t, "d/text", []byte("hello"))
	out, err := os.OpenFile("d/out", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var files atomicfile.Files
	for _, err := range []error{files.ClaimOpen(RoleStdout, out, atomicfile.Write), files.Claim("--receipt", "d/receipt", atomicfile.Write)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	in := &Input{Paths: []string{"d"}, Files: &files}
	if !in.Many() || in.Size() == 0 {
		t.Error("a folder is many files")
	}
	var got []string
	in.Each(func(c Chunk) bool {
		got = append(got, c.Source)
		if c.Err != nil {
			got = append(got, "!")
		}
		return true
	})
	if want := "[d/a.json d/receipt ! d/sub/b]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if s := in.Skipped; s.Backups != 1 || s.Foreign != 1 || fmt.Sprint(s.Own) != "[d/out]" || in.Clash == nil {
		t.Errorf("%+v, %v", s, in.Clash)
	}
}

// TestAgain: a file is read once, whatever leads to it; a hard link is a file of its own.
func TestAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "d/sub/a.json", []byte("[]"))
	put(t, "d/z.json", []byte("[]"))
	for _, err := range []error{os.Symlink("sub/a.json", "d/link.json"), os.Symlink("d", "e"), os.Link("d/z.json", "hard.json")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		paths []string
		want  string
		again int
	}{
		{[]string{"d/z.json", "./d/z.json", "d/../d/z.json"}, "[d/z.json]", 2},
		{[]string{"d"}, "[d/link.json d/z.json]", 1},
		{[]string{"d/", "e", "d/sub/a.json"}, "[d/link.json d/z.json]", 5},
		{[]string{"./d", "d/z.json", "d/sub/../sub"}, "[d/link.json d/z.json]", 3},
		{[]string{".", "d//"}, "[d/link.json d/z.json hard.json]", 4},
		{[]string{"d/z.json", "hard.json"}, "[d/z.json hard.json]", 0},
		{[]string{"-", "-"}, "[-]", 1},
		{[]string{"none", "none"}, "[none ! none !]", 0},
	} {
		in := &Input{Paths: tt.paths, Stdin: strings.NewReader("[]")}
		var got []string
		in.Each(func(c Chunk) bool {
			got = append(got, c.Source)
			if c.Err != nil {
				got = append(got, "!")
			}
			return true
		})
		if fmt.Sprint(got) != tt.want || in.Skipped.Again != tt.again {
			t.Errorf("%v: %v, %d again, want %s, %d", tt.paths, got, in.Skipped.Again, tt.want, tt.again)
		}
	}
}

func TestTexts(t *testing.T) {
	c := Chunk{Line: 3, Lead: 3, Data: []byte("[1]\r\n\n[2]")}
	var got []string
	for x := range c.Texts() {
		got = append(got, fmt.Sprintf("%d %d %q %q %v", x.Line, x.Lead, x.Raw, x.Whole, x.Blank))
	}
	want := []string{`3 3 "[1]" "[1]\r\n" false`, `4 0 "" "\n" true`, `5 0 "[2]" "[2]" false`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range c.Texts() {
		break
	}
	if string(c.Mark()) != string(utf8Mark) {
		t.Error("the mark is lost")
	}
}

// What is read into lent memory is the same, whatever was in it before.
func TestLend(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		long := strings.Repeat("x", i*i*i*20) // some have no room in the buffer
		write(fmt.Sprintf("%02d-document.json", i), fmt.Appendf(nil, `{"messages":[{"role":"user","content":"%d %s"}]}`, i, long))
		write(fmt.Sprintf("%02d-lines.jsonl", i), fmt.Appendf(nil, "{\"messages\":[{\"role\":\"user\",\"content\":\"%d\"}]}\n[{\"role\":\"user\",\"content\":\"%s\"}]\n", i, long))
		write(fmt.Sprintf("%02d-foreign.txt", i), fmt.Appendf(nil, "%d %s", i, long))
	}
	read := func(lend bool) (all []string) {
		in := Input{Paths: []string{folder}, Lend: lend}
		in.Each(func(c Chunk) bool {
			for x := range c.Texts() {
				all = append(all, fmt.Sprintf("%s %d %v %x", c.Source, x.Line, c.Err, sha256.Sum256(x.Whole)))
			}
			c.Free()
			return true
		})
		if in.Skipped.Foreign != 40 {
			t.Errorf("%d foreign files", in.Skipped.Foreign)
		}
		return all
	}
	if want, got := read(false), read(true); !slices.Equal(want, got) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
