package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// fullOf reads the header of a reply; left is -1 if it says nothing of that.
func fullOf(t *testing.T, resp *http.Response) (size, window int, share float64, left int) {
	t.Helper()
	drain(t, resp)
	text := resp.Header.Get("Pare-Window")
	if text == "" {
		return 0, 0, 0, -1
	}
	left = -1
	if n, err := fmt.Sscanf(text, "tokens=%d, window=%d, share=%g, requests-left=%d", &size, &window, &share, &left); n < 3 {
		t.Fatalf("%q: %v", text, err)
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
	const window = 200_000
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
		if n >= 12 {
			near(t, fmt.Sprintf("%d: left", n), left, (window-is)/each, 5)
			if last.Tokens != size || last.Window != of || last.RequestsLeft == nil || *last.RequestsLeft != left {
				t.Errorf("the record says %d of %d, the header %d of %d", last.Tokens, last.Window, size, of)
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
