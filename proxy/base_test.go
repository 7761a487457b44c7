package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
)

// base is an upstream that is a function.
type base func(r *http.Request, body []byte) *http.Response

func (f base) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	resp := f(r, body)
	resp.Request = r
	return resp, nil
}

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// claude is a history of n exchanges, of some 200 tokens each.
func claude(n int) string { return benchdata.Exchanges(n) }

// addressOf is the address of a path, of some host if it names none.
func addressOf(path string) string {
	if strings.HasPrefix(path, "//") {
		return "http:" + path
	}
	return "http://host" + path
}

// request is one to Anthropic's path.
func request(body string) *http.Request {
	return httptest.NewRequest(http.MethodPost, addressOf("/v1/messages"), strings.NewReader(body))
}

// drain reads a reply to its end.
func drain(t *testing.T, resp *http.Response) {
	t.Helper()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
