package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/paretest"
)

type matrixServer struct {
	*matrixCell
	url string
	end func()
}

func (c *matrixCell) serving(t *testing.T, flags string) *matrixServer {
	t.Helper()
	cmd := c.command(t, "serve --listen 127.0.0.1:0 --config pare.toml "+flags)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &matrixServer{matrixCell: c, end: func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }}
	var said bytes.Buffer
	buf := make([]byte, 4096)
	for s.url == "" {
		n, err := out.Read(buf)
		said.Write(buf[:n])
		if m := regexp.MustCompile(`listening on (\S+)\n`).FindSubmatch(said.Bytes()); m != nil {
			s.url = string(m[1])
		} else if err != nil {
			t.Fatalf("it does not listen: %s", said.String())
		}
	}
	go io.Copy(io.Discard, out)
	return s
}

func (s *matrixServer) ask(t *testing.T, what string) (faults string) {
	t.Helper()
	resp, err := http.Post(s.url+"/v1/messages", "application/json", strings.NewReader(strings.Replace(matrixBody(), "the task", "the task "+what, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || resp.Header.Get("Pare-Changes") == "0" {
		t.Errorf("%s: the proxy answers %s %s %v", what, resp.Status, text, resp.Header)
	}
	return resp.Header.Get("Pare-Faults")
}

func (s *matrixServer) exhaust(t *testing.T) {
	t.Helper()
	for t.Context().Err() == nil {
		s.ask(t, noise(1000))
		resp, err := http.Get(s.url + "/pare/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if regexp.MustCompile(`pare_conversation_drops_total [1-9]`).Match(text) {
			return
		}
	}
}

func (f *failing) proxied(t *testing.T, stores matrixStore) (said string) {
	t.Helper()
	mock := httptest.NewServer(&paretest.Mock{})
	defer mock.Close()
	c := newCell(t, stores, nil, matrixCommand{args: "STORE"})
	const window = "[window]\ntokens = 2500\n"
	flags, remember := "--upstream anthropic="+mock.URL, " --remember --store STORE"
	// A part that fails when the server starts ends it; a part that fails later does not.
	c.fails = &failing{model: f.model, conf: f.conf, shell: f.shell, cure: f.cure}
	switch {
	case f.archive != "": // the file can be created but not written
		c.fails.shell, remember = fullDiskShell, " --no-store"
	case f.shell != "": // room for the current store and as much again
		c.fails.shell = "ulimit -f $(($(wc -c < pare.db) / 512 + 1)) && "
	}
	c.configure(t, window)
	s := c.serving(t, flags+remember)
	if f.harm != nil {
		f.harm(t, c.dir)
	}
	said = "answers"
	for i := range 3 {
		if s.ask(t, fmt.Sprint("of ", f.name, i)) != "" {
			said = "answers, and names it"
		}
	}
	if f.shell != "" {
		s.exhaust(t)
	}
	lasting := c.fails.shell != ""
	c.repair(t, window)
	if !lasting {
		s.ask(t, "afterwards") // the server continues
	}
	s.end()
	s = c.serving(t, flags+" --remember --store STORE")
	defer s.end()
	if faults := s.ask(t, "in the end of "+f.name); faults != "" {
		t.Errorf("%s: afterwards %s", f.name, faults)
	}
	for t.Context().Err() == nil { // written after the reply
		if strings.Contains(c.run(t, "session list --store STORE").out, sameEverywhere.ReplaceAllString("the task in the end of "+f.name, "")) {
			break
		}
	}
	return said
}

func noise(words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(rand.Text() + " ")
	}
	return b.String()
}
