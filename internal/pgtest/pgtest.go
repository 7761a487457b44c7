//go:build unix

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

// A Server is a PostgreSQL server with its own data.
type Server struct {
	Dir string // holds the socket

	bin      string
	cred     *syscall.Credential
	child    *exec.Cmd
	ended    chan struct{} // closed when child has ended
	log      string
	settings []string
}

// A sharedServer is started once per process.
type sharedServer struct {
	sync.Once
	server *Server
	err    error
}

var (
	fast, durable sharedServer
	databases     atomic.Int64
)

// unsynced are settings that never wait for the disk.
var unsynced = []string{"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "autovacuum=off"}

// DSN returns the address of an empty database on the server of this process, and starts the server
// if necessary. The server does not sync to disk: its data survive killed clients, but no crash of
// the machine. DSN skips short tests, and tests without PostgreSQL.
func DSN(t testing.TB) string {
	t.Helper()
	return fast.dsn(t, "", unsynced)
}

// Durable is DSN on a server that syncs to disk.
func Durable(t testing.TB) string {
	t.Helper()
	return durable.dsn(t, "", nil)
}

// DurableServer returns the server of Durable, for tests that restart it.
func DurableServer(t testing.TB) *Server {
	t.Helper()
	durable.dsn(t, "", nil)
	return durable.server
}

// Copy returns the address of a copy of a database that DSN has created. The original must not be
// in use.
func Copy(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return fast.dsn(t, " TEMPLATE "+strings.TrimPrefix(u.Path, "/"), unsynced)
}

func (s *sharedServer) dsn(t testing.TB, options string, settings []string) string {
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

// unique returns a new name of a database.
func unique(name string) string { return fmt.Sprintf("%s%d", name, databases.Add(1)) }

// Drop deletes a database of DSN, Copy or Durable, even if it is in use, for tests with many
// databases.
func Drop(t testing.TB, dsn string) {
	t.Helper()
	for _, s := range []*sharedServer{&fast, &durable} {
		if s.server != nil && strings.Contains(dsn, url.QueryEscape(s.server.Dir)) {
			if err := s.server.Drop(dsn); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no server of this process has %s", dsn)
}

// Stop stops the servers of this process. Call it in TestMain.
func Stop() {
	for _, s := range []*sharedServer{&fast, &durable} {
		if s.server != nil {
			s.server.Stop()
		}
	}
}

// find returns the folder of the server's programs.
func find() (string, error) {
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.Reverse(versions) // newest first
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

// Start creates and starts a server that syncs to disk.
func Start() (s *Server, err error) { return start("", nil) }

func start(folder string, settings []string) (s *Server, err error) {
	s = &Server{settings: settings}
	if s.bin, err = find(); err != nil {
		return nil, err
	}
	// The path of a socket must be short.
	if s.Dir, err = os.MkdirTemp(folder, "pg"); err != nil {
		return nil, err
	}
	defer func(dir string) {
		if err != nil {
			os.RemoveAll(dir)
		}
	}(s.Dir)
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.cred, err = unprivilegedUser(); err != nil {
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

// unprivilegedUser returns an unprivileged user.
func unprivilegedUser() (*syscall.Credential, error) {
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

// Run starts the server.
func (s *Server) Run() error {
	c := s.command("postgres", append([]string{"-D", filepath.Join(s.Dir, "data"), "-k", s.Dir, "-h", "",
		"-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "max_prepared_transactions=0"}, s.settings...)...)
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	// The server ends with this process. The kernel sends the signal when the thread that started
	// the server ends, so that thread waits for it.
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
	for { // no timeout: a server that cannot start ends
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

// Halt stops the server like a crash. Run starts it again.
func (s *Server) Halt() error { return s.signal(syscall.SIGQUIT) }

// Stop stops the server and deletes its data.
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

// NewDatabase creates an empty database with a name prefix, and returns its address.
func (s *Server) NewDatabase(name string) (string, error) {
	name = unique(name)
	return s.create(name, "CREATE DATABASE "+name)
}

// NewDatabaseIn creates a database whose tables are in a folder.
func (s *Server) NewDatabaseIn(name, folder string) (string, error) {
	if s.cred != nil {
		if err := os.Chown(folder, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return "", err
		}
	}
	name = unique(name)
	return s.create(name, "CREATE TABLESPACE "+name+" LOCATION '"+folder+"'", "CREATE DATABASE "+name+" TABLESPACE "+name)
}

// Drop deletes a database and its folder.
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
