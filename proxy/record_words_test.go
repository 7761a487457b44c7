package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pare-llm/pare/proxy"
)

// TestRecordHoldsNoWords: the record of a repaired request has receipts, and none of the text that was removed.
func TestRecordHoldsNoWords(t *testing.T) {
	const body = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"zz","content":"SECRET"}]}]}`
	var record *proxy.Record
	transport := &proxy.Transport{PlanTime: -1, Record: func(r *proxy.Record) { record = r }, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	})}
	req, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if record == nil || len(record.Changes) == 0 {
		t.Fatalf("no receipts: %+v", record)
	}
	for _, c := range record.Changes {
		if c.Removed != "" {
			t.Errorf("%s %s holds %s", c.Action, c.Rule, c.Removed)
		}
	}
}
