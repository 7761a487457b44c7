package agentlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// sessionOf writes a session as Claude Code does: prompts, each with a call and its
// result and a reply.
func sessionOf(size int, lost bool) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	output := strings.Repeat(`func (s *server) handle(w http.ResponseWriter) {\n\tlog.Printf(\"%s\\n\", s.name) // größer → Ⅷ\n}\n`, 200)
	var b bytes.Buffer
	parent := "null"
	line := func(n int, kind, message string) {
		uuid := fmt.Sprintf(`"%08x-%04x-4000-8000-000000000000"`, r.Uint32(), n&0xffff)
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/me/project","sessionId":"5f0e1b9e-6f3e-4c57-8a55-1f4f4e1f8c11","version":"2.1.325","gitBranch":"main","type":"%s","message":%s,"uuid":%s,"timestamp":"2026-01-%02dT%02d:%02d:%02d.000Z"}`+"\n",
			parent, kind, message, uuid, 1+n/86400%28, n/3600%24, n/60%60, n%60)
		parent = uuid
	}
	for n := 0; b.Len() < size; n += 4 {
		part := output[:strings.LastIndexByte(output[:1+min(len(output)-1, 500+r.IntN(6000))], '}')+1]
		line(n, "user", fmt.Sprintf(`{"role":"user","content":"prompt %d: look at it"}`, n))
		line(n+1, "assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"/home/me/project/x.go"}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":9}}`, n, n))
		if !lost || n > 0 {
			line(n+2, "user", fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]}`, n, part))
		}
		line(n+3, "assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"It handles a request. That is all."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":9}}`, n+3))
	}
	return b.Bytes()
}

// BenchmarkRead reads and checks sessions of Claude Code: written ones of several
// sizes, and the largest of the corpus, if it is there.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{5_000, 50_000, 1_000_000} {
		raw := sessionOf(size, false)
		b.Run(fmt.Sprintf("%dKB", size/1000), func(b *testing.B) { readAndCheck(b, raw) })
	}
	var largest []byte
	for _, s := range samples(b, "claude_code") {
		if len(s.raw) > len(largest) {
			largest = s.raw
		}
	}
	b.Run("corpus", func(b *testing.B) { readAndCheck(b, largest) })
}

func readAndCheck(b *testing.B, raw []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		l, err := Read("s.jsonl", raw, Options{})
		if err != nil {
			b.Fatal(err)
		}
		l.Check(wire.CheckOptions{})
	}
}
