package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/store"
	summaries "github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

// sessionCmd is the store for people.
type sessionCmd struct {
	List    sessionListCmd    `cmd:"" help:"List the sessions of the store, the one that changed last first."`
	Show    sessionShowCmd    `cmd:"" help:"Show the entries of a session."`
	Import  sessionImportCmd  `cmd:"" help:"Put transcripts, or the session files of agents, into the store."`
	Export  sessionExportCmd  `cmd:"" help:"Write the messages of a session: a list, or a part of it."`
	Window  sessionWindowCmd  `cmd:"" help:"Write the request that would be sent: repaired, and within its limit."`
	Compact sessionCompactCmd `cmd:"" help:"Put a summary in the place of the older part of a session."`
	Revert  sessionRevertCmd  `cmd:"" help:"Revert the last turns of a session, or everything behind an entry."`
	Undo    sessionUndoCmd    `cmd:"" help:"Undo the last revert or compaction of a session."`
	Fork    sessionForkCmd    `cmd:"" help:"Begin a new session that shares the entries of another one up to a point."`
	Search  sessionSearchCmd  `cmd:"" help:"Look for words in one session, or in all."`
	Recall  sessionRecallCmd  `cmd:"" help:"Write what a placeholder or a summary stands for."`
	Delete  sessionDeleteCmd  `cmd:"" help:"Delete a session."`
	Fsck    sessionFsckCmd    `cmd:"" help:"Verify everything that the store promises; the store may be in use."`
	Gc      sessionGcCmd      `cmd:"" help:"Let go of what is old."`
}

// Help is the page's first paragraph.
func (c *sessionCmd) Help() string {
	return `For example:

    pare session import request.json
    pare session list
    pare session window ID > next-request.json

Sessions are kept in a SQLite file, or in PostgreSQL for many machines. Nothing in
them is ever changed: a revert, a compaction and an undo are entries themselves.`
}

// inStore is the flags of all commands that use the store.
type inStore struct {
	Store string `placeholder:"DSN" env:"PARE_STORE" help:"The store: a file, or postgres://… . Default: pare.db in the user's data folder."`
	Scope string `placeholder:"NAME" help:"Whose sessions. Default: those without a scope."`
}

// with opens the store and runs f; what f returns is told to people.
func (o *inStore) with(w *world, f func(context.Context, *store.Store) (int, error)) int {
	dsn := o.Store
	if dsn == "" {
		folder, err := dataFolder(w)
		if err != nil {
			return w.fail("find the store: "+err.Error(), "name one with --store FILE")
		}
		dsn = filepath.Join(folder, "pare.db")
	}
	ctx := context.Background()
	st, err := store.Open(ctx, dsn)
	if err != nil {
		return w.fail(err.Error(), "name another one with --store")
	}
	defer st.Close()
	status, err := f(ctx, st)
	if err != nil {
		return w.storeProblem(err)
	}
	return status
}

// storeProblem says what went wrong, and what to do next.
func (w *world) storeProblem(err error) int {
	var small *pare.WindowTooSmall
	hint := ""
	switch {
	case errors.As(err, &small):
		w.fail(err.Error(), fmt.Sprintf("the least that works is %d", small.Minimum))
		return statusTooSmall
	case errors.Is(err, store.ErrNotFound):
		hint = "pare session list shows what is there"
	case errors.Is(err, store.ErrNoCursor):
		hint = "pare session show shows the entries with their ids"
	case errors.Is(err, store.ErrBusy):
		hint = "try again when it is done"
	}
	return w.fail(err.Error(), hint)
}

// dataFolder is where programs of a user keep what must not be lost.
func dataFolder(w *world) (string, error) {
	if dir := w.getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pare"), nil
	}
	home := cmp.Or(w.getenv("HOME"), w.getenv("USERPROFILE"))
	if home == "" {
		return "", errors.New("HOME is not set")
	}
	return filepath.Join(home, ".local", "share", "pare"), nil
}

// key names a session: ID, or ID/PATH.
func (o *inStore) key(id string) store.Key {
	id, path, _ := strings.Cut(id, "/")
	return store.Key{Scope: o.Scope, ID: id, Path: path}
}

type sessionListCmd struct {
	inStore `embed:""`
	JSON    bool `name:"json" help:"Print one JSON object per session."`
	Limit   int  `default:"100" placeholder:"N" help:"How many. Default: 100."`
}

func (c *sessionListCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		all, err := st.Sessions(ctx, c.Scope, c.Limit, nil)
		if err != nil {
			return 0, err
		}
		var out strings.Builder
		for _, x := range all {
			if c.JSON {
				line, err := plain.Marshal(x)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			screen.Fprintf(&out, "%s  %s  %6d entries  %-16s  %s\n", x.ID, x.Updated.Format(time.DateTime), x.Head, x.Dialect, x.Title)
		}
		if len(all) == 0 && !c.JSON {
			screen.Fprintln(w.stderr, "the store is empty; pare session import FILE fills it")
		}
		return w.say([]byte(out.String())), nil
	})
}

type sessionShowCmd struct {
	inStore `embed:""`
	ID      string `arg:"" help:"The session, as list shows it."`
	JSON    bool   `name:"json" help:"Print one JSON object per entry."`
}

func (c *sessionShowCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		out := bufio.NewWriter(w.stdout)
		err := st.Export(ctx, c.key(c.ID), store.Export{All: true}, func(e store.Entry) error {
			if c.JSON {
				line, err := plain.Marshal(map[string]any{"seq": e.Seq, "id": e.ID, "kind": e.Kind, "at": e.At, "begins": e.Begins, "raw": json.RawMessage(e.Raw)})
				if err != nil {
					return err
				}
				_, err = out.Write(append(line, '\n'))
				return err
			}
			text := screen.OneLine(string(e.Raw))
			if len(text) > 160 {
				text = strings.ToValidUTF8(text[:157], "") + "…"
			}
			_, err := screen.Fprintf(out, "%5d  %-14s %-8s %s\n", e.Seq, e.ID, e.Kind, text)
			return err
		})
		return statusClean, cmp.Or(err, out.Flush())
	})
}

type sessionImportCmd struct {
	inStore   `embed:""`
	ID        string `placeholder:"ID" help:"The id of the session; for one transcript. Default: made from the name of the file."`
	reporting `embed:""`
}

// Help is the page's first paragraph.
func (c *sessionImportCmd) Help() string {
	return `For example:

    pare session import request.json
    pare session import ~/.claude/projects/-work/0a1b….jsonl
    pare session import --store postgres://localhost/pare sessions/

Importing a file again adds what it has grown by.`
}

func (c *sessionImportCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		c.Jobs = 1 // one writer
		seen := make(map[string]bool)
		return c.tell(w, "session import", "session", func(v report, from origin, r *wire.Request) (out outcome, err error) {
			id := c.ID
			if id == "" {
				id = importID(from)
			}
			if seen[id] {
				return out, fmt.Errorf("two transcripts would become session %s; import them one by one with --id", id)
			}
			seen[id] = true
			added, err := st.Import(ctx, c.key(id), from.String(), r)
			if err != nil {
				return out, err
			}
			out.rules = []string{"imported"}
			if c.JSON {
				out.out, err = plain.Marshal(map[string]any{"id": id, "source": from.source, "added": added})
				out.out = append(out.out, '\n')
				return out, err
			}
			out.out = screen.Appendf(nil, "%s: %s from %s\n", id, entries(added), from.String())
			return out, nil
		}, nil, func(*summary, bool) {}), nil
	})
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// importID makes the id of a session from where it comes from.
func importID(from origin) string {
	name := filepath.Base(from.source)
	for _, end := range []string{".gz", ".zst", ".jsonl", ".ndjson", ".json"} {
		name = strings.TrimSuffix(name, end)
	}
	if from.line > 0 {
		name = fmt.Sprintf("%s-%d", name, from.line)
	}
	if from.thread != "" {
		name += "-" + from.thread
	}
	return strings.ReplaceAll(name, "/", "-")
}

type sessionExportCmd struct {
	inStore   `embed:""`
	ID        string `arg:"" help:"The session."`
	LastTurns int    `placeholder:"N" help:"Only the last N turns."`
	FromTurn  int    `placeholder:"N" help:"Only from the Nth turn on."`
	Lines     bool   `help:"One message per line, in the place of a list."`
}

func (c *sessionExportCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		out := bufio.NewWriter(w.stdout)
		between, end := "[", "]\n"
		if c.Lines {
			between, end = "", ""
		}
		n := 0
		err := st.Export(ctx, c.key(c.ID), store.Export{LastTurns: c.LastTurns, FromTurn: c.FromTurn}, func(e store.Entry) error {
			n++
			out.WriteString(between)
			if between = ","; c.Lines {
				between = ""
			}
			_, err := out.Write(e.Raw)
			if c.Lines {
				out.WriteByte('\n')
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		if n == 0 && !c.Lines {
			out.WriteString("[")
		}
		out.WriteString(end)
		return statusClean, out.Flush()
	})
}

type sessionWindowCmd struct {
	inStore   `embed:""`
	ID        string `arg:"" help:"The session."`
	MaxTokens int    `placeholder:"N" help:"The most tokens. Default: what the window of the model has room for."`
	Base      string `placeholder:"FILE" help:"A request whose messages are replaced: model, system prompt, tools, limits. Default: that of the session."`
	Model     string `placeholder:"NAME" help:"The model. Default: that of the session."`
	Config    string `placeholder:"FILE" help:"The pare.toml to use."`
}

func (c *sessionWindowCmd) run(w *world) int {
	if err := notNegative("--max-tokens", c.MaxTokens); err != nil {
		return w.usage(err, "session window")
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		ask := store.Ask{Model: c.Model}
		if c.Base != "" {
			base, err := os.ReadFile(c.Base)
			if err != nil {
				return 0, err
			}
			ask.Base = base
		}
		p := pare.Policy{Window: &pare.Window{ModelTokens: true}}
		if c.Config != "" {
			conf, used, err := w.loadConfig(c.Config)
			if err != nil {
				return w.misconfigured(c.Config, err), nil
			}
			made, status := w.compile(conf, used)
			if made == nil {
				return status, nil
			}
			p = *made
		}
		if c.MaxTokens > 0 {
			win := pare.Window{}
			if p.Window != nil {
				win = *p.Window
			}
			win.Tokens, win.ModelTokens = c.MaxTokens, false
			p.Window = &win
		}
		ask.Policy = &p
		win, err := st.Window(ctx, c.key(c.ID), ask)
		if err != nil {
			return 0, err
		}
		screen.Fprintf(w.stderr, "head %d, read from entry %d on, %s\n", win.Head, win.From, plural(len(win.Plan.Changes()), "change"))
		return w.say(append(win.Body, '\n')), nil
	})
}

type sessionCompactCmd struct {
	inStore `embed:""`
	ID      string `arg:"" help:"The session."`
	MinKeep int    `default:"12" placeholder:"N" help:"Messages at the end that stay at least. Default: 12."`
}

func (c *sessionCompactCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		made, err := st.Compact(ctx, c.key(c.ID), &pare.Compactor{MinKeep: c.MinKeep, Summarize: summaries.Extract(summaries.ExtractOptions{}), Memory: st.Memory()})
		if err != nil {
			return 0, err
		}
		if made == nil {
			screen.Fprintln(w.stderr, "nothing to compact")
			return statusClean, nil
		}
		return w.say(screen.Appendf(nil, "%s up to entry %d are summarised; pare session recall %s shows them\n", plural(made.Messages, "message"), made.To, quoted(made.Archive))), nil
	})
}

type sessionRevertCmd struct {
	inStore `embed:""`
	ID      string `arg:"" help:"The session."`
	Turns   int    `placeholder:"N" help:"How many turns to revert."`
	To      string `placeholder:"ENTRY" help:"The id of the entry that stays last."`
}

func (c *sessionRevertCmd) run(w *world) int {
	if (c.Turns > 0) == (c.To != "") {
		return w.usage(errors.New("give either --turns or --to"), "session revert")
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (n int, err error) {
		if c.To != "" {
			n, err = st.Revert(ctx, c.key(c.ID), store.Anywhere, c.To)
		} else {
			n, err = st.RevertTurns(ctx, c.key(c.ID), store.Anywhere, c.Turns)
		}
		if err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "%s reverted; pare session undo %s restores them\n", plural(n, "message"), quoted(c.ID))), nil
	})
}

type sessionUndoCmd struct {
	inStore `embed:""`
	ID      string `arg:"" help:"The session."`
}

func (c *sessionUndoCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		kind, err := st.Undo(ctx, c.key(c.ID))
		if err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "the last %s is undone\n", kind)), nil
	})
}

type sessionForkCmd struct {
	inStore `embed:""`
	ID      string `arg:"" help:"The session."`
	New     string `arg:"" optional:"" help:"The id of the new one. Default: made up."`
	At      string `placeholder:"ENTRY" help:"The id of the last entry that both share. Default: the last one."`
}

func (c *sessionForkCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		x, err := st.Fork(ctx, c.key(c.ID), c.At, c.key(cmp.Or(c.New, store.NewID())))
		if err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "%s\n", x.ID)), nil
	})
}

type sessionSearchCmd struct {
	inStore `embed:""`
	Words   []string `arg:"" help:"Words that all must be there; in quotes they stand together."`
	In      string   `placeholder:"ID" help:"Only this session."`
	JSON    bool     `name:"json" help:"Print one JSON object per entry."`
}

func (c *sessionSearchCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		hits, err := st.Search(ctx, c.key(c.In), strings.Join(c.Words, " "), 0)
		if err != nil {
			return 0, err
		}
		var out strings.Builder
		for _, h := range hits {
			if c.JSON {
				line, err := plain.Marshal(h)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			screen.Fprintf(&out, "%s  entry %d (%s)  %s\n", h.Key.String(), h.Seq, h.ID, h.Snippet)
		}
		return w.say([]byte(out.String())), nil
	})
}

type sessionRecallCmd struct {
	inStore `embed:""`
	Handle  string `arg:"" help:"The name in the placeholder."`
}

func (c *sessionRecallCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		raw, err := st.Recall(ctx, c.Scope, c.Handle)
		if err != nil {
			return 0, err
		}
		return w.say(append(raw, '\n')), nil
	})
}

type sessionDeleteCmd struct {
	inStore `embed:""`
	ID      string `arg:"" help:"The session."`
}

func (c *sessionDeleteCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		return statusClean, st.Delete(ctx, c.key(c.ID))
	})
}

type sessionFsckCmd struct {
	inStore `embed:""`
	Repair  bool `help:"Write again what can be derived from the entries."`
	JSON    bool `name:"json" help:"Print one JSON object per problem."`
}

func (c *sessionFsckCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		problems, err := st.Fsck(ctx, c.Repair)
		if err != nil {
			return 0, err
		}
		status := statusClean
		var out strings.Builder
		for _, p := range problems {
			if !p.Repaired {
				status = statusFindings
			}
			if c.JSON {
				line, err := plain.Marshal(p)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			done := ""
			if p.Repaired {
				done = " (repaired)"
			}
			screen.Fprintf(&out, "%s%s\n", p.String(), done)
		}
		if len(problems) == 0 {
			screen.Fprintln(w.stderr, "the store is in order")
		}
		return max(status, w.say([]byte(out.String()))), nil
	})
}

type sessionGcCmd struct {
	inStore    `embed:""`
	Idle       time.Duration `placeholder:"TIME" help:"Delete sessions that nothing was appended to for so long, such as 720h."`
	Originals  time.Duration `placeholder:"TIME" help:"Let go of what a summary stands for, once that is so old. Windows do not change; recall and undo cannot reach it any more."`
	Tombstones time.Duration `placeholder:"TIME" help:"Forget that a session was deleted, after so long."`
}

func (c *sessionGcCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		done, err := st.Collect(ctx, c.Scope, store.Retain{Idle: c.Idle, Originals: c.Originals, Tombstones: c.Tombstones})
		if err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "%s deleted, %s let go, %s forgotten, %s removed\n",
			plural(done.Sessions, "session"), entries(done.Entries), plural(done.Tombstones, "tombstone"), plural(done.Media, "attachment"))), nil
	})
}
