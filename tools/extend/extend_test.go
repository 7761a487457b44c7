package extend

import (
	"encoding/json"
	"flag"
	"io/fs"
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

// A row is what an extension adds to a file that is there.
type row struct{ file, after, text string }

// An extension is a folder of new files, rows in others, and a program that uses it.
type extension struct {
	name string
	dir  string
	most int // files that it may take
	rows []row
}

var extensions = []extension{
	{"a seventh dialect", "dialect", 10, []row{
		{"wire/dialect.go", "\tGeminiInteractions\n", "\tToy\n"},
		{"wire/dialect.go", "\tGeminiInteractions: &interactionsGrammar,\n", "\tToy: &toyGrammar,\n"},
		{"wire/dialect.go", "var vendors = []vendor{\n", "\t{\"toy\", \"a toy\", []Dialect{Toy}, lazily(``)},\n"},
		{"wire/pen.go", "\tGeminiInteractions: interactionsPen{},\n", "\tToy: toyPen{},\n"},
		{"internal/histories/render.go", "var hands = map[wire.Dialect]*hand{\n", "\twire.Toy: &toyHand,\n"},
		{"proxy/internal/recall/tongue.go", "var tongues = map[wire.Dialect]Tongue{\n", "\twire.Toy: toy{},\n"},
	}},
	{"another agent's session file", "agent", 2, []row{
		{"internal/agentlog/format.go", "var table = []row{\n", "\ttoyRow,\n"},
	}},
	{"another database behind the store", "engine", 2, []row{
		{"store/store.go", "\tvar err error\n\tswitch {\n", "\tcase strings.HasPrefix(dsn, \"toy://\"):\n\t\ts.db, s.wdb, s.eng, err = openToy(dsn)\n"},
	}},
	{"another standard rule", "rule", 2, []row{
		{"internal/rulelist/rulelist.go", "\treturn []Entry{\n", "\t\tentry(rules.Toy{}),\n"},
	}},
}

// TestExtend builds a program with each extension, runs it, and counts the files.
func TestExtend(t *testing.T) {
	trial.Long(t, "builds Pare once for each extension")
	for _, x := range extensions {
		t.Run(x.dir, func(t *testing.T) {
			laid, touched := x.overlay(t)
			if len(touched) > x.most {
				t.Errorf("%s takes %d files, and %d should do:\n%s", x.name, len(touched), x.most, strings.Join(touched, "\n"))
			}
			t.Logf("%s takes %d files: %s", x.name, len(touched), strings.Join(touched, ", "))
			got := x.run(t, laid)
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
		})
	}
}

// TestRowsStand wants the places at which extensions add their rows to be there, once each.
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
			name = "tools/extend/" + name
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

// run builds the proof with the files laid over the tree, and returns what it prints.
func (x *extension) run(t *testing.T, laid map[string]string) []byte {
	t.Helper()
	dir := t.TempDir()
	list, err := json.Marshal(map[string]any{"Replace": laid})
	if err != nil {
		t.Fatal(err)
	}
	name, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "proof.exe")
	if err := os.WriteFile(name, list, 0o666); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", name, "-o", program, "./tools/extend/proof")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile:\n%s", x.name, out)
	}
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}
