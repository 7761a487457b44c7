package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var namesForShells = []string{
	"a;touch PWN;.jsonl", "$(touch PWN).jsonl", "it's `touch PWN`.jsonl", "a\ntouch PWN\n.jsonl", "a b\t\x1b[2J\".jsonl", "--in-place.jsonl", "-.jsonl", "~root.jsonl", "%s\\n&touch PWN.jsonl", "Größe 文件 🙂.jsonl",
}

const (
	openCallSession = `{"parentUuid":null,"cwd":"/home/dev","sessionId":"s","version":"1.0.128","type":"user","message":{"role":"user","content":"Go"},"uuid":"a1"}
{"parentUuid":"a1","cwd":"/home/dev","sessionId":"s","version":"1.0.128","type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},"uuid":"a2"}
{"parentUuid":"a2","cwd":"/home/dev","sessionId":"s","version":"1.0.128","type":"user","message":{"role":"user","content":"On"},"uuid":"a3"}
`
	openCallRequest = `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":"on"}]}`
)

var printedCommand = regexp.MustCompile(`\b(pare (fix|trim|undo|check|view|rules|session|explain)|cp|cd|pi --session) .*`)

func TestPrintedCommandsAddressTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the printed commands are those of Unix")
	}
	for _, name := range namesForShells {
		p := newPrinted(t, name)
		session, request, sessions := filepath.Join(p.home, ".claude/projects/p", name), filepath.Join("r", name), filepath.Join(".pi", name)
		p.write(session, openCallSession)
		p.write(name, openCallSession)
		p.write(request, openCallRequest)
		p.write(filepath.Join(p.home, ".pi/agent/sessions/p", name), `{"type":"session","version":3,"id":"s","cwd":"/home/dev"}`+"\n"+`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}`+"\n"+`{"type":"message","id":"b","parentId":"gone","message":{"role":"user","content":"on"}}`+"\n")
		p.write(sessions, openCallSession)
		for _, args := range [][]string{
			{"doctor", "--all"}, {"check", "--", name}, {"check", "--", name, request}, {"check", "--", request}, {"check", "--", sessions}, {"fix", "--in-place", "--force", "--", name},
			{"undo", "--", name}, {"undo"}, {"explain", "--", request}, {"init", "--", "c" + name}, {"init", "--", "c" + name}, {"--", name},
			{"fix", "--in-place", "--force", "--", name}, {"undo", "--", name}, {"doctor", "--fix", "--yes"},
		} {
			p.run(args)
		}
		if p.count < 14 {
			t.Errorf("%q: only %d commands are printed", name, p.count)
		}
		p.end()
	}
}

type printed struct {
	t                     *testing.T
	name                  string
	dir, home, bin, notes string
	count                 int
}

func newPrinted(t *testing.T, name string) *printed {
	t.Helper()
	dir, notes := t.TempDir(), filepath.Join(t.TempDir(), "notes")
	p := &printed{t: t, name: name, dir: dir, home: filepath.Join(dir, "home"), bin: t.TempDir(), notes: notes}
	t.Chdir(dir)
	for _, program := range []string{"pare", "cp", "pi"} {
		text := "#!/bin/sh\nprintf '%s\\0' \"$@\" >> \"$NOTES\"\n"
		if err := os.WriteFile(filepath.Join(p.bin, program), []byte(text), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	return p
}

func (p *printed) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *printed) run(args []string) {
	p.t.Helper()
	var out bytes.Buffer
	getenv := func(name string) string {
		if name == "HOME" {
			return p.home
		}
		return ""
	}
	run(&environment{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: getenv})
	for line := range strings.Lines(out.String()) {
		command := printedCommand.FindString(strings.TrimSpace(line))
		if command == "" || strings.HasPrefix(strings.TrimSpace(line), "pare: ") {
			continue
		}
		p.execute(args, command)
	}
}

func (p *printed) execute(args []string, command string) {
	p.t.Helper()
	_ = os.Remove(p.notes)
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = p.dir
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + p.bin + ":" + os.Getenv("PATH"), "NOTES=" + p.notes}
	out, err := cmd.CombinedOutput()
	noted, _ := os.ReadFile(p.notes)
	words := strings.Split(strings.TrimSuffix(string(noted), "\x00"), "\x00")
	addressed := slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, p.name) || strings.HasSuffix(w, p.name+".bak") })
	followsFolder := strings.HasPrefix(command, "cd /home/dev && ") // the folder does not exist on this machine
	explainsRule := strings.HasPrefix(command, "pare explain ")
	if !addressed && !followsFolder && !explainsRule {
		p.t.Errorf("%q: pare %q prints %q, which passes %q (%v %s)", p.name, args, command, words, err, out)
	}
	p.count++
}

func (p *printed) end() {
	p.t.Helper()
	_ = filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(path), "PWN") {
			p.t.Errorf("%q: a printed command has created %s", p.name, path)
		}
		return nil
	})
}

var beginsCommand = regexp.MustCompile(`(^|[^a-z-])(pare (fix|trim|undo|check|view|rules|session|explain|doctor|run|trust)|cp|cd|export|alias|claude|codex|pi|gemini|qwen|opencode|copilot|goose)( [^;:]*)? (--[a-z]+=)?$|\bpare (fix|trim|undo|check|view|rules|session|explain|doctor|run|trust) [^;:]*%[sq]`)

func TestCommandsAreBuiltFromWords(t *testing.T) {
	files, err := filepath.Glob("../internal/*/*.go")
	own, err2 := filepath.Glob("*.go")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, file := range append(files, own...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			text := ""
			switch n := n.(type) {
			case *ast.BinaryExpr:
				text = literal(n.X)
			case *ast.CallExpr:
				for _, arg := range n.Args {
					if said := literal(arg); strings.Contains(said, "%") {
						text = said
					}
				}
			}
			if beginsCommand.MatchString(strings.ReplaceAll(text, "%%", "")) {
				t.Errorf("%s appends to the command %q: build it with screen.NewCommand", set.Position(n.Pos()), text)
			}
			return true
		})
	}
}

func literal(e ast.Expr) string {
	if b, ok := e.(*ast.BinaryExpr); ok {
		e = b.Y
	}
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		return strings.Trim(l.Value, "\"`")
	}
	return ""
}
