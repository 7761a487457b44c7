package main

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
)

type cuttable struct {
	socket string

	mu    sync.Mutex
	state string
	conns []net.Conn
}

func newCuttable(t *testing.T, dsn string) (c *cuttable, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	c = &cuttable{socket: filepath.Join(q.Get("host"), ".s.PGSQL.5432")}
	q.Del("host")
	q.Set("sslmode", "disable")
	q.Set("connect_timeout", "1")
	u.Host, u.RawQuery = listener.Addr().String(), q.Encode()
	t.Cleanup(func() { listener.Close(); c.set("") })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.join(conn)
		}
	}()
	return c, u.String()
}

func (c *cuttable) join(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == "down" {
		conn.Close()
		return
	}
	c.conns = append(c.conns, conn)
	if c.state == "silent" {
		return
	}
	to, err := net.Dial("unix", c.socket)
	if err != nil {
		conn.Close()
		return
	}
	c.conns = append(c.conns, to)
	go func() { io.Copy(to, conn); to.Close() }()
	go func() { io.Copy(conn, to); conn.Close() }()
}

func (c *cuttable) set(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func TestFailureMatrixPostgres(t *testing.T) {
	made := pgtest.DSN(t)
	newCell(t, func(*testing.T, string) string { return made }, nil, matrixCommand{args: "STORE", before: "session import --store STORE --id talk s.json"})
	var wires sync.Map
	stores := func(t *testing.T, dir string) string {
		c, address := newCuttable(t, pgtest.Copy(t, made))
		wires.Store(dir, c)
		return address
	}
	set := func(state string) func(*testing.T, string) {
		return func(_ *testing.T, dir string) {
			c, _ := wires.Load(dir)
			c.(*cuttable).set(state)
		}
	}
	columns := []failing{
		{name: "the database is down", harm: set("down"), cure: set("")},
		{name: "the database does not answer", harm: set("silent"), cure: set("")},
	}
	var rows []matrixCommand
	for _, q := range matrixCommands {
		if strings.Contains(q.args, "STORE") && q.name != "session backup" {
			rows = append(rows, q)
		}
	}
	writeMatrix(t, "postgres", matrixTable(t, stores, columns, rows))
}
