//go:build !js

package ui

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// A Live is a conversation that may change while it is looked at. Many goroutines call
// its functions.
type Live struct {
	// Load reads the conversation as it is now.
	Load func() (*Page, error)
	// Version is cheap and returns another text whenever Load would return another
	// page: a file's time and size. Nil, or "", means that nothing changes.
	Version func() string
	// Every is how often Version is asked while somebody looks. Default: half a
	// second.
	Every time.Duration
	// Token, if it is not "", is the first part of every path: whoever does not know it gets
	// nothing, other users of the machine included.
	Token string
}

// Handler serves the page at / (at /TOKEN/, if there is one), as data at /data.json, and tells at /events when it
// has changed. It answers GET only and only to names of the local machine: a page
// of somebody else whose name has been pointed here (DNS rebinding) gets nothing.
// Listening on a loopback address is up to the caller.
func Handler(l Live) http.Handler {
	if l.Every <= 0 {
		l.Every = 500 * time.Millisecond
	}
	if l.Version == nil {
		l.Version = func() string { return "" }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", l.page)
	mux.HandleFunc("GET /data.json", l.data)
	mux.HandleFunc("GET /events", l.events)
	return guard(behind(l.Token, mux))
}

// behind serves what is asked for with the token in front of its path.
func behind(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		// Of two hashes not even the length tells anything.
		if got := sha256.Sum256([]byte(first)); subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			http.Error(w, "the address of this page has a token in it, which is printed where it is served", http.StatusForbidden)
			return
		}
		http.StripPrefix("/"+token, next).ServeHTTP(w, r)
	})
}

// guard lets through what a browser on this machine asks for by a local name.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		secure(h)
		switch {
		case !isLocal(r.Host):
			http.Error(w, "this page is for the local machine only", http.StatusForbidden)
		case r.Method != http.MethodGet:
			h.Set("Allow", http.MethodGet)
			http.Error(w, "GET only", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// secure keeps a page from being stored, framed or read by others.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "frame-ancestors 'none'")
}

// isLocal reports whether a Host header names this machine, with or without a port.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	switch strings.ToLower(strings.Trim(host, "[]")) {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

func (l *Live) page(w http.ResponseWriter, _ *http.Request) {
	version := l.Version() // before Load, so that what comes in between is not missed
	p, err := l.Load()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var b bytes.Buffer
	if err := p.write(&b, version); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

func (l *Live) data(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	p, err := l.Load()
	var data []byte
	if err == nil {
		data, err = p.data()
	}
	if err != nil {
		// Nothing to be alarmed at: a file that is being written is often cut off, and
		// the page keeps what it has.
		data, _ = json.Marshal(map[string]string{"problem": err.Error()})
	}
	w.Write(data)
}

// events sends an event whenever there is another version than the one seen.
func (l *Live) events(w http.ResponseWriter, r *http.Request) {
	seen := r.URL.Query().Get("seen")
	stream(w, r, l.Every, func() string {
		now := l.Version()
		if now == seen {
			return ""
		}
		seen = now
		return "event: change\ndata: changed\n\n"
	})
}

// stream asks every so often for an event to send, "" if there is none, and sends a comment
// now and then, so that a connection that nobody reads any more is noticed.
func stream(w http.ResponseWriter, r *http.Request, every time.Duration, next func() string) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	say := ": watching\n\n"
	tick := time.NewTicker(every)
	defer tick.Stop()
	for idle := 0; ; idle++ {
		if say == "" && idle%30 == 29 {
			say = ": still here\n\n"
		}
		if say != "" {
			if _, err := io.WriteString(w, say); err != nil || out.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		say = next()
	}
}
