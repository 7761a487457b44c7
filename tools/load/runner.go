package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A runner is a proxy in a process of its own.
type runner struct {
	name, url string
	cmd       *exec.Cmd
}

// start starts a process and reads its address from its first line.
func start(name string, cmd *exec.Cmd) (*runner, error) {
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out := bufio.NewReader(pipe)
	line, err := out.ReadString('\n')
	_, at, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		return nil, fmt.Errorf("%s says %q: %v", name, line, err)
	}
	go io.Copy(io.Discard, out)
	return &runner{name, at, cmd}, nil
}

// startNginx starts an nginx that reads requests first; nil: there is none.
func startNginx(ctx context.Context, folder, upstream string) (*runner, error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		fmt.Fprintln(os.Stderr, "nginx is not installed, and left out")
		return nil, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := l.Addr().String()
	l.Close()
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr crit;
events { worker_connections 4096; }
http { access_log off; client_max_body_size 100m; client_body_buffer_size 4m; keepalive_requests 1000000;
client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
upstream model { server %[3]s; keepalive 256; keepalive_requests 1000000; }
server { listen %[2]s; location / { proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }
`, folder, at, strings.TrimPrefix(upstream, "http://"))
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "-p", folder, "-c", file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for range 1000 { // nginx does not report when it is ready
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return &runner{"nginx", "http://" + at, cmd}, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("nginx does not listen at %s", at)
}

// A result holds the measurements of a turn: milliseconds, microseconds, megabytes.
type result struct{ perSecond, p50, p99, cpu, memory float64 }

// measure sends n requests over so many connections.
func (r *runner) measure(body []byte, kind string, conns, n int) (result, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, DisableCompression: true, WriteBufferSize: 64 << 10}}
	defer client.CloseIdleConnections()
	if _, err := r.sendAll(client, body, kind, conns, 4*conns); err != nil { // connections and buffers
		return result{}, err
	}
	cpu, _, err := r.usage()
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	took, err := r.sendAll(client, body, kind, conns, n)
	if err != nil {
		return result{}, err
	}
	all := time.Since(began)
	after, memory, err := r.usage()
	if err != nil {
		return result{}, err
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return result{float64(n) / all.Seconds(), ms(took[n/2]), ms(took[n*99/100]), 1e6 * (after - cpu) / float64(n), memory}, nil
}

// sendAll sends n requests and returns the time of each.
func (r *runner) sendAll(client *http.Client, body []byte, kind string, conns, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	errs := make(chan error, conns)
	var next atomic.Int64
	for range conns {
		go func() {
			var err error
			for i := next.Add(1) - 1; err == nil && i < int64(n); i = next.Add(1) - 1 {
				took[i], err = r.sendOne(client, body, kind)
			}
			errs <- err
		}()
	}
	var failed error
	for range conns {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return took, failed
}

func (r *runner) sendOne(client *http.Client, body []byte, kind string) (time.Duration, error) {
	req, err := http.NewRequest(http.MethodPost, r.url+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "none")
	if kind == "sse" {
		req.Header.Set("Accept", "text/event-stream")
	}
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", resp.Status)
	}
	return time.Since(began), err
}

// usage is the processor time of the proxy so far, in seconds, and its memory.
func (r *runner) usage() (seconds, megabytes float64, err error) {
	proc := fmt.Sprintf("/proc/%d/", r.cmd.Process.Pid)
	// Nanoseconds of each thread: the stat of the process counts hundredths of a second, and
	// a turn is short.
	threads, err := filepath.Glob(proc + "task/*/schedstat")
	if err != nil {
		return 0, 0, err
	}
	for _, t := range threads {
		nanos, err := readField(t, 0)
		if err != nil {
			return 0, 0, err
		}
		seconds += nanos / 1e9
	}
	pages, err := readField(proc+"statm", 1)
	return seconds, pages * float64(os.Getpagesize()) / 1e6, err
}

// readField is a field of a file.
func readField(file string, field int) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.Fields(string(text))[field], 64)
}
