package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestMemoryToUnpack: what a small body unpacks to takes memory, and all of it is given back.
func TestMemoryToUnpack(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, strings.Replace(unanswered, "hi", strings.Repeat("x", 300<<10), 1))
	z.Close()
	var sent []byte
	var used int64
	tr := &Transport{PlanTime: -1, budget: newMemoryBudget(1<<30, 0)}
	tr.Base = base(func(r *http.Request, body []byte) *http.Response {
		sent, used = body, tr.budget.used
		return answer(200, "{}")
	})
	req := request(packed.String())
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	drain(t, resp)
	if resp.Header.Get("Pare-Changes") == "0" || len(sent) < 300<<10 || used < int64(len(sent))-1000 || used > 2*int64(len(sent)) {
		t.Error(resp.Header, len(sent), used)
	}
	if tr.budget.used != 0 || len(tr.budget.accounts) != 0 {
		t.Error(tr.budget.used, "bytes are not given back")
	}
}

// unanswered has a call without a result.
const unanswered = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]},{"role":"user","content":"and?"}]}`

// TestLongRepliesHoldNoHistory: what was sent is not needed while a reply comes.
func TestLongRepliesHoldNoHistory(t *testing.T) {
	var sent *http.Request
	// A plan that is given up holds the history until it notices.
	tr := &Transport{PlanTime: -1, Base: base(func(r *http.Request, body []byte) *http.Response { sent = r; return answer(200, "{}") })}
	for name, body := range map[string]string{"changed": strings.Replace(unanswered, "hi", strings.Repeat("x", 100_000), 1), "clean": claude(200)} {
		resp, err := tr.RoundTrip(request(body))
		if err != nil {
			t.Fatal(err)
		}
		x := resp.Body.(*replyReader).exchange
		if x.decompressed != nil || x.sentBody != nil || x.result.body != nil || x.result.plan != nil || x.result.plannedRequest != nil || x.body.buf != nil {
			t.Errorf("%s: the history is held", name)
		}
		if r, ok := sent.Body.(*bodyReader); !ok || r.bytes != nil {
			t.Errorf("%s: the body is held", name)
		}
		drain(t, resp)
	}
}
