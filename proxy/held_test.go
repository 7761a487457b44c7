package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A writer that lets go of a body while it is being written.
type during func(p []byte) (int, error)

func (f during) Write(p []byte) (int, error) { return f(p) }

// TestBytesAreHeldWhileTheyAreWritten: a transport closes a body that it has given up while a
// connection still writes it.
func TestBytesAreHeldWhileTheyAreWritten(t *testing.T) {
	text := strings.Repeat("a", smallBuffer)
	b, _, err := readBody(io.NopCloser(strings.NewReader(text)), int64(len(text)), smallBuffer)
	if err != nil || b.pool == nil {
		t.Fatal(err, b)
	}
	r := newReader(b)
	n, err := r.writeTo(during(func(p []byte) (int, error) {
		r.Close()
		if string(p) != text {
			t.Error("the bytes were given back while they were written")
		}
		return len(p), nil
	}), nil)
	if n != int64(len(text)) || err != nil {
		t.Error(n, err)
	}
	if b.refs.Load() != 0 || b.buf != nil {
		t.Error("the bytes are not given back", b.refs.Load())
	}
	if _, err := r.writeTo(io.Discard, nil); err == nil {
		t.Error("a closed body was written")
	}
}

// TestRoomToUnpack: what a small body unpacks to takes room, and where there is none, it goes
// on as it came.
func TestRoomToUnpack(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, unanswered)
	z.Close()
	var got []byte
	var left bool // when it is unpacked
	tr := &Transport{MaxBody: 1000, PlanTime: time.Millisecond, room: newRoom(1000 + int64(packed.Len()))}
	tr.Base = base(func(r *http.Request, body []byte) *http.Response {
		got = body
		if left = tr.room.all.TryAcquire(1000 - int64(len(unanswered))); left {
			tr.room.all.Release(1000 - int64(len(unanswered)))
		}
		return answer(200, "{}")
	})
	send := func() *http.Response {
		req := request(packed.String())
		req.Header.Set("Content-Encoding", "gzip")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		drain(t, resp)
		return resp
	}
	other, err := tr.room.take(t.Context(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if resp := send(); resp.Header.Get("Pare-Skipped") != string(SkipTime) || !bytes.Equal(got, packed.Bytes()) {
		t.Error(resp.Header)
	}
	other.free()
	tr.PlanTime = -1
	if resp := send(); resp.Header.Get("Pare-Changes") == "0" || bytes.Equal(got, packed.Bytes()) || !left {
		t.Error(resp.Header, left)
	}
	if !tr.room.all.TryAcquire(tr.room.size) {
		t.Error("not all of the room is given back")
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
		x := resp.Body.(*watched).x
		if x.plain != nil || x.sent != nil || x.aim.raw != nil || x.o.body != nil || x.o.plan != nil || x.o.planned != nil || x.body.buf != nil {
			t.Errorf("%s: the history is held", name)
		}
		if r, ok := sent.Body.(*reader); !ok || r.bytes != nil {
			t.Errorf("%s: the body is held", name)
		}
		drain(t, resp)
	}
}
