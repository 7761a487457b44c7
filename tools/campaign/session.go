package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A seat is a home and a folder to work in, below one folder.
type seat struct{ dir, cwd string }

func (s seat) home() string { return filepath.Join(s.dir, "home") }

// place is a new folder.
func (c *campaign) place() string {
	dir, err := os.MkdirTemp("", "pare-campaign-")
	if err != nil {
		fail(err)
	}
	return dir
}

// hold runs the client until it holds a session.
func (c *campaign) hold(k kind) (s seat, err error) {
	dir := c.place()
	s = seat{dir, filepath.Join(dir, "work")}
	if err := write(s.cwd, map[string]string{"a.txt": "contents alpha\n", "b.txt": "contents beta\n", "picture.png": picture()}); err != nil {
		return s, err
	}
	for i, st := range k.steps {
		api, err := newStandIn(c.client, s.cwd)
		if err != nil {
			return s, err
		}
		model := c.models[0]
		if st.other {
			model = c.models[1]
		}
		prompt := fmt.Sprintf("prompt %d: %s", i+1, st.order)
		told := st.order == "large" && c.compact != ""
		if told {
			prompt = c.compact
		}
		args := c.begin(prompt, model)
		if file := c.newest(s); i > 0 && file != "" {
			args = c.resumed(prompt, model, c.id(file))
		}
		out, err := c.start(s, api, args, st.end)
		api.server.Close()
		if len(api.sent()) == 0 && !told {
			return s, fmt.Errorf("prompt %d is not sent: %v %s", i+1, err, out)
		}
	}
	if c.newest(s) == "" {
		return s, errors.New("no session file is written")
	}
	if words := c.proof[k.name]; words != "" && !bytes.Contains(c.stored(s), []byte(words)) {
		return s, fmt.Errorf("the file does not hold %s", words)
	}
	return s, nil
}

// picture is a small image.
func picture() string {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 8, 8)))
	return b.String()
}

// start runs the client once.
func (c *campaign) start(s seat, api *standIn, args []string, end ending) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.each)
	defer cancel()
	if c.setup != nil {
		if err := write(s.home(), c.setup(s.home(), api.url)); err != nil {
			return "", err
		}
	}
	argv := slices.Clone(c.argv)
	if c.through {
		argv = append([]string{c.pare, "run", "--"}, argv...)
	}
	c.url = api.url
	for _, arg := range args {
		argv = append(argv, strings.Replace(arg, "HOME/", s.home()+"/", 1))
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = s.cwd
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home(), "TMPDIR=" + s.dir, "LANG=C.UTF-8", "SHELL=/bin/sh", "NO_PROXY=127.0.0.1"}
	for _, e := range c.env {
		name, value, _ := strings.Cut(e, "=") // names may have the words too
		cmd.Env = append(cmd.Env, name+"="+strings.NewReplacer("URL", api.url, "HOME", s.home()).Replace(value))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	group := grouped(cmd)
	cmd.Cancel = func() error { return group(syscall.SIGKILL) }
	cmd.WaitDelay = 3 * time.Second
	if err := cmd.Start(); err != nil {
		return "", err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	if end != ends {
		for asked := true; asked; {
			select {
			case order := <-api.asked:
				if order != "sleep" && order != "slow" {
					continue
				}
				time.Sleep(2 * time.Second) // the tool runs now, the file is written
				if end == bereft {
					_ = cmd.Process.Kill() // the client is on its own now, for as long as Wait has patience
					continue
				}
				if end == interrupted {
					_ = group(syscall.SIGINT)
					time.Sleep(2 * time.Second)
				}
				_ = group(syscall.SIGKILL)
			case err := <-done:
				_ = group(syscall.SIGKILL) // an agent that outlived Pare
				return out.String(), err
			}
		}
	}
	err := <-done
	_ = group(syscall.SIGKILL) // the rest of its group
	return out.String(), err
}

// newest is the session file that was written last.
func (c *campaign) newest(s seat) (newest string) {
	files, _ := filepath.Glob(filepath.Join(s.home(), c.sessions))
	var at time.Time
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || st.ModTime().Before(at) || strings.Contains(filepath.Base(f), ".bak") {
			continue
		}
		if data, _ := os.ReadFile(f); c.client.stored != nil || len(marksIn(data)) > 0 { // not a title, nor a sub-agent's conversation
			newest, at = f, st.ModTime()
		}
	}
	return newest
}

// copyTo copies a folder.
func copyTo(to, from string) {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err) // sockets and the like
	}
	_ = filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, e := d.Info(); e == nil { // the newest is found by its time
			rel, _ := filepath.Rel(from, path)
			_ = os.Chtimes(filepath.Join(to, rel), info.ModTime(), info.ModTime())
		}
		return nil
	})
}

// restore resets the home of a session to the state after it was held. The folder is always
// the same, because clients store its path elsewhere, such as in Codex's index.
func (s seat) restore() {
	held := filepath.Join(s.dir, "held")
	if _, err := os.Stat(held); err != nil {
		if err := os.Rename(s.home(), held); err != nil {
			fail(err)
		}
	}
	if err := os.RemoveAll(s.home()); err != nil {
		fail(err)
	}
	copyTo(s.home(), held)
}

// A resumption is the outcome of resuming a session.
type resumption struct {
	dir    string
	body   []byte // the first request; nil: none
	found  []wire.Finding
	err    error
	marks  []string       // texts of the session in the request
	times  map[string]int // how often
	pairs  []string       // calls with their results
	left   []string       // texts that the file contained when the client read it
	out    string
	status error
	noted  bool // the file holds the new prompt afterwards, where the client finds it the next time
}

// resume changes a session with do and lets the client continue it. It returns nil if do
// returns false.
func (c *campaign) resume(s seat, do func(dir string) bool) *resumption {
	s.restore()
	if do != nil && !do(s.dir) {
		return nil
	}
	is := fmt.Sprintf("%s %d %v %x", s.dir, c.window, c.through, sha256.Sum256(c.bytes(s)))
	if r := c.seen[is]; r != nil { // the client would do the same once more
		return r
	}
	r := c.continueSession(s, "prompt 90: thanks", c.through, ends)
	c.seen[is] = r
	return r
}

// continueSession lets the client continue a session as it is.
func (c *campaign) continueSession(s seat, prompt string, through bool, end ending) *resumption {
	r := &resumption{dir: c.place()}
	r.left = marksIn(c.stored(s))
	file := c.newest(s)
	api, err := newStandIn(c.client, s.cwd)
	if err != nil {
		fail(err)
	}
	api.window = c.window
	was := c.through
	c.through = through
	r.out, r.status = c.start(s, api, c.resumed(prompt, c.models[0], c.id(file)), end)
	c.through = was
	api.server.Close()
	r.noted = bytes.Contains(c.stored(s), []byte("prompt 90: "))
	if c.keep != "" {
		copyTo(seat{dir: r.dir}.home(), s.home())
	}
	sent := api.sent()
	for i, b := range sent {
		_ = os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("request-%02d.json", i+1)), b, 0o644)
	}
	for _, b := range sent { // a client may compact first, so the last request counts
		r.body = b
		if bytes.Contains(b, []byte("prompt 90: ")) && !through {
			break // the retry of Pare comes last
		}
	}
	_ = os.WriteFile(filepath.Join(r.dir, "output.txt"), []byte(r.out), 0o644)
	if r.body == nil {
		return r
	}
	_ = os.WriteFile(filepath.Join(r.dir, "request.json"), r.body, 0o644)
	r.marks, r.times = marksIn(r.body), map[string]int{}
	for _, m := range allMarks(r.body) {
		r.times[string(m)]++
	}
	req, err := wire.Parse(r.body, wire.Options{Dialect: c.dialect})
	if r.err = err; err == nil {
		r.found = req.Check(wire.CheckOptions{})
		r.pairs = pairsIn(req.Transcript())
	}
	return r
}

// stored are the bytes of the session that are whole and part of the conversation.
func (c *campaign) stored(s seat) (all []byte) {
	if c.client.stored != nil {
		return c.client.stored(c.newest(s))
	}
	files := []string{c.newest(s)}
	if c.storage != "" {
		files, _ = filepath.Glob(filepath.Join(s.home(), c.sessions))
	}
	for _, f := range files {
		if c.storage != "" { // opencode leaves the parts of messages that are undone
			message, _ := filepath.Glob(filepath.Join(s.home(), c.storage, "message/*", filepath.Base(filepath.Dir(f))+".json"))
			if message == nil {
				continue
			}
		}
		data, _ := os.ReadFile(f)
		data = bytes.TrimPrefix(data, mark) // the rest of the file is valid
		lines := bytes.Lines(data)
		if json.Valid(data) { // one document
			lines = slices.Values([][]byte{data})
		}
		for line := range lines {
			var v any
			if c.spoken(line) && json.Unmarshal(line, &v) == nil {
				all = append(append(all, raw(c.words(v))...), '\n')
			}
		}
		if all == nil && c.storage == "" { // a document that is torn, or there twice: something of it can be read
			all = data
		}
	}
	return all
}

// words returns a value without the notes that clients keep outside of the conversation.
func (c *campaign) words(v any) any {
	switch v := v.(type) {
	case object:
		for name, in := range v {
			if v[name] = c.words(in); slices.Contains(c.notes, name) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = c.words(v[i])
		}
	}
	return v
}

// spoken reports whether a line is one of those that requests are made from.
func (c *campaign) spoken(line []byte) bool {
	return c.speech == nil || c.speech.Match(line)
}

// repair lets pare repair the session, and returns its output and whether it changed anything.
func (c *campaign) repair(dir string) (said string, changed bool) {
	s := seat{dir: dir}
	file := c.newest(s)
	if c.storage != "" {
		file = filepath.Join(s.home(), c.storage)
	}
	old := content(file)
	out, _ := exec.Command(c.pare, "fix", "--in-place", "--force", file).CombinedOutput()
	return string(out), !bytes.Equal(old, content(file))
}

// content returns the content of a file, or of all files of a folder.
func content(path string) (all []byte) {
	_ = filepath.WalkDir(path, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(name)
			all = append(append(append(all, name...), 0), data...)
		}
		return nil
	})
	return all
}

// marks matches the recognizable texts of a conversation: prompts, replies, calls and results.
var marks = regexp.MustCompile(`prompt [1-8]: [a-z]+|reply [1-8]: done|contents alpha|contents beta|(echo )?output [1-8] of the program\b|\b[ab]\.txt\b|sleep 100|\bmissing\.txt\b|\bpicture\.png\b`)

// listed matches file names that clients list before the conversation, and calls that they
// repeat in results.
var listed = regexp.MustCompile(`───[a-z.]+|Command: echo output [1-8] of the program`)

func allMarks(text []byte) [][]byte { return marks.FindAll(listed.ReplaceAll(text, nil), -1) }

func marksIn(text []byte) (all []string) {
	for _, m := range allMarks(text) {
		if !slices.Contains(all, string(m)) {
			all = append(all, string(m))
		}
	}
	return all
}

// intersect returns the elements of both lists.
func intersect(a, b []string) (all []string) {
	for _, m := range a {
		if slices.Contains(b, m) {
			all = append(all, m)
		}
	}
	return all
}

// pairsIn returns the calls of a request with their results, by their marks.
func pairsIn(t *transcript.Transcript) (all []string) {
	for _, x := range t.Exchanges() {
		if x.Call < 0 {
			continue
		}
		calls := marksIn(t.Bytes(t.Blocks()[x.Call].Span))
		for _, call := range calls {
			for _, b := range x.Results {
				for _, result := range marksIn(t.Bytes(t.Blocks()[b].Span)) {
					if !slices.Contains(calls, result) { // an error may only name the file that the call names
						all = append(all, call+between+result)
					}
				}
			}
		}
	}
	return all
}

const between = " => "

// A wish is the expected content of the request of a resumed session.
type expectation struct {
	texts []string       // in their order
	times map[string]int // at most so often
	pairs []string
}

// wanted is what an undamaged session sends and the damaged file still holds.
func newExpectation(whole, damaged *resumption) expectation {
	w := expectation{texts: intersect(whole.marks, damaged.left), times: whole.times}
	for _, p := range whole.pairs {
		call, result, _ := strings.Cut(p, between)
		if slices.Contains(w.texts, call) && slices.Contains(w.texts, result) {
			w.pairs = append(w.pairs, p)
		}
	}
	return w
}

// clean is the verdict on a request that has no finding and is all that is wanted.
const clean = "clean"

// verdict summarizes the missing parts of a request.
func (r *resumption) verdict(w expectation) string {
	if r.body == nil {
		return "nothing"
	}
	if r.err != nil {
		return "unreadable"
	}
	got := intersect(r.marks, w.texts)
	count := fmt.Sprintf("%d/%d", len(got), len(w.texts))
	twice := slices.ContainsFunc(got, func(m string) bool { return r.times[m] > w.times[m] })
	switch {
	case len(r.found) > 0:
		return string(r.found[0].Rule) + " " + count
	case len(got) < len(w.texts):
		return count
	case len(intersect(w.pairs, r.pairs)) < len(w.pairs):
		return "parted " + count
	case twice:
		return "twice " + count
	case !slices.Equal(got, w.texts):
		return "disorder " + count
	}
	return clean + " " + count
}
