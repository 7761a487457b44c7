package serve

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
)

// Totals are sums over all requests since the start.
type Totals struct {
	Requests int64        `json:"requests"`
	Changed  int64        `json:"changed"`
	BytesIn  int64        `json:"bytes_in"`
	BytesOut int64        `json:"bytes_out"`
	Reply    int64        `json:"reply_bytes"`
	Saved    int64        `json:"saved_tokens"`
	Usage    tokens.Usage `json:"usage"`   // as reported by the providers
	Dollars  float64      `json:"dollars"` // at list prices, for known models
	Spared   float64      `json:"spared_dollars"`
	// Thrift counts removals that are free; nil if no policy makes them.
	Thrift *ui.Thrift `json:"thrift,omitempty"`
	Fitted int64      `json:"fitted"` // answered requests that had exceeded their window
	Lost   int64      `json:"lost"`   // requests that the provider reports as shortened
	Known  int64      `json:"known"`  // requests planned with knowledge from earlier ones
	// Remembered counts requests that were stored, Unremembered those that the store could not
	// take in time.
	Remembered   int64            `json:"remembered"`
	Unremembered int64            `json:"unremembered"`
	Rules        map[string]int64 `json:"rules"`   // changes by rule
	Healed       map[string]int64 `json:"healed"`  // heals by rule
	Failed       map[string]int64 `json:"failed"`  // heals that did not help, by rule
	Skipped      map[string]int64 `json:"skipped"` // by reason
	Faults       map[string]int64 `json:"faults"`  // requests by the part of the policy that failed
	Status       map[string]int64 `json:"status"`  // replies by status; "0": none came
}

type totals struct {
	Totals
	planned, waited           histogram
	tokensBefore, tokensAfter int   // tokens of histories as they came and as they went on
	refused                   int64 // answers of 400 and above
	priced                    map[string]modelPrice
}

// A modelPrice is the price of a model.
type modelPrice struct {
	price   tokens.Price
	cache   tokens.Cache
	isKnown bool
}

// priceOf returns the price of a model. It caches a bounded number of prices, because clients
// choose the names.
func (t *totals) priceOf(model string) modelPrice {
	p, ok := t.priced[model]
	if !ok {
		p.price, p.isKnown = tokens.PriceOf(model)
		p.cache = tokens.CacheOf(model)
		if len(t.priced) < 1000 {
			t.priced[model] = p
		}
	}
	return p
}

func newTotals() totals {
	return totals{Totals: Totals{
		Rules: map[string]int64{}, Healed: map[string]int64{}, Failed: map[string]int64{}, Skipped: map[string]int64{}, Faults: map[string]int64{}, Status: map[string]int64{},
	}, planned: newHistogram(), waited: newHistogram(), priced: make(map[string]modelPrice)}
}

func (t *totals) add(r *proxy.Record) {
	t.Requests++
	t.BytesIn += max(r.BytesIn, 0)
	t.BytesOut += r.BytesOut
	t.Reply += r.Reply
	t.Saved += int64(r.Saved)
	if len(r.Changes) > 0 {
		t.Changed++
	}
	for _, c := range r.Changes {
		t.Rules[c.Rule]++
	}
	if len(r.Known) > 0 {
		t.Known++
	}
	if r.Healed != "" {
		t.Healed[r.Healed]++
	}
	if r.Tried != "" {
		t.Failed[r.Tried]++
	}
	if r.Skipped != "" {
		t.Skipped[string(r.Skipped)]++
	}
	for _, part := range r.Faults {
		t.Faults[part]++
	}
	t.Status[strconv.Itoa(r.Status)]++
	if r.Status >= 400 {
		t.refused++
	}
	before, after := size(r)
	t.tokensBefore += before
	t.tokensAfter += after
	t.addTrimGroup(r)
	t.addUsage(r)
	t.planned.add(r.Planned)
	t.waited.add(r.Waited)
}

// addTrimGroup adds the free removals of a request, and how many of them were fetched again.
func (t *totals) addTrimGroup(r *proxy.Record) {
	if r.Thrift == "" {
		return
	}
	if t.Thrift == nil {
		t.Thrift = new(ui.Thrift)
	}
	w := t.Thrift
	w.Requests++
	w.Cut += r.Cut
	switch r.Thrift {
	case "control":
		w.Control++
	case "stopped":
		w.Stopped++
	}
	w.Fetched += r.Fetched
}

// addUsage adds tokens and money.
func (t *totals) addUsage(r *proxy.Record) {
	t.Usage.Input += r.Usage.Input
	t.Usage.Read += r.Usage.Read
	t.Usage.Written += r.Usage.Written
	t.Usage.Output += r.Usage.Output
	if r.Lost {
		t.Lost++
	}
	answered := r.Status > 0 && r.Status < 400
	if answered && r.Over {
		t.Fitted++
	}
	spent, spared := t.costs(r)
	t.Dollars += spent
	t.Spared += spared
}

// costs returns what a request was billed, and the net saving of the changes. Both are zero if
// the price is unknown.
func (t *totals) costs(r *proxy.Record) (spent, spared float64) {
	p := t.priceOf(r.Model)
	if !p.isKnown {
		return 0, 0
	}
	spent = p.price.Cost(p.cache, r.Usage)
	switch {
	case r.Status == 0 || r.Status >= 400 || r.Over: // a refused request saves nothing
	case r.Cached:
		// Most of the removed tokens, and all rewritten ones, would have been read from the cache.
		spared = p.price.Cost(p.cache, tokens.Usage{Read: r.Saved}) + p.price.Cost(p.cache, tokens.Usage{Read: r.Rewritten}) - p.price.Cost(p.cache, tokens.Usage{Written: r.Rewritten})
	default:
		spared = p.price.Cost(p.cache, tokens.Usage{Input: r.Saved})
	}
	return spent, spared
}

// Totals returns the sums so far.
func (w *Watch) Totals() Totals {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.totals.Totals
	if t.Thrift != nil {
		now := *t.Thrift
		t.Thrift = &now
	}
	t.Rules, t.Healed, t.Failed, t.Skipped, t.Faults, t.Status = maps.Clone(t.Rules), maps.Clone(t.Healed), maps.Clone(t.Failed), maps.Clone(t.Skipped), maps.Clone(t.Faults), maps.Clone(t.Status)
	return t
}

// A histogram counts durations.
type histogram struct {
	counts []int64
	sum    time.Duration
	n      int64
}

// bounds are the upper bounds of the buckets; the last bucket has none.
var bounds = []time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second,
}

func newHistogram() histogram { return histogram{counts: make([]int64, len(bounds))} }

func (h *histogram) add(d time.Duration) {
	for i, b := range bounds {
		if d <= b {
			h.counts[i]++
		}
	}
	h.sum += d
	h.n++
}

func (h *histogram) write(b *bytes.Buffer, name, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	for i, d := range bounds {
		fmt.Fprintf(b, "%s_bucket{le=%q} %d\n", name, strconv.FormatFloat(d.Seconds(), 'g', -1, 64), h.counts[i])
	}
	fmt.Fprintf(b, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, h.n, name, h.sum.Seconds(), name, h.n)
}

// metrics writes all metrics in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write(s.watches.everything.metrics())
	if s.receipts != nil {
		const name = "pare_unkept_total"
		fmt.Fprintf(w, "# HELP %s Receipts, and what was learned of conversations, that the store did not take.\n# TYPE %s counter\n", name, name)
		fmt.Fprintf(w, "%s{what=\"lessons\"} %d\n%s{what=\"receipts\"} %d\n", name, s.learned.lost.Load(), name, s.receipts.lost.Load())
	}
}

func (w *Watch) metrics() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b bytes.Buffer
	t := &w.totals
	for _, m := range []struct {
		name, help string
		value      int64
	}{
		{"pare_requests_total", "Requests that were looked at.", t.Requests},
		{"pare_requests_changed_total", "Requests that were changed.", t.Changed},
		{"pare_request_bytes_total", "Bytes of requests as they came.", t.BytesIn},
		{"pare_sent_bytes_total", "Bytes of requests as they went on.", t.BytesOut},
		{"pare_reply_bytes_total", "Bytes of replies.", t.Reply},
		{"pare_saved_tokens_total", "Tokens that changes took out, estimated.", t.Saved},
		{"pare_input_tokens_total", "Tokens of requests that were neither read from a cache nor written to it, as the providers count.", int64(t.Usage.Input)},
		{"pare_cache_read_tokens_total", "Tokens of requests that came from a cache.", int64(t.Usage.Read)},
		{"pare_cache_written_tokens_total", "Tokens of requests that were written to a cache.", int64(t.Usage.Written)},
		{"pare_output_tokens_total", "Tokens of replies, as the providers count.", int64(t.Usage.Output)},
		{"pare_remembered_total", "Requests that were planned with what had healed an earlier one of the same conversation.", t.Known},
		{"pare_fitted_total", "Requests that were answered, and too long to be sent as they came.", t.Fitted},
		{"pare_conversation_requests_total", "Requests that became part of a remembered conversation.", t.Remembered},
		{"pare_conversation_drops_total", "Requests that were to be remembered and were not: the store did not keep up, or could not take them.", t.Unremembered},
		{"pare_lost_total", "Requests that a provider says it has shortened itself.", t.Lost},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s counter\n%s %d\n", m.name, m.help, m.name, m.name, m.value)
	}
	for _, m := range []struct {
		name, help, label string
		values            map[string]int64
	}{
		{"pare_changes_total", "Changes by rule.", "rule", t.Rules},
		{"pare_healed_total", "Refusals that were healed by sending once more.", "rule", t.Healed},
		{"pare_heal_failed_total", "Refusals that could not be healed.", "rule", t.Failed},
		{"pare_skipped_total", "Requests that went on as they came, by reason.", "reason", t.Skipped},
		{"pare_faults_total", "Requests that were planned without a part of the policy, because the part failed.", "part", t.Faults},
		{"pare_replies_total", "Replies by status; 0 is none.", "status", t.Status},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s counter\n", m.name, m.help, m.name)
		for _, key := range slices.Sorted(maps.Keys(m.values)) {
			fmt.Fprintf(&b, "%s{%s=\"%s\"} %d\n", m.name, m.label, escape(key), m.values[key])
		}
	}
	t.planned.write(&b, "pare_plan_seconds", "Time that Pare took to plan.")
	t.waited.write(&b, "pare_first_byte_seconds", "Time to the head of the reply.")
	return b.Bytes()
}

// escape writes the value of a label.
func escape(v string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(v)
}
