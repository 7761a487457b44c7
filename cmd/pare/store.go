package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/store"
)

// A sessionCmd holds the commands for the session store.
type sessionCmd struct {
	List    sessionListCmd    `cmd:"" help:"List the sessions of the store, most recently changed first."`
	Show    sessionShowCmd    `cmd:"" help:"Show a session: in the terminal, as a page, or its entries."`
	Import  sessionImportCmd  `cmd:"" help:"Put transcripts, or the session files of agents, into the store."`
	Export  sessionExportCmd  `cmd:"" help:"Write the messages of a session: a list, or a part of it."`
	Window  sessionWindowCmd  `cmd:"" help:"Write the request that would be sent: repaired, and within its limit."`
	Compact sessionCompactCmd `cmd:"" help:"Replace the older part of a session by a summary."`
	Revert  sessionRevertCmd  `cmd:"" help:"Revert the last turns of a session, or everything after an entry."`
	Undo    sessionUndoCmd    `cmd:"" help:"Undo the last revert or compaction of a session."`
	Fork    sessionForkCmd    `cmd:"" help:"Start a new session that shares the entries of another one up to a point."`
	Search  sessionSearchCmd  `cmd:"" help:"Look for words in one session, or in all: the newest first."`
	Recall  sessionRecallCmd  `cmd:"" help:"Write what a placeholder or a summary replaced."`
	Delete  sessionDeleteCmd  `cmd:"" help:"Delete a session."`
	Fsck    sessionFsckCmd    `cmd:"" help:"Verify everything that the store promises; the store may be in use."`
	Gc      sessionGcCmd      `cmd:"" help:"Delete old data."`
	Backup  sessionBackupCmd  `cmd:"" help:"Copy the store to a file; it may be in use."`
}

// Help returns the detailed help of the command.
func (c *sessionCmd) Help() string {
	return `For example:

    pare session import request.json
    pare session list
    pare session window ID > next-request.json

Sessions are kept in a SQLite file, or in PostgreSQL for many machines. Nothing in
them is ever changed: a revert, a compaction and an undo are entries themselves.

A session is named by its id, as list shows it, slashes included; one that belongs to
it, such as a sub-agent's, by ID --path PATH. An id that is also a flag goes after --.`
}

// storeFlags are the flags of all commands that use the store.
type storeFlags struct {
	Store string `placeholder:"DSN" env:"PARE_STORE" help:"The store: a file, or postgres://… . Default: pare.db in the user's data folder."`
	Scope string `placeholder:"NAME" help:"The namespace of the sessions. Default: none."`
}

// withExisting opens the store and runs f. It fails if the store does not exist, so that a mistyped
// name creates no file.
func (o *storeFlags) withExisting(env *environment, f func(context.Context, *store.Store) (int, error)) int {
	dsn, status := o.resolveDSN(env)
	if status != statusClean {
		return status
	}
	if isAbsentFile(dsn) {
		return env.fail("no store yet at "+dsn, "pare session import FILE creates it; --store names another one")
	}
	return env.withStore(dsn, f)
}

// resolveDSN returns the name of the store. If the status is not statusClean, it has printed an
// error.
func (f *storeFlags) resolveDSN(env *environment) (string, int) {
	if f.Store != "" {
		return f.Store, statusClean
	}
	folder, err := dataFolder(env)
	if err != nil {
		return "", env.fail("find the store: "+err.Error(), "name one with --store FILE")
	}
	return filepath.Join(folder, "pare.db"), statusClean
}

// isAbsentFile reports whether a store is a file that does not exist.
func isAbsentFile(dsn string) bool {
	if strings.Contains(dsn, "://") {
		return false
	}
	_, err := os.Stat(strings.TrimPrefix(dsn, "file:"))
	return errors.Is(err, fs.ErrNotExist)
}

// withStore opens the store, which is created if it does not exist, and runs f. It prints the error
// of f.
func (env *environment) withStore(dsn string, f func(context.Context, *store.Store) (int, error)) int {
	ctx := context.Background()
	db, err := serve.OpenStore(ctx, dsn)
	if errors.Is(err, store.ErrDamaged) {
		whole := err
		if db, err = serve.OpenDamagedStore(ctx, dsn); err != nil {
			return env.fail(whole.Error(), "nothing of it can be read: restore a backup")
		}
		screen.Fprintf(env.stderr, "pare: %s\n      what can still be read of it is read, and nothing is written to it\n", whole)
	}
	if err != nil {
		if errors.Is(err, store.ErrUnavailable) {
			return env.fail(err.Error(), "try again when it is back, or name another one with --store")
		}
		return env.fail(err.Error(), "name another one with --store")
	}
	defer db.Close()
	status, err := f(ctx, db)
	if err != nil {
		return env.failStore(err)
	}
	return status
}

// failStore prints an error of the store with the next step, and returns the exit status.
func (env *environment) failStore(err error) int {
	var small *pare.WindowTooSmall
	hint := ""
	switch {
	case errors.As(err, &small):
		env.fail(err.Error(), fmt.Sprintf("the least that works is %d", small.Minimum))
		return statusTooSmall
	case errors.Is(err, store.ErrNotFound):
		hint = "pare session list shows what is there, and with --in ID what belongs to a session and is named by ID --path PATH"
	case errors.Is(err, store.ErrDeleted):
		hint = "its id stays taken; import it again under another one with --id NAME"
	case errors.Is(err, store.ErrNoCursor):
		hint = "pare session show ID --entries lists them with their numbers and ids"
	case errors.Is(err, store.ErrBusy):
		hint = "try again when it is done"
	case errors.Is(err, store.ErrUnavailable):
		hint = "try again when it is back, or when no other program keeps it locked"
	case errors.Is(err, store.ErrDamaged):
		hint = "pare session fsck says where; " + damagedHint
	}
	return env.fail(err.Error(), hint)
}

// dataFolder returns Pare's folder in the data folder of the user.
func dataFolder(env *environment) (string, error) {
	if dir := env.getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pare"), nil
	}
	home := cmp.Or(env.getenv("HOME"), env.getenv("USERPROFILE"))
	if home == "" {
		return "", errors.New("HOME is not set")
	}
	return filepath.Join(home, ".local", "share", "pare"), nil
}

// sessionFlags name one session. The id may contain slashes.
type sessionFlags struct {
	storeFlags `embed:""`
	ID         string `arg:"" help:"The session, as list shows it."`
	Path       string `placeholder:"PATH" help:"The session of this path below ID, such as that of a sub-agent; list --in ID shows them."`
}

func (f *sessionFlags) key() store.Key {
	return store.Key{Scope: f.Scope, ID: strings.TrimPrefix(f.ID, idMarker), Path: f.Path}
}

// resolveEntryID returns the id of an entry from its id or its number. It returns other names as
// they are; the store rejects them.
func resolveEntryID(ctx context.Context, db *store.Store, key store.Key, name string) (string, error) {
	seq, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return name, nil
	}
	id, byNumber := name, false
	err = db.Export(ctx, key, store.Export{All: true}, func(entry store.Entry) error {
		switch {
		case entry.ID == name: // an id may look like a number
			id, byNumber = name, true
		case int64(entry.Seq) == seq && !byNumber:
			id = entry.ID
		}
		return nil
	})
	return id, err
}

// formatSessionKey returns a session in the form that the commands accept.
func formatSessionKey(k store.Key) string { return screen.NewCommand(sessionArgs(k)...).String() }

// sessionArgs returns the arguments that name a session.
func sessionArgs(k store.Key) []string {
	if k.Path == "" {
		return []string{k.ID}
	}
	return []string{k.ID, "--path", k.Path}
}

// session returns the store and the session that the command uses.
func (f *sessionFlags) session() (*storeFlags, store.Key) { return &f.storeFlags, f.key() }

// idMarker marks an id that looks like a flag. Arguments cannot contain NUL.
const idMarker = "\x00"

// markSessionID marks a session id that begins with a dash, as the Claude Agent SDK creates them:
// an argument that is not the name of a flag and is the id of an existing session.
func (env *environment) markSessionID(parser *kong.Kong, args []string) []string {
	if len(args) < 3 || args[0] != "session" {
		return args
	}
	parser.Stdout, parser.Stderr, parser.Exit = io.Discard, io.Discard, func(int) {}
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if len(arg) < 2 || arg[0] != '-' || isFlag(parser, arg) {
			continue
		}
		marked := slices.Clone(args)
		marked[i] = idMarker + arg
		ctx, err := parser.Parse(marked)
		if err != nil || ctx.Selected() == nil {
			continue
		}
		asked, ok := ctx.Selected().Target.Addr().Interface().(interface {
			session() (*storeFlags, store.Key)
		})
		if !ok {
			continue
		}
		if in, key := asked.session(); key.ID == arg && in.hasSession(env, key) {
			return marked
		}
	}
	return args
}

// isFlag reports whether an argument is the full name of a flag, with or without a value.
func isFlag(parser *kong.Kong, arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	found := false
	kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			found = found || "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name
		}
		return next(nil)
	})
	return found
}

// hasSession reports whether an existing store contains a session.
func (f *storeFlags) hasSession(env *environment, key store.Key) bool {
	dsn, status := f.resolveDSN(env)
	if status != statusClean || isAbsentFile(dsn) {
		return false
	}
	db, err := store.Open(context.Background(), dsn)
	if err != nil {
		return false
	}
	defer db.Close()
	_, err = db.Session(context.Background(), key)
	return err == nil
}
