package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare/proxy"
)

// Traces sends a span for every request to a collector of OpenTelemetry, by its protocol
// in JSON over HTTP. The usual variables of the environment say where it is. Many
// goroutines may use it.
type Traces struct {
	to      string
	headers map[string]string
	service string
	client  http.Client
	queue   chan *proxy.Record
	log     *slog.Logger
	done    chan struct{}
}

const (
	spanBatch = 256             // spans in one message
	spanQueue = 2048            // spans that wait; what comes on top is not traced
	spanDelay = 2 * time.Second // how long one waits for others
)

// NewTraces reads the environment. It returns nil where no collector is named, and an
// error where what is named is no URL.
func NewTraces(getenv func(string) string, log *slog.Logger) (*Traces, error) {
	to := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if to == "" {
		if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); base != "" {
			to = strings.TrimSuffix(base, "/") + "/v1/traces"
		}
	}
	if to == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	if u, err := url.Parse(to); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the endpoint for traces is not an http or https URL: see OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	t := &Traces{
		to: to, headers: make(map[string]string), service: getenv("OTEL_SERVICE_NAME"), client: http.Client{Timeout: 10 * time.Second},
		queue: make(chan *proxy.Record, spanQueue), log: log, done: make(chan struct{}),
	}
	if t.service == "" {
		t.service = "pare"
	}
	for _, pair := range strings.Split(getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.QueryUnescape(value); err == nil {
				value = plain
			}
			t.headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	go t.run()
	return t, nil
}

// Add takes a record. It never waits.
func (t *Traces) Add(r *proxy.Record) {
	select {
	case t.queue <- r:
	default:
	}
}

// Close sends the remaining spans.
func (t *Traces) Close() {
	close(t.queue)
	<-t.done
}

func (t *Traces) run() {
	defer close(t.done)
	var batch []*proxy.Record
	late := time.NewTimer(spanDelay)
	defer late.Stop()
	for {
		select {
		case r, open := <-t.queue:
			if !open {
				t.send(batch)
				return
			}
			if batch = append(batch, r); len(batch) < spanBatch {
				continue
			}
		case <-late.C:
			late.Reset(spanDelay)
		}
		t.send(batch)
		batch = batch[:0]
	}
}

func (t *Traces) send(batch []*proxy.Record) {
	if len(batch) == 0 {
		return
	}
	body, err := json.Marshal(t.message(batch))
	if err != nil {
		t.log.Warn("traces", "error", err)
		return
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, t.to, bytes.NewReader(body))
	if err != nil {
		t.log.Warn("traces", "error", err)
		return
	}
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		t.log.Warn("traces are not taken", "error", err)
		return
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.log.Warn("traces are not taken", "status", resp.StatusCode)
	}
}

// An attribute of a span. Numbers of 64 bits are texts in this protocol.
type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func text(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": value}}
}

func figure(key string, value int) attribute {
	return attribute{key, map[string]any{"intValue": strconv.Itoa(value)}}
}

func (t *Traces) message(batch []*proxy.Record) map[string]any {
	spans := make([]map[string]any, 0, 2*len(batch))
	for _, r := range batch {
		spans = append(spans, span(r)...)
	}
	return map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": []attribute{text("service.name", t.service)}},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "pare"}, "spans": spans}},
	}}}
}

const (
	kindInternal, kindClient = 1, 3
	statusError              = 2
)

// span makes two spans of a record: the request, and below it what Pare took.
func span(r *proxy.Record) []map[string]any {
	trace, parent := traceOf(r.Trace)
	id := spanID()
	all := []attribute{
		text("gen_ai.operation.name", "chat"), text("gen_ai.provider.name", r.Upstream), text("http.request.method", r.Method), text("url.path", r.Path),
		figure("http.response.status_code", r.Status), figure("http.request.body.size", int(r.BytesIn)), figure("http.response.body.size", int(r.Reply)),
		text("pare.request.id", r.ID), text("pare.dialect", r.Dialect), figure("pare.changes", len(r.Changes)),
	}
	for _, a := range []struct{ key, value string }{
		{"gen_ai.request.model", r.Model}, {"pare.rules", strings.Join(r.Rules, ",")}, {"pare.healed", r.Healed}, {"pare.skipped", string(r.Skipped)},
	} {
		if a.value != "" {
			all = append(all, text(a.key, a.value))
		}
	}
	for _, a := range []struct {
		key   string
		value int
	}{
		{"gen_ai.usage.input_tokens", r.Usage.Input + r.Usage.Read + r.Usage.Written}, {"gen_ai.usage.output_tokens", r.Usage.Output},
		{"gen_ai.usage.cache_read.input_tokens", r.Usage.Read}, {"gen_ai.usage.cache_creation.input_tokens", r.Usage.Written}, {"pare.saved_tokens", r.Saved},
	} {
		if a.value > 0 {
			all = append(all, figure(a.key, a.value))
		}
	}
	request := map[string]any{
		"traceId": trace, "spanId": id, "name": "chat " + r.Model, "kind": kindClient,
		"startTimeUnixNano": nano(r.Time), "endTimeUnixNano": nano(r.Time.Add(r.Took)), "attributes": all,
	}
	if parent != "" {
		request["parentSpanId"] = parent
	}
	if r.Status >= 400 || r.Error != "" {
		request["status"] = map[string]any{"code": statusError, "message": r.Error}
	}
	return []map[string]any{request, {
		"traceId": trace, "spanId": spanID(), "parentSpanId": id, "name": "plan", "kind": kindInternal,
		"startTimeUnixNano": nano(r.Time), "endTimeUnixNano": nano(r.Time.Add(r.Planned)), "attributes": []attribute{figure("pare.messages", r.Messages)},
	}}
}

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func spanID() string {
	var id [8]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// traceOf reads the header of a client that traces itself (traceparent); without one, the
// trace is a new one.
func traceOf(header string) (trace, parent string) {
	parts := strings.Split(header, "-")
	if len(parts) >= 4 && len(parts[1]) == 32 && len(parts[2]) == 16 && isHex(parts[1]) && isHex(parts[2]) {
		return parts[1], parts[2]
	}
	return spanID() + spanID(), ""
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && strings.Trim(s, "0") != "" && s == strings.ToLower(s)
}
