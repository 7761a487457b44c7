//go:build unix

// Package pgtest runs a real PostgreSQL for tests: on a private socket, in a folder of
// its own, for as long as the test process lives. scripts/postgres.sh installs the server
// where it is missing and may be installed.
package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/trial"
)

// A Server is one PostgreSQL with data of its own.
type Server struct {
	Dir string // the socket lies here

	bin      string
	cred     *syscall.Credential
	child    *exec.Cmd
	ended    chan struct{} // closed when child has
	log      string
	settings []string
}

// A shared server serves the whole process.
type shared struct {
	sync.Once
	server *Server
	err    error
}

var (
	quick, durable shared
	databases      atomic.Int64
)

// careless are settings for data that nobody misses: nothing waits for the disk.
var careless = []string{"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "autovacuum=off"}

// DSN returns the address of an empty database on the server of this process, which is
// started at the first call. It does not wait for the disk: what it has acknowledged
// survives any client, but no crash of the machine. The test is skipped where there is no
// PostgreSQL, and in a short run.
func DSN(t testing.TB) string {
	t.Helper()
	return quick.dsn(t, "", careless)
}

// Durable is DSN on a server whose writes are as durable as a real one's.
func Durable(t testing.TB) string {
	t.Helper()
	return durable.dsn(t, "", nil)
}

// DurableServer is the server of Durable, for tests that restart it.
func DurableServer(t testing.TB) *Server {
	t.Helper()
	durable.dsn(t, "", nil)
	return durable.server
}

// Copy returns the address of a copy of a database that DSN has made and that nobody has
// open.
func Copy(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return quick.dsn(t, " TEMPLATE "+strings.TrimPrefix(u.Path, "/"), careless)
}

func (s *shared) dsn(t testing.TB, options string, settings []string) string {
	t.Helper()
	trial.Long(t, "it needs a PostgreSQL of its own")
	s.Do(func() {
		folder := ""
		if settings != nil {
			folder = inMemory()
		}
		s.server, s.err = start(folder, settings)
	})
	if s.err != nil {
		t.Skipf("no PostgreSQL: %v; install its server (Debian: postgresql) or put initdb into PATH", s.err)
	}
	name := unique("t")
	dsn, err := s.server.create(name, "CREATE DATABASE "+name+options)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// unique is a name that no database of this process has.
func unique(name string) string { return fmt.Sprintf("%s%d", name, databases.Add(1)) }

// Drop removes a database that DSN, Copy or Durable has made, whoever has it open: for tests
// that need many, one after the other.
func Drop(t testing.TB, dsn string) {
	t.Helper()
	for _, s := range []*shared{&quick, &durable} {
		if s.server != nil && strings.Contains(dsn, url.QueryEscape(s.server.Dir)) {
			if err := s.server.Drop(dsn); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no server of this process has %s", dsn)
}

// Stop ends the servers of this process; for TestMain.
func Stop() {
	for _, s := range []*shared{&quick, &durable} {
		if s.server != nil {
			s.server.Stop()
		}
	}
}

// find looks for the server's programs.
func find() (string, error) {
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.Reverse(versions) // the newest first
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			versions = append(versions, p)
		}
	}
	for _, p := range versions {
		dir := filepath.Dir(p)
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("initdb is neither in PATH nor where Debian puts it")
}

// Start makes a cluster and starts it. Its writes are as durable as a real one's.
func Start() (s *Server, err error) { return start("", nil) }

func start(folder string, settings []string) (s *Server, err error) {
	s = &Server{settings: settings}
	if s.bin, err = find(); err != nil {
		return nil, err
	}
	// A socket's path is short.
	if s.Dir, err = os.MkdirTemp(folder, "pg"); err != nil {
		return nil, err
	}
	defer func(dir string) {
		if err != nil {
			os.RemoveAll(dir)
		}
	}(s.Dir)
	if os.Getuid() == 0 { // which PostgreSQL refuses
		if s.cred, err = nobody(); err != nil {
			return nil, err
		}
		if err := os.Chown(s.Dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return nil, err
		}
	}
	s.log = filepath.Join(s.Dir, "log")
	init := s.command("initdb", "-D", filepath.Join(s.Dir, "data"), "-U", "pare", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return s, s.Run()
}

// nobody is a user that may run a server.
func nobody() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.Dir
	c.Env = append(os.Environ(), "LC_ALL=C")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	return c
}

// Run starts the server again.
func (s *Server) Run() error {
	c := s.command("postgres", append([]string{"-D", filepath.Join(s.Dir, "data"), "-k", s.Dir, "-h", "",
		"-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "max_prepared_transactions=0"}, s.settings...)...)
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	// It ends when this process does, however that happens. The signal comes when the
	// thread ends that started it, so that one waits for it.
	endWithParent(c.SysProcAttr)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			c.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.child, s.ended = c, ended
	for { // as long as it takes: a server that is not able to start ends
		db, err := sql.Open("pgx", s.dsn("postgres"))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err = db.PingContext(ctx)
		cancel()
		db.Close()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			s.child = nil
			out, _ := os.ReadFile(s.log)
			return fmt.Errorf("postgres has ended: %s", bytes.TrimSpace(out))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Halt ends the server at once, as a crash does; Run starts it again.
func (s *Server) Halt() error { return s.signal(syscall.SIGQUIT) }

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	s.signal(syscall.SIGINT)
	os.RemoveAll(s.Dir)
}

func (s *Server) signal(sig syscall.Signal) error {
	if s.child == nil {
		return nil
	}
	if err := s.child.Process.Signal(sig); err != nil {
		return err
	}
	<-s.ended
	s.child = nil
	return nil
}

func (s *Server) dsn(name string) string {
	return "postgres:///" + name + "?" + url.Values{"host": {s.Dir}, "user": {"pare"}}.Encode()
}

// NewDatabase makes an empty database, whose name begins as given, and returns its address.
func (s *Server) NewDatabase(name string) (string, error) {
	name = unique(name)
	return s.create(name, "CREATE DATABASE "+name)
}

// NewDatabaseIn makes a database whose tables lie in a folder of their own.
func (s *Server) NewDatabaseIn(name, folder string) (string, error) {
	if s.cred != nil {
		if err := os.Chown(folder, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return "", err
		}
	}
	name = unique(name)
	return s.create(name, "CREATE TABLESPACE "+name+" LOCATION '"+folder+"'", "CREATE DATABASE "+name+" TABLESPACE "+name)
}

// Drop removes a database that was made here, with the folder that its tables lie in.
func (s *Server) Drop(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(u.Path, "/")
	_, err = s.create(name, "DROP DATABASE "+name+" WITH (FORCE)", "DROP TABLESPACE IF EXISTS "+name)
	return err
}

// create runs statements and returns the address of a database.
func (s *Server) create(name string, statements ...string) (string, error) {
	db, err := sql.Open("pgx", s.dsn("postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			return "", err
		}
	}
	return s.dsn(name), nil
}
