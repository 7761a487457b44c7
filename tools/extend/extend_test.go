package extend

import (
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

var update = flag.Bool("update", false, "write what the proofs print")

const root = "../.."

// A row is a text that an extension adds to an existing file.
type row struct{ file, after, text string }

// An extension is a folder of new files, rows in others, and a program that uses it.
type extension struct {
	name string
	dir  string
	most int // files that it may take
	rows []row
}

var extensions = []extension{
	{"a seventh dialect", "dialect", 11, []row{
		{"internal/dialect/dialect.go", "\tGeminiInteractions\n", "\tToy\n"},
		{"internal/dialect/dialect.go", "\tGeminiInteractions: &interactionsGrammar,\n", "\tToy: &toyGrammar,\n"},
		{"internal/dialect/dialect.go", "var vendors = []vendor{\n", "\t{\"toy\", \"a toy\", []Dialect{Toy}, lazily(``)},\n"},
		{"internal/dialect/pen.go", "\tGeminiInteractions: interactionsPen{},\n", "\tToy: toyPen{},\n"},
		{"internal/histories/render.go", "var dialectRenderers = map[wire.Dialect]*dialectRenderer{\n", "\twire.Toy: &toyRenderer,\n"},
		{"wire/wire.go", "\tGeminiInteractions = dialect.GeminiInteractions\n", "\tToy = dialect.Toy\n"},
		{"proxy/internal/reply/reply.go", "var formats = map[wire.Dialect]format{\n", "\twire.Toy: toy{},\n"},
	}},
	{"another agent's session file", "agent", 2, []row{
		{"internal/agentlog/format.go", "var formatTable = []formatSpec{\n", "\ttoyRow,\n"},
	}},
	{"another database behind the store", "engine", 2, []row{
		{"store/store.go", "\tvar err error\n\tswitch {\n", "\tcase strings.HasPrefix(dsn, \"toy://\"):\n\t\ts.reader, s.writer, s.engine, err = openToy(dsn)\n"},
	}},
	{"another standard rule", "rule", 2, []row{
		{"internal/rulelist/rulelist.go", "\treturn []Entry{\n", "\t\tentry(rules.Toy{}),\n"},
	}},
}

// TestExtend builds a program with each extension, runs it, and counts the files. All
// extensions share one tree, which is compiled once. In a soak each has a separate tree, so
// that none depends on another one.
func TestExtend(t *testing.T) {
	trial.Long(t, "builds Pare with extensions")
	together := map[string]string{}
	for _, x := range extensions {
		laid, touched := x.overlay(t)
		if len(touched) > x.most {
			t.Errorf("%s takes %d files, and %d should do:\n%s", x.name, len(touched), x.most, strings.Join(touched, "\n"))
		}
		t.Logf("%s takes %d files: %s", x.name, len(touched), strings.Join(touched, ", "))
		if trial.Soak() {
			t.Run(x.dir+" alone", func(t *testing.T) { x.prove(t, build(t, laid, x)) })
		}
		maps.Copy(together, laid)
	}
	programs := build(t, together, extensions...)
	for _, x := range extensions {
		t.Run(x.dir, func(t *testing.T) { x.prove(t, programs) })
	}
}

// prove runs the program that uses an extension and compares its output.
func (x *extension) prove(t *testing.T, programs string) {
	got, err := exec.Command(filepath.Join(programs, x.dir)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	want := filepath.Join("testdata", x.dir, "proof", "want")
	if *update {
		if err := os.WriteFile(want, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != string(got) {
		t.Errorf("with %s the program prints\n%s\nwant\n%s", x.name, got, raw)
	}
}

// TestRowsStand checks that each place where an extension adds a row exists once.
func TestRowsStand(t *testing.T) {
	for _, x := range extensions {
		for _, r := range x.rows {
			raw, err := os.ReadFile(filepath.Join(root, r.file))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(raw), r.after); n != 1 {
				t.Errorf("%s: %q stands %d times in %s, and the row goes behind it", x.name, r.after, n, r.file)
			}
		}
	}
}

// overlay returns which file is laid over which one of the tree, and the files of the tree
// that the extension takes.
func (x *extension) overlay(t *testing.T) (laid map[string]string, touched []string) {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(filepath.Join("testdata", x.dir))
	if err != nil {
		t.Fatal(err)
	}
	laid = map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); strings.HasPrefix(name, "proof/") {
			name = "tools/extend/" + x.dir + strings.TrimPrefix(name, "proof")
		} else {
			touched = append(touched, name)
		}
		laid[filepath.Join(top, name)] = path
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, r := range x.rows {
		text, ok := texts[r.file]
		if !ok {
			raw, err := os.ReadFile(filepath.Join(root, r.file))
			if err != nil {
				t.Fatal(err)
			}
			text, touched = string(raw), append(touched, r.file)
		}
		texts[r.file] = strings.Replace(text, r.after, r.after+r.text, 1)
	}
	made := t.TempDir()
	for file, text := range texts {
		name := filepath.Join(made, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		laid[filepath.Join(top, file)] = name
	}
	slices.Sort(touched)
	return laid, touched
}

// build builds the programs of extensions with files laid over the tree, and returns the folder
// they are in.
func build(t *testing.T, laid map[string]string, all ...extension) (programs string) {
	t.Helper()
	programs = t.TempDir()
	list, err := json.Marshal(map[string]any{"Replace": laid})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, list, 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-overlay", overlay, "-o", programs + string(filepath.Separator)}
	for _, x := range all {
		args = append(args, "./tools/extend/"+x.dir)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s do not compile:\n%s", args[5:], out)
	}
	return programs
}
