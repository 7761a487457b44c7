package manual

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

type grammar struct {
	Look struct {
		Files []string `arg:"" optional:"" name:"path" help:"What to look at."`
		Out   string   `short:"o" placeholder:"FILE" help:"Where to write. Default: it's [nowhere]."`
		Color string   `enum:"auto,never" default:"auto" help:"When to paint: always."`
		As    string   `placeholder:"KIND" help:"Read as."`
	} `cmd:"" group:"one" help:"Look at it."`
}

func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := kong.New(&grammar{}, kong.Name("pare"), kong.Description("Pare looks."))
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

func TestEveryCommandHasAPage(t *testing.T) {
	pages := Pages(model(t), []kong.Group{{Key: "one", Title: "Look:"}})
	if len(pages) != 2 || pages[0].Name != "pare.1" || pages[1].Name != "pare-look.1" {
		t.Fatalf("%d pages", len(pages))
	}
	for _, want := range []string{`.SS "Look"`, `\fBpare\-look\fR(1)`} {
		if !strings.Contains(string(pages[0].Roff), want) {
			t.Errorf("no %s in\n%s", want, pages[0].Roff)
		}
	}
	for _, want := range []string{`[\fIpath\fR...]`, `\fB\-o\fR, \fB\-\-out\fR \fIFILE\fR`, `it\(aqs [nowhere].`, `\fIauto|never\fR`, ".SH \"EXIT STATUS\""} {
		if !strings.Contains(string(pages[1].Roff), want) {
			t.Errorf("no %s in\n%s", want, pages[1].Roff)
		}
	}
}

func TestExamplesAreSplitFromHelp(t *testing.T) {
	examples, rest := Examples(ExampleLead + "\n    pare look a\n    pare look b\n\nMore.\n\nAnd more.")
	if examples != "    pare look a\n    pare look b" || rest != "More.\n\nAnd more." {
		t.Errorf("%q, %q", examples, rest)
	}
	if examples, rest = Examples("More."); examples != "" || rest != "More." {
		t.Errorf("%q, %q", examples, rest)
	}
}

func TestCompletionScriptsListFlags(t *testing.T) {
	known := map[string][]string{"as": {"one", "two"}}
	for shell, want := range map[string][]string{
		"bash": {`"look --out"|"look -o") files=1`, `"look --color") words="auto never"`, `"look --as") words="one two"`},
		"zsh":  {`{-o+,--out=}`, `:COLOR:(auto never)`, `:AS:(one two)`, `*:PATH:_files`},
		"fish": {`-l out -s o -r -F -d 'Where to write'`, `-x -a 'one two'`},
	} {
		script := string(Completion(shell, model(t), known))
		for _, w := range want {
			if !strings.Contains(script, w) {
				t.Errorf("%s: no %s in\n%s", shell, w, script)
			}
		}
	}
}
