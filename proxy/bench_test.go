package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/proxy"
)

// BenchmarkProxy compares Pare with the proxy of the standard library, streaming and
// buffering, on clean bodies over the loopback interface.
func BenchmarkProxy(b *testing.B) {
	reply := bytes.Repeat([]byte("x"), 2000)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Write(reply)
	}))
	defer up.Close()
	to, err := url.Parse(up.URL)
	if err != nil {
		b.Fatal(err)
	}
	base := func() *http.Transport {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.DisableCompression = 100, true
		return t
	}
	streaming := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, FlushInterval: -1, Transport: base()}
	buffering := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		streaming.ServeHTTP(w, r)
	})
	pare := proxy.New(proxy.Config{Upstreams: map[string]proxy.Upstream{"anthropic": {URL: to}}})
	for _, size := range []int{1 << 10, 22 << 10, 226 << 10, 3 << 20} {
		body := bytes.Replace(benchdata.Dense(benchdata.Messages, size), []byte("claude-sonnet-4-5"), []byte("claude-opus-4-8"), 1) // a window that holds it
		for _, conns := range []int{1, 16} {
			for _, p := range []struct {
				name    string
				handler http.Handler
			}{{"stream", streaming}, {"buffer", buffering}, {"pare", pare}} {
				b.Run(fmt.Sprintf("%dKB/%d/%s", size>>10, conns, p.name), func(b *testing.B) {
					s := httptest.NewServer(p.handler)
					defer s.Close()
					client := &http.Client{Transport: base()}
					b.SetBytes(int64(len(body)))
					b.SetParallelism(conns)
					b.ReportAllocs()
					one := func() {
						resp, err := client.Post(s.URL+"/v1/messages", "application/json", bytes.NewReader(body))
						if err != nil {
							b.Error(err)
							return
						}
						n, _ := io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
						if n != int64(len(reply)) || p.name == "pare" && resp.Header.Get("Pare-Changes") != strconv.Itoa(0) {
							b.Error(resp.Status, resp.Header)
						}
					}
					if conns == 1 {
						for b.Loop() {
							one()
						}
						return
					}
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							one()
						}
					})
				})
			}
		}
	}
}
