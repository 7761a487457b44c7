package rules

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/excerpt"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"*.md", "README.md", true}, {"*.md", "/a/b/README.md", true}, {"docs/*.md", "/repo/docs/a.md", true}, {"docs/*.md", "docs/x/a.md", false},
		{"docs/**", "docs/x/a.md", true}, {"docs/**", "docs", true}, {"/docs/**", "docs/a", false}, {"/repo/**/*.go", "/repo/a.go", true},
		{"/repo/**/*.go", "/repo/x/y/a.go", true}, {"/repo/**/t/**/*.go", "/repo/t/x/t/y.go", true}, {"a/**/b/**/c", "a/b/x/b/c", true}, {"a/**/b/**/c", "a/x/c", false},
		{"**", "anything/at/all", true}, {"./a.go", "a.go", true}, {"a?.go", "ab.go", true}, {"[ab].go", "b.go", true}, {"a.go", "aa.go", false},
	} {
		if got := matchPath(c.glob, c.name); got != c.want {
			t.Errorf("%s matches %s: %t", c.glob, c.name, got)
		}
	}
	for _, c := range []struct {
		glob, name string
		want       bool
	}{{"mcp__*", "mcp__fs__Read", true}, {"READ", "read", true}, {"re?d", "Read", true}, {"read", "read_file", false}, {"a*", "a/b", true}} {
		if got := matchTool(c.glob, c.name); got != c.want {
			t.Errorf("%s matches %s: %t", c.glob, c.name, got)
		}
	}
}

func TestMembers(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":1,"b":"x\"y","c":[1,{"d":"}"}],"e":null}`, `a=1 b="x\"y" c=[1,{"d":"}"}] e=null`},
		{" {\n \"a\" : true ,\"\\u0062\":{} } ", `a=true b={}`},
		{`{}`, ""}, {``, ""}, {`{`, ""}, {`{"a`, ""}, {`{"a"`, ""}, {`{"a":`, ""}, {`{"a":}`, ""}, {`{"a":1`, "a=1"}, {`{"a":"x`, `a="x`}, {`{"a":"\`, `a="\`},
		{`[1]`, ""}, {`{"a":1 "b":2}`, "a=1"}, {`{"a":[1,2`, "a=[1,2"}, {`{"a":"\\"}`, `a="\\"`},
	} {
		var got []string
		for m := scanMembers([]byte(c.in)); m.next(); {
			got = append(got, string(m.key)+"="+string(m.value))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.in, s, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range Table() {
		name := strings.ToLower(tool.Name)
		if tool.Kind == "" {
			t.Errorf("%s has no kind", tool.Name)
		}
		if seen[name] {
			t.Errorf("%s stands twice", tool.Name)
		}
		seen[name] = true
		for _, g := range protectedTools {
			if matchTool(g, name) {
				t.Errorf("%s is in the table and protected by %s", tool.Name, g)
			}
		}
	}
	for _, name := range []string{"TodoWrite", "todowrite", "write_todos", "Task", "TaskCreate", "Skill", "update_plan", "ExitPlanMode", "AskUserQuestion", "ask_followup_question", "save_memory", "new_task"} {
		k := Scope{}.compile().view(mustParse(t, `[{"role":"user","content":"x"}]`)).lookUpTool(name)
		if !k.isProtected {
			t.Errorf("%s is not protected", name)
		}
	}
	var wrong optionErrors
	wrong.checkScope(Scope{ProtectTools: protectedTools, Table: Table()})
	if wrong != nil {
		t.Error(OptionErrors(wrong))
	}
}

func mustParse(t testing.TB, body string) *wire.Request {
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCut(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a line\n", 1000), strings.Repeat("ü", 4000), strings.Repeat("日本語", 2000), strings.Repeat("x", 5000), strings.Repeat("\n", 5000),
		strings.Repeat("👩‍👩‍👧‍👦", 300),
	} {
		for _, size := range [][2]int{{512, 256}, {768, 0}, {0, 700}, {511, 257}} {
			got := excerpt.Excerpt{Head: size[0], Tail: size[1], By: oversizedName, Call: "call_1"}.Of(text)
			if !utf8.ValidString(got) || len(got) > size[0]+size[1]+markerRoom || !strings.Contains(got, placeholderMark) {
				t.Errorf("%.10q %v: %d bytes: %q", text, size, len(got), got)
			}
		}
	}
	got := excerpt.Excerpt{Head: 10, Tail: 12, By: oversizedName, Call: "c"}.Of("one\ntwo\nthree\nfour\nfive\nsix\n")
	if want := "one\ntwo\n[pare: 11 of 28 bytes left out here by oversized, call c]\nfive\nsix\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzUse: whatever a model wrote as arguments, nobody panics.
func FuzzUse(f *testing.F) {
	for _, s := range []string{
		`{"path":"a","offset":1,"limit":2}`, `{"file_path":"a","view_range":[1,-1]}`, `{"command":"view","path":"/a"}`, `{"view_range":[`, `{"view_range":"]"}`, `{"limit":1e99}`,
		"*** Begin Patch\n*** Update File: a\n", `{"input":"*** Add File: x"}`, `{"note":"[pare: x"}`, `{`, `"`, `\`, "", " ", `{"offset":-9223372036854775808,"limit":9223372036854775807}`,
	} {
		f.Add(s)
	}
	s := Scope{ProtectPaths: []string{"**/x"}}.compile().view(mustParse(f, `[{"role":"user","content":"x"}]`))
	f.Fuzz(func(t *testing.T, args string) {
		for _, name := range []string{"Read", "str_replace_editor", "apply_patch", "Bash", "unknown"} {
			s.parseCall(s.lookUpTool(name), []byte(args))
		}
		hashArguments([]byte(args))
		isClearedArguments([]byte(args))
		if n, _ := jsonspan.DecodedLen([]byte(args)); n != len(jsonspan.Decode(nil, []byte(args))) {
			t.Errorf("%q is said to be %d bytes long", args, n)
		}
		matchPath("a/**/b", cleanPath(args))
	})
}
