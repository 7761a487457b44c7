package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
)

// TestManyClientsAreServed: beside 64 connections that announce 64 MB and send nothing, and 20 broken
// bodies of 10 MB, all of which are repaired, a client goes on; in a soak its 99th percentile is
// less than twice what it was in the same run.
func TestManyClientsAreServed(t *testing.T) {
	size, requests := 1<<20, 50
	switch {
	case trial.Soak():
		size, requests = 10<<20, 3000
	case testing.Short():
		size = 256 << 10
	}
	at, _, _ := start(t, to(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		ok(w, r)
	}))
	client := func(until <-chan struct{}) (p99 time.Duration) {
		var all []time.Duration
		for ended := false; len(all) < requests || !ended; {
			began := time.Now()
			if resp, body := send(t, "POST", at+"/v1/messages", plainly); resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status, body)
			}
			all = append(all, time.Since(began))
			select {
			case <-until:
				ended = true
			default:
			}
		}
		slices.Sort(all)
		return all[len(all)*99/100]
	}
	now := make(chan struct{})
	close(now)
	alone := client(now)
	for range 64 {
		c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n{", 64<<20)
	}
	body := []byte(strings.Replace(benchdata.Exchanges(size/1000), `"tool_use_id":"`, `"tool_use_id":"lost`, 1))
	done := make(chan struct{})
	var large sync.WaitGroup
	for range 20 {
		large.Go(func() {
			resp, err := http.Post(at+"/v1/messages", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Pare-Changes") == "0" {
				t.Error(resp.Status, resp.Header)
			}
		})
	}
	go func() { large.Wait(); close(done) }()
	beside := client(done)
	t.Logf("20 bodies of %d bytes; the 99th percentile is %v alone, %v beside them", len(body), alone, beside)
	if trial.Soak() && beside > 2*alone {
		t.Errorf("it was %v, and is %v", alone, beside)
	}
}
