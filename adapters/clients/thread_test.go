package clients

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// TestMessageThreadsOfSDK: the official library's tool runner holds a conversation with a message
// thread. The stand-in, which enforces the rules of threads, gets the same requests without Pare, with
// the proxy, and with the package for JavaScript as the library's middleware.
func TestMessageThreadsOfSDK(t *testing.T) {
	dir := installed(t, "@anthropic-ai/sdk")
	linkOwn(t, dir)
	script, err := os.ReadFile("testdata/thread.mjs")
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, base string, stream, middleware bool) string {
		cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", string(script), "--", base, strconv.FormatBool(stream), strconv.FormatBool(middleware))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "NO_PROXY=127.0.0.1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		return string(out)
	}
	model := func(r *wire.Request) paretest.Reply {
		if n := len(r.Transcript().Messages()); n < 9 {
			return paretest.Reply{Text: "I look.", Calls: []paretest.ToolCall{{Tool: "read", Arguments: `{"path":"a.go"}`}, {Tool: "read", Arguments: `{"path":"b.go"}`}}}
		}
		return paretest.Reply{Text: "Done."}
	}
	for _, stream := range []bool{false, true} {
		t.Run(map[bool]string{false: "whole", true: "stream"}[stream], func(t *testing.T) {
			l := newLab(t, &paretest.Mock{Reply: model}, func(c *proxy.Config) {
				c.Policy = &pare.Policy{Window: &pare.Window{Tokens: 1500}}
			})
			said := run(t, l.direct, stream, false)
			direct := l.alone.take(t)
			if len(direct) != 6 || !strings.Contains(string(direct[1].Body), `"type":"continue"`) || direct[1].Header.Get("Anthropic-Version") != "2026-10-21" {
				t.Fatalf("%d requests, the second is %s", len(direct), direct[1].Body)
			}
			if through := run(t, l.through, stream, false); through != said {
				t.Errorf("another conversation through the proxy:\n%s\n%s", said, through)
			}
			sameRequests(t, direct, l.behind.take(t))
			if within := run(t, l.direct, stream, true); within != said {
				t.Errorf("another conversation with the middleware:\n%s\n%s", said, within)
			}
			sameRequests(t, direct, l.alone.take(t))
		})
	}
}
