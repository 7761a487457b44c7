package serve

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
)

// TestTraces reads what a collector gets: a span per request, below the one of the client
// if it has one, with the names that are agreed on for models.
func TestTraces(t *testing.T) {
	type message struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					StartTimeUnixNano, EndTimeUnixNano  string
					Attributes                          []struct {
						Key   string
						Value struct{ StringValue, IntValue string }
					}
					Status struct{ Code int }
				}
			}
		}
	}
	got := make(chan message, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/v1/traces" || r.Header.Get("X-Team") != "a b" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		got <- m
	}))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-team=a%20b"}
	traces, err := NewTraces(func(name string) string { return env[name] }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(100, 0)
	traces.Add(&proxy.Record{ID: "one", Time: at, Took: 3 * time.Second, Planned: time.Millisecond, Model: "m", Status: 200, Usage: tokens.Usage{Input: 3, Read: 4, Output: 5},
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	traces.Add(&proxy.Record{ID: "two", Time: at, Status: 529, Trace: "nonsense"})
	traces.Close()
	spans := (<-got).ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 4 {
		t.Fatalf("%d spans", len(spans))
	}
	one, plan, two := spans[0], spans[1], spans[2]
	if one.TraceID != "0af7651916cd43dd8448eb211c80319c" || one.ParentSpanID != "b7ad6b7169203331" || one.StartTimeUnixNano != "100000000000" || one.EndTimeUnixNano != "103000000000" {
		t.Errorf("%+v", one)
	}
	if plan.ParentSpanID != one.SpanID || plan.TraceID != one.TraceID {
		t.Errorf("the plan is not below its request: %+v", plan)
	}
	if len(two.TraceID) != 32 || two.ParentSpanID != "" || two.Status.Code != 2 {
		t.Errorf("%+v", two)
	}
	values := map[string]string{}
	for _, a := range one.Attributes {
		values[a.Key] = a.Value.StringValue + a.Value.IntValue
	}
	for key, want := range map[string]string{"gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "5", "gen_ai.request.model": "m", "http.response.status_code": "200"} {
		if values[key] != want {
			t.Errorf("%s is %q", key, values[key])
		}
	}
	for name, env := range map[string]map[string]string{"none": {}, "off": {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_SDK_DISABLED": "true"}} {
		if traces, err := NewTraces(func(key string) string { return env[key] }, nil); traces != nil || err != nil {
			t.Errorf("%s: %v %v", name, traces, err)
		}
	}
	if _, err := NewTraces(func(string) string { return "collector:4317" }, nil); err == nil || !strings.Contains(err.Error(), "URL") {
		t.Errorf("a name that is no URL: %v", err)
	}
}
