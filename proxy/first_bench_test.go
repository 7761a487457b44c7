package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstByte is how long the first byte of a stream takes from the upstream to the
// client, with nothing and with the proxy in between. It prints, and decides nothing: the
// clock of a busy machine proves nothing.
func BenchmarkFirstByte(b *testing.B) {
	wrote := make(chan time.Time, 1)
	u := newUpstream(b, func(w http.ResponseWriter, r *http.Request, body []byte, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		out := http.NewResponseController(w)
		out.Flush() // the head is there before
		wrote <- time.Now()
		io.WriteString(w, "event: message_start\ndata: {}\n\n")
		out.Flush()
		<-r.Context().Done() // the stream goes on
	})
	through := front(b, u)
	for _, size := range []int{1, 100} {
		body := `{"stream":true,` + long(size)[1:]
		for name, at := range map[string]*httptest.Server{"direct": u.Server, "pare": through} {
			b.Run(fmt.Sprintf("%dKB/%s", len(body)>>10, name), func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					resp, err := http.Post(at.URL+"/v1/messages", "application/json", strings.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(<-wrote))
					resp.Body.Close()
				}
				slices.Sort(took)
				micros := func(q float64) float64 {
					return float64(took[int(q*float64(len(took)-1))].Nanoseconds()) / 1000
				}
				b.ReportMetric(micros(0.5), "p50-µs")
				b.ReportMetric(micros(0.99), "p99-µs")
			})
		}
	}
}
