package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/fullness"
)

// fullOf reads the header of a reply, with the room in the window; left is -1 if it says nothing of that.
func fullOf(t *testing.T, resp *http.Response) (size, window int, share float64, left int) {
	t.Helper()
	drain(t, resp)
	text := resp.Header.Get("Pare-Window")
	if text == "" {
		return 0, 0, 0, -1
	}
	left = -1
	for _, part := range strings.Split(text, ", ") {
		name, value, _ := strings.Cut(part, "=")
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		switch name {
		case "tokens":
			size = int(x)
		case "room":
			window = int(x)
		case "share":
			share = x
		case "requests-left":
			left = int(x)
		}
	}
	return size, window, share, left
}

func near(t *testing.T, what string, got, want, percent int) {
	t.Helper()
	if got < want*(100-percent)/100 || got > want*(100+percent)/100 {
		t.Errorf("%s: %d, want %d within %d %%", what, got, want, percent)
	}
}

// TestWindowHeader: every reply says how full the window is, as the provider counts, and how many
// more requests there is room for; the record says the same.
func TestWindowHeader(t *testing.T) {
	const window = 200_000 - 100 // max_tokens
	var last Record
	tr := &Transport{PlanTime: -1, Conversations: NewConversations(ConversationsOptions{}), Record: func(r *Record) { last = *r }, Base: base(func(r *http.Request, body []byte) *http.Response {
		resp := answer(200, fmt.Sprintf(`{"usage":{"input_tokens":%d,"output_tokens":5}}`, counts(string(body))*12/10))
		resp.Header.Set("Pare-Window", "tokens=1, window=1, share=1.000") // of another Pare behind this one
		return resp
	})}
	each := (counts(claude(110)) - counts(claude(10))) * 12 / 1000
	for n := 10; n < 60; n++ {
		resp, err := tr.RoundTrip(request(claude(n)))
		if err != nil {
			t.Fatal(err)
		}
		size, of, share, left := fullOf(t, resp)
		is := counts(claude(n)) * 12 / 10
		if n == 10 {
			if of != 0 && of != window {
				t.Errorf("the first one says %q", resp.Header.Get("Pare-Window"))
			}
			continue
		}
		near(t, fmt.Sprintf("%d: tokens", n), size, is, 2)
		if of != window || fmt.Sprintf("%.3f", float64(size)/window) != fmt.Sprintf("%.3f", share) {
			t.Errorf("%d: %q", n, resp.Header.Get("Pare-Window"))
		}
		if n >= 13 {
			near(t, fmt.Sprintf("%d: left", n), left, (window-is)/each, 5)
			if last.Fullness.Header() != resp.Header.Get("Pare-Window") || last.Fullness.RequestsLeft == nil || *last.Fullness.RequestsLeft != left {
				t.Errorf("the record says %+v, the header %q", last.Fullness, resp.Header.Get("Pare-Window"))
			}
		}
	}
}

// TestWindowHeaderPictures: a picture does not cost a token for each few of its bytes.
func TestWindowHeaderPictures(t *testing.T) {
	picture := strings.Repeat("iVBORw0KGgoA", 40_000)
	for name, block := range map[string]string{
		"source": `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}`,
		"spaces": `{"type":"image","source":{"type":"base64","media_type":"image/png","data": "` + picture + `"}}`,
	} {
		body := func(with bool) string {
			said := `{"type":"text","text":"` + strings.Repeat("go on with the work, ", 400) + `"}`
			if with {
				said += "," + block
			}
			return `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"the task"},{"role":"assistant","content":"yes"},{"role":"user","content":[` + said + `]}]}`
		}
		tr := &Transport{PlanTime: -1, Conversations: NewConversations(ConversationsOptions{}), Record: func(*Record) {}, Base: base(func(*http.Request, []byte) *http.Response {
			return answer(200, `{"usage":{"input_tokens":3000,"output_tokens":5}}`)
		})}
		for _, with := range []bool{false, true, true} {
			resp, err := tr.RoundTrip(request(body(with)))
			if err != nil {
				t.Fatal(err)
			}
			if size, _, _, _ := fullOf(t, resp); with {
				near(t, name, size, 3000, 5)
			}
		}
	}
	url := []byte(`{"url":"data:image/png;base64,` + picture + `"}`)
	if n := textBytes(url); n != len(url)-len(picture) {
		t.Errorf("a data URL: %d bytes of text, of %d", n, len(url))
	}
}

// TestWindowHeaderUnknown: nothing is said of a window that is not known, or that is plainly not
// the one.
func TestWindowHeaderUnknown(t *testing.T) {
	for model, used := range map[string]int{"nobody-knows": 1000, "claude-sonnet-4-5": 900_000} {
		tr := &Transport{PlanTime: -1, Conversations: NewConversations(ConversationsOptions{}), Record: func(*Record) {}, Base: base(func(*http.Request, []byte) *http.Response {
			return answer(200, fmt.Sprintf(`{"usage":{"input_tokens":%d,"output_tokens":5}}`, used))
		})}
		for range 3 {
			resp, err := tr.RoundTrip(request(`{"model":"` + model + `","max_tokens":100,"messages":[{"role":"user","content":"the task"},{"role":"assistant","content":"yes"},{"role":"user","content":"go on"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			if size, _, _, _ := fullOf(t, resp); size != 0 {
				t.Errorf("%s: %q", model, resp.Header.Get("Pare-Window"))
			}
		}
	}
}

// TestStopped: a conversation that is above a limit is refused in the words of its API, before it is
// sent; others go on, and so does its first request.
func TestStopped(t *testing.T) {
	sent := 0
	var last Record
	tr := &Transport{PlanTime: -1, Conversations: NewConversations(ConversationsOptions{}), Record: func(r *Record) { last = *r }, Base: base(func(*http.Request, []byte) *http.Response {
		sent++
		return answer(200, `{"usage":{"input_tokens":100000,"output_tokens":5000}}`)
	})}
	tr.stop = func(f *fullness.Outlook) string {
		if f.Dollars > 1 {
			return "$1"
		}
		return ""
	}
	ask := func(body string) *http.Response {
		t.Helper()
		resp, err := tr.RoundTrip(request(body))
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	talk := func(first string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"` + first + `"},{"role":"assistant","content":"yes"},{"role":"user","content":"go on"}]}`
	}
	status := 0
	for n := 1; n < 10; n++ { // each costs 0.3 + 0.075 dollars
		resp := ask(talk("the task"))
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		text := string(body)
		if status = resp.StatusCode; status == 200 {
			continue
		}
		if n != 4 || sent != 3 || status != 403 || !strings.Contains(text, `"type":"error"`) || !strings.Contains(text, "$1") {
			t.Fatalf("request %d, %d sent: %d %s", n, sent, status, text)
		}
		break
	}
	if status != 403 || last.Skipped != skipStopped || last.Status != 403 || last.Fullness == nil || last.Fullness.Dollars < 1 {
		t.Errorf("%d, %+v", status, last)
	}
	if resp := ask(talk("another task")); resp.StatusCode != 200 {
		t.Errorf("another conversation: %d", resp.StatusCode)
	}
	if resp := ask(talk("the task")); resp.StatusCode != 403 || sent != 4 {
		t.Errorf("again: %d, %d sent", resp.StatusCode, sent)
	}
}
