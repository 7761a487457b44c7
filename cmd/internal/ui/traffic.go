//go:build !js

package ui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/pare-llm/pare/internal/fullness"
)

// Traffic is what has passed through a proxy, as its live page shows it: sums since it
// was started, and the newest requests. Many goroutines may read it.
type Traffic struct {
	Since    time.Time `json:"since"`
	Seq      int       `json:"seq"` // of the newest change; see [TrafficSource]
	Totals   Totals    `json:"totals"`
	Requests []Request `json:"requests"` // oldest first
}

// Thrift is what came of leaving results out because that is free, as they arrive or while the cache is
// cold. It is a value.
type Thrift struct {
	Requests int `json:"requests"` // of policies that do that
	Control  int `json:"control"`  // of these, those of conversations that are left alone to compare with
	Stopped  int `json:"stopped"`  // those of conversations that are left alone because too much was fetched again
	Cut      int `json:"cut"`      // results of which something was left out
	Fetched  int `json:"fetched"`  // calls that asked for one of them again
}

// Totals are sums over all requests. A map is by rule or by reason. Many goroutines may
// read it.
type Totals struct {
	Requests int `json:"requests"`
	Running  int `json:"running"`
	Changed  int `json:"changed"`
	Healed   int `json:"healed"`
	Skipped  int `json:"skipped"`
	Refused  int `json:"refused"` // answered with 400 and above

	Before int `json:"before"` // tokens of histories as they came
	After  int `json:"after"`  // and as they went on

	// What the providers say they have counted.
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`

	Spent float64 `json:"spent"` // dollars, by the list prices of models that are known
	// Saved is dollars that what was left out would have cost, less what cutting cost. Requests
	// that could not have been sent as they came have saved nothing: Fitted counts them.
	Saved  float64 `json:"saved"`
	Fitted int     `json:"fitted"`
	Lost   int     `json:"lost"` // requests of which the provider itself says that it left something out

	// Remember is set if conversations are kept in the store.
	Remember *Remember `json:"remember,omitempty"`

	// Thrift is set if results are left out because that is free.
	Thrift *Thrift `json:"thrift,omitempty"`

	Rules map[string]int `json:"rules"`
	Heals map[string]int `json:"heals"`
	Skips map[string]int `json:"skips"`
}

// Remember is how many requests became part of a session of the store, and how many did not
// although they were to. Many goroutines may read it.
type Remember struct {
	Kept    int `json:"kept"`
	Dropped int `json:"dropped"`
}

// A Request is one request on its way through the proxy. Many goroutines may read it.
type Request struct {
	ID       string         `json:"id"`
	Seq      int            `json:"seq"` // rises with every change of any request
	Time     time.Time      `json:"time"`
	Method   string         `json:"method"`
	Path     string         `json:"path"`
	Upstream string         `json:"upstream"`
	Dialect  string         `json:"dialect,omitempty"`
	Model    string         `json:"model,omitempty"`
	Status   int            `json:"status,omitempty"` // 0: not answered yet
	Done     bool           `json:"done"`
	Stream   bool           `json:"stream,omitempty"`
	Bytes    int            `json:"bytes"`            // of the body as it came
	Sent     int            `json:"sent"`             // of the body as it went on
	Before   int            `json:"before,omitempty"` // tokens as it came
	After    int            `json:"after,omitempty"`  // tokens as it went on
	Window   int            `json:"window,omitempty"` // tokens that the model takes
	Changes  int            `json:"changes,omitempty"`
	Rules    map[string]int `json:"rules,omitempty"`
	Healed   string         `json:"healed,omitempty"`
	Skipped  string         `json:"skipped,omitempty"`
	Faults   []string       `json:"faults,omitempty"` // what failed and was left out, such as a rule
	Own      float64        `json:"own"`              // milliseconds that the proxy itself took
	First    float64        `json:"first"`            // milliseconds until the provider began to answer
	Input    int            `json:"input,omitempty"`
	Output   int            `json:"output,omitempty"`
	Cached   int            `json:"cached,omitempty"`
	View     bool           `json:"view,omitempty"` // its conversation can be opened

	Conversation string  `json:"conversation,omitempty"` // which one it is a part of; "": not known
	Agent        string  `json:"agent,omitempty"`        // the program that sent it
	Over         bool    `json:"over,omitempty"`         // it could not have been sent as it came
	Spent        float64 `json:"spent,omitempty"`        // dollars, by list prices
	Saved        float64 `json:"saved,omitempty"`        // dollars; see [Totals.Saved]

	Fullness *fullness.Outlook `json:"fullness,omitempty"` // of the window, and what is left; nil: not known
}

// A TrafficSource tells what passes. Traffic(after) has the requests that changed after
// that sequence number, and all of them for 0. Page is the conversation of one request
// with what was done to it; nil: it is not kept any more. Many goroutines call them.
type TrafficSource interface {
	Traffic(after int) Traffic
	Page(id string) (*Page, error)
	// Titles are the first words of conversations, by what [Request.Conversation] calls them.
	Titles() map[string]string
}

// TrafficHandler serves the live page of a proxy at /, its data at /traffic.json, changes
// as they happen at /traffic/events and the conversation of a request at /request/ID.
// Whether the caller may look is up to who mounts it.
func TrafficHandler(s TrafficSource) http.Handler {
	h := trafficHandler{source: s, every: 250 * time.Millisecond}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.page)
	mux.HandleFunc("GET /traffic.json", h.data)
	mux.HandleFunc("GET /traffic/events", h.events)
	mux.HandleFunc("GET /titles.json", h.titles)
	mux.HandleFunc("GET /request/{id}", h.request)
	return mux
}

type trafficHandler struct {
	source TrafficSource
	every  time.Duration // a page that looks is written to as often as this, however many requests pass
}

var trafficScripts = []string{"base.js", "talks.js", "traffic.js"}

func (h *trafficHandler) page(w http.ResponseWriter, _ *http.Request) {
	data, err := json.Marshal(h.source.Traffic(0))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	style := append(append([]byte(nil), asset("page.css")...), asset("traffic.css")...)
	f := frame{html: "traffic.html", style: style, script: program(trafficScripts), connect: "'self'", title: "Traffic", data: data}
	var b bytes.Buffer
	f.write(&b)
	secure(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

func (h *trafficHandler) data(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	secure(w.Header())
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(h.source.Traffic(after))
}

func (h *trafficHandler) titles(w http.ResponseWriter, _ *http.Request) {
	secure(w.Header())
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(h.source.Titles())
}

func (h *trafficHandler) events(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	secure(w.Header())
	stream(w, r, h.every, func() string {
		now := h.source.Traffic(after)
		if now.Seq == after {
			return ""
		}
		after = now.Seq
		data, err := json.Marshal(now)
		if err != nil {
			panic(err) // numbers and texts
		}
		return "event: traffic\ndata: " + string(data) + "\n\n"
	})
}

func (h *trafficHandler) request(w http.ResponseWriter, r *http.Request) {
	p, err := h.source.Page(r.PathValue("id"))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	case p == nil:
		http.Error(w, "this request is not kept any more: the newest ones are", http.StatusNotFound)
		return
	}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	secure(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}
