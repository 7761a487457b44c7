package replay_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// A history is one conversation of the corpus, as a request body.
type history struct {
	group, name string
	r           *wire.Request
	mended      int // changes that were needed
}

// corpusDir is where the recorded transcripts lie; they are not part of the
// project. PARE_CORPUS overrides it.
func corpusDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("PARE_CORPUS")
	if dir == "" {
		dir = "../../shared/corpus"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED, LOUDLY: no corpus of transcripts at %s; set PARE_CORPUS to run this test", dir)
	}
	return dir
}

// corpus reads the histories of the corpus that are, or can be made, request bodies,
// and mends them. What agents keep in files of their own is taken out of them only as
// far as is needed here.
func corpus(t testing.TB) []history {
	c := &collector{t: t, dir: corpusDir(t), seen: make(map[string]bool)}
	c.recorded()
	c.tau()
	c.sweAgent()
	c.gym()
	c.claudeCode()
	c.pi()
	c.codex()
	c.cline()
	return c.all
}

type collector struct {
	t    testing.TB
	dir  string
	all  []history
	seen map[string]bool
}

// files lists the files of a pattern with their content, unpacked.
func (c *collector) files(pattern string) (names []string, contents [][]byte) {
	names, err := filepath.Glob(filepath.Join(c.dir, pattern))
	if err != nil || len(names) == 0 {
		c.t.Fatalf("nothing in the corpus is called %s", pattern)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			c.t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				c.t.Fatal(err)
			}
			if data, err = io.ReadAll(z); err != nil {
				c.t.Fatal(err)
			}
		}
		contents = append(contents, data)
	}
	return names, contents
}

// add takes in a history, mended, unless it is in its group already.
func (c *collector) add(group, name, model string, body []byte) {
	if key := group + "\x00" + string(body); c.seen[key] {
		return
	} else {
		c.seen[key] = true
	}
	r, err := wire.Parse(body, wire.Options{Model: model})
	if err != nil {
		c.t.Fatalf("%s %s: %v", group, name, err)
	}
	plan, err := pare.Repair(r, pare.Options{})
	if err != nil {
		c.t.Fatalf("%s %s: %v", group, name, err)
	}
	if len(plan.Left()) > 0 {
		c.t.Logf("%s %s: left out, cannot be mended: %v", group, name, plan.Left()[0])
		return
	}
	c.all = append(c.all, history{group, name, plan.Result(), len(plan.Changes())})
}

func (c *collector) decode(data []byte, v any) {
	c.t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		c.t.Fatal(err)
	}
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

type object = map[string]json.RawMessage

// values yields the JSON values of a file; some lines hold two.
func values(data []byte, yield func(json.RawMessage)) {
	for line := range bytes.Lines(data) {
		dec := json.NewDecoder(bytes.NewReader(line))
		for {
			var v json.RawMessage
			if dec.Decode(&v) != nil {
				break
			}
			yield(v)
		}
	}
}

var modelInURL = regexp.MustCompile(`/models?/([^/:]+(?:%3A\d+)?)`)

// recorded takes requests that were sent to a provider; of those that continue one
// another only the last.
func (c *collector) recorded() {
	type exchange struct {
		Source string
		N      int
		URL    string
		Body   json.RawMessage
		list   []json.RawMessage
	}
	names, contents := c.files("*/*.requests.jsonl*")
	for i, name := range names {
		group := filepath.Base(filepath.Dir(name))
		var all []exchange
		values(contents[i], func(v json.RawMessage) {
			var x exchange
			c.decode(v, &x)
			var lists struct{ Messages, Input, Contents json.RawMessage }
			c.decode(x.Body, &lists)
			for _, l := range []json.RawMessage{lists.Messages, lists.Input, lists.Contents} {
				if len(l) > 0 && l[0] == '[' {
					c.decode(l, &x.list)
				}
			}
			all = append(all, x)
		})
		for j, x := range all {
			continued := slices.ContainsFunc(all, func(y exchange) bool {
				return y.Source == x.Source && len(y.list) > len(x.list) && slices.EqualFunc(x.list, y.list[:len(x.list)], func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
			})
			if continued {
				continue
			}
			model := ""
			if m := modelInURL.FindStringSubmatch(x.URL); m != nil {
				model, _ = url.PathUnescape(m[1])
			}
			c.add("recorded requests: "+group, fmt.Sprintf("%s #%d", filepath.Base(name), j), model, x.Body)
		}
	}
}

// tau takes the runs of tau-bench.
func (c *collector) tau() {
	names, contents := c.files("openai_chat/*tau-bench*")
	for i, data := range contents {
		var runs []struct{ Traj json.RawMessage }
		c.decode(data, &runs)
		for j, run := range runs {
			c.add("tau-bench (gpt-4o)", fmt.Sprintf("%s #%d", filepath.Base(names[i]), j), "", encode(object{"model": []byte(`"gpt-4o"`), "messages": run.Traj}))
		}
	}
}

// sweAgent takes the histories of SWE-agent; the model is not in them.
func (c *collector) sweAgent() {
	names, contents := c.files("openai_chat/*.traj*")
	for i, data := range contents {
		var run struct{ History json.RawMessage }
		c.decode(data, &run)
		c.add("SWE-agent (as gpt-4o)", filepath.Base(names[i]), "", encode(object{"model": []byte(`"gpt-4o"`), "messages": run.History}))
	}
}

// gym takes the rollouts of NeMo Gym: what was asked and what came of it.
func (c *collector) gym() {
	names, contents := c.files("openai_responses/*rollouts.jsonl*")
	for i, data := range contents {
		j := 0
		values(data, func(v json.RawMessage) {
			j++
			var run struct {
				Params   object `json:"responses_create_params"`
				Response struct {
					Model  string
					Output []json.RawMessage
				}
			}
			c.decode(v, &run)
			var input []json.RawMessage
			if raw := run.Params["input"]; len(raw) > 0 && raw[0] == '"' {
				input = []json.RawMessage{encode(object{"role": []byte(`"user"`), "content": raw})}
			} else {
				c.decode(raw, &input)
			}
			body := object{"model": encode(run.Response.Model), "input": encode(append(input, run.Response.Output...))}
			for _, key := range []string{"instructions", "tools"} {
				if v := run.Params[key]; len(v) > 0 && v[0] != 'n' {
					body[key] = v
				}
			}
			c.add("NeMo Gym rollouts", fmt.Sprintf("%s #%d", filepath.Base(names[i]), j), "", encode(body))
		})
	}
}

// A line is one of a session of Claude Code.
type line struct {
	Type        string
	Subtype     string
	IsSidechain bool
	Message     struct {
		ID      string
		Role    string
		Model   string
		Content json.RawMessage
	}
}

// claudeCode takes the messages out of sessions, those of sub-agents apart. A
// session that was compacted is several histories: what was sent after a compaction
// begins with its summary. It is also taken as one, as if it had not been.
func (c *collector) claudeCode() {
	names, contents := c.files("claude_code/*")
	for i, data := range contents {
		for _, side := range []bool{false, true} {
			parts := [][]line{nil}
			values(data, func(v json.RawMessage) {
				var l line
				if json.Unmarshal(v, &l) != nil || l.IsSidechain != side {
					return
				}
				last := &parts[len(parts)-1]
				switch {
				case l.Subtype == "compact_boundary" && len(*last) > 0:
					parts = append(parts, nil)
				case (l.Type == "user" || l.Type == "assistant") && len(l.Message.Content) > 0 && l.Message.Model != "<synthetic>":
					*last = append(*last, l)
				}
			})
			name := strings.TrimSuffix(filepath.Base(names[i]), ".gz")
			if side {
				name += " (sub-agents)"
			}
			for j, part := range parts {
				c.claudePart("Claude Code", fmt.Sprintf("%s #%d", name, j+1), part)
			}
			if len(parts) > 1 {
				c.claudePart("Claude Code, never compacted", name, slices.Concat(parts...))
			}
		}
	}
}

func (c *collector) claudePart(group, name string, lines []line) {
	if len(lines) < 3 {
		return
	}
	type message struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	var list []message
	model, last := "", ""
	for _, l := range lines {
		var blocks []json.RawMessage
		if l.Message.Content[0] == '"' {
			blocks = []json.RawMessage{encode(object{"type": []byte(`"text"`), "text": l.Message.Content})}
		} else {
			c.decode(l.Message.Content, &blocks)
		}
		if l.Message.Model != "" {
			model = l.Message.Model
		}
		// A message of the model is spread over lines; results come one per line.
		if n := len(list); n > 0 && list[n-1].Role == l.Message.Role && (l.Message.Role == "user" || l.Message.ID == last) {
			list[n-1].Content = append(list[n-1].Content, blocks...)
		} else {
			list = append(list, message{l.Message.Role, blocks})
		}
		last = l.Message.ID
	}
	c.add(group, name, "", encode(object{"model": encode(model), "max_tokens": []byte("8192"), "messages": encode(list)}))
}

// pi takes the session of pi and writes it as Anthropic's API has it.
func (c *collector) pi() {
	type block struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		IsError   bool            `json:"is_error,omitempty"`
		Content   []block         `json:"content,omitempty"`
	}
	type message struct {
		Role       string  `json:"role"`
		Content    []block `json:"content"`
		ToolCallID string  `json:"toolCallId,omitempty"`
		IsError    bool    `json:"isError,omitempty"`
	}
	names, contents := c.files("pi_session/*")
	for i, data := range contents {
		var list []message
		values(data, func(v json.RawMessage) {
			var l struct {
				Type    string
				Message message
			}
			c.decode(v, &l)
			if l.Type != "message" || len(l.Message.Content) == 0 {
				return
			}
			m := l.Message
			var blocks []block
			for _, b := range m.Content {
				switch b.Type {
				case "thinking": // unsigned
				case "toolCall":
					blocks = append(blocks, block{Type: "tool_use", ID: b.ID, Name: b.Name, Input: b.Arguments})
				default:
					blocks = append(blocks, b)
				}
			}
			if m.Role == "toolResult" {
				blocks = []block{{Type: "tool_result", ToolUseID: m.ToolCallID, IsError: m.IsError, Content: blocks}}
				m.Role = "user"
			}
			if n := len(list); n > 0 && list[n-1].Role == m.Role {
				list[n-1].Content = append(list[n-1].Content, blocks...)
			} else {
				list = append(list, message{Role: m.Role, Content: blocks})
			}
		})
		c.add("pi", filepath.Base(names[i]), "", encode(object{"model": []byte(`"claude-sonnet-4-5"`), "messages": encode(list)}))
	}
}

// codex takes the items of a rollout of the old layout; the model is not in it.
func (c *collector) codex() {
	names, contents := c.files("codex_rollout/*example*")
	for i, data := range contents {
		var items []json.RawMessage
		body := object{"model": []byte(`"gpt-5-codex"`), "store": []byte("false")}
		values(data, func(v json.RawMessage) {
			var l struct {
				Type         string
				Instructions json.RawMessage
			}
			c.decode(v, &l)
			switch {
			case l.Type != "":
				items = append(items, v)
			case l.Instructions != nil:
				body["instructions"] = l.Instructions
			}
		})
		body["input"] = encode(items)
		c.add("Codex (as gpt-5-codex)", filepath.Base(names[i]), "", encode(body))
	}
}

// cline takes tasks of Cline, whose results came back as plain text: that text is
// made the result of the call before it. The model is that of its recorded info.
func (c *collector) cline() {
	type message struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	names, contents := c.files("cline/*")
	for i, data := range contents {
		var list []message
		c.decode(data, &list)
		open := ""
		for j := range list {
			m := &list[j]
			for k, raw := range m.Content {
				var b struct{ Type, ID, Text string }
				c.decode(raw, &b)
				switch {
				case b.Type == "tool_use":
					open = b.ID
				case m.Role == "user" && open != "" && b.Type == "text":
					m.Content[k] = encode(object{"type": []byte(`"tool_result"`), "tool_use_id": encode(open), "content": encode(b.Text)})
					open = ""
				}
			}
		}
		c.add("Cline (as claude-opus-4-5)", filepath.Base(names[i]), "", encode(object{"model": []byte(`"claude-opus-4-5"`), "messages": encode(list)}))
	}
}
