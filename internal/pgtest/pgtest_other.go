//go:build !unix

package pgtest

import (
	"errors"
	"testing"
)

// A Server cannot be started on this system.
type Server struct{ Dir string }

var errNone = errors.New("PostgreSQL is run for tests on Unix only")

func skip(t testing.TB) {
	t.Helper()
	t.Skip(errNone)
}

func DSN(t testing.TB) string            { skip(t); return "" }
func Durable(t testing.TB) string        { skip(t); return "" }
func DurableServer(t testing.TB) *Server { skip(t); return nil }
func Copy(t testing.TB, _ string) string { skip(t); return "" }
func Drop(t testing.TB, _ string)        { skip(t) }
func Stop()                              {}

func Start() (*Server, error)                                { return nil, errNone }
func (*Server) Run() error                                   { return errNone }
func (*Server) Halt() error                                  { return errNone }
func (*Server) Stop()                                        {}
func (*Server) NewDatabase(string) (string, error)           { return "", errNone }
func (*Server) NewDatabaseIn(string, string) (string, error) { return "", errNone }
func (*Server) Drop(string) error                            { return errNone }
