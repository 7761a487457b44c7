package benchdata

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// ClaudeCode writes a session of about that size as Claude Code does: prompts, each with a
// call and its result and a reply. If lost is set, the first call has no result. It returns
// how much it has written.
func ClaudeCode(w io.Writer, r *rand.Rand, want int, lost bool) (size int64) {
	output := strings.Repeat(`func (s *server) handle(w http.ResponseWriter) {\n\tlog.Printf(\"%s\\n\", s.name) // größer → Ⅷ\n}\n`, 200)
	parent := "null"
	line := func(n int, kind, message string) {
		uuid := fmt.Sprintf(`"%08x-%04x-4000-8000-000000000000"`, r.Uint32(), n&0xffff)
		m, _ := fmt.Fprintf(w, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/me/project","sessionId":"5f0e1b9e-6f3e-4c57-8a55-1f4f4e1f8c11","version":"2.1.325","gitBranch":"main","type":"%s","message":%s,"uuid":%s,"timestamp":"2026-01-%02dT%02d:%02d:%02d.000Z"}`+"\n",
			parent, kind, message, uuid, 1+n/86400%28, n/3600%24, n/60%60, n%60)
		size += int64(m)
		parent = uuid
	}
	for n := 0; int(size) < want; n += 4 {
		part := output[:strings.LastIndexByte(output[:1+min(len(output)-1, 500+r.IntN(6000))], '}')+1]
		line(n, "user", fmt.Sprintf(`{"role":"user","content":"prompt %d: look at it"}`, n))
		line(n+1, "assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"/home/me/project/x.go"}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":9}}`, n, n))
		if !lost || n > 0 {
			line(n+2, "user", fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]}`, n, part))
		}
		line(n+3, "assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"It handles a request. That is all."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":9}}`, n+3))
	}
	return size
}

// Exchanges is a request of n exchanges, of some 200 tokens each.
func Exchanges(n int) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"Begin."}`)
	for i := range n {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"f%d"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`,
			i, i, i, strings.Repeat(fmt.Sprintf("line %d of the file. ", i), 40))
	}
	b.WriteString(`]}`)
	return b.String()
}
