package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

type sessionShowCmd struct {
	sessionFlags `embed:""`
	HTML         bool   `name:"html" help:"Write a page, as pare view does."`
	Output       string `short:"o" placeholder:"FILE" help:"Write the page to FILE. Default: standard output or, if that is a terminal, a new file."`
	Entries      bool   `help:"List the entries with their ids, those that are not messages included."`
	JSON         bool   `name:"json" help:"Print one JSON object per entry."`
	Color        string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help returns the detailed help of the command.
func (c *sessionShowCmd) Help() string {
	return `For example:

    pare session show talk
    pare session show talk --html -o talk.html
    pare session show talk --entries

Messages have the numbers of their entries. Those that were reverted are not shown;
those that a summary stands for are.`
}

func (c *sessionShowCmd) run(env *environment) int {
	if c.Output != "" {
		c.HTML = true
	}
	switch {
	case c.HTML && (c.JSON || c.Entries):
		return env.failUsage(errors.New("a page, --entries and --json exclude each other"), "session show")
	case c.HTML:
		if err := env.claimOutput("-o", c.Output); err != nil {
			return env.failUsage(err, "session show")
		}
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		if c.JSON || c.Entries {
			return c.listEntries(ctx, env, db)
		}
		s, err := c.load(ctx, db)
		if err != nil {
			return 0, err
		}
		c.printSummaryNote(ctx, env, db)
		c.printFullness(ctx, env, db)
		if c.HTML {
			return (&viewRun{viewCmd: &viewCmd{Output: c.Output}, env: env}).writePage(s.page()), nil
		}
		return env.writeOutput(s.sketch(env.newStyle(env.stdout, c.Color))), nil
	})
}

// printSummaryNote prints which entries a summary replaces in requests.
func (c *sessionShowCmd) printSummaryNote(ctx context.Context, env *environment, db *store.Store) {
	win, err := db.Window(ctx, c.key(), store.WindowOptions{})
	if err == nil && win.From > 1 {
		screen.Fprintf(env.stderr, "a summary replaces the entries before %d in requests: %s\n", win.From, screen.NewCommand("pare", "session", "window").Words(sessionArgs(c.key())...))
	}
}

// printFullness prints how full the window is.
func (c *sessionShowCmd) printFullness(ctx context.Context, env *environment, db *store.Store) {
	f, err := db.Fullness(ctx, c.key(), 0)
	if err != nil || f == nil {
		return
	}
	note := strings.TrimSpace(screen.Percent(f.Share)) + " of the " + grouped(f.Room) + " tokens available"
	if left := f.String(); left != "" {
		note += ": " + left
	}
	screen.Fprintf(env.stderr, "%s\n", note)
}

// load returns the current messages of the session as one request.
func (c *sessionShowCmd) load(ctx context.Context, db *store.Store) (*shownThread, error) {
	key := c.key()
	req, seqs, err := db.Request(ctx, key)
	if err != nil {
		return nil, err
	}
	session, err := db.Session(ctx, key)
	if err != nil {
		return nil, err
	}
	findings := req.Check(wire.CheckOptions{})
	if session.Remembered != nil {
		findings = slices.DeleteFunc(findings, func(finding wire.Finding) bool { return isUnansweredReply(req, finding.Index) })
	}
	return &shownThread{
		from: origin{source: key.String()}, req: req, findings: findings,
		lineOf: func(i int) int { return int(seqs[i]) },
	}, nil
}

// isUnansweredReply reports whether message i belongs to the reply that ends a remembered
// conversation. It has no answer yet, which is not a fault.
func isUnansweredReply(req *wire.Request, i int) bool {
	ms := req.Transcript().Messages()
	return i >= 0 && !slices.ContainsFunc(ms[min(i, len(ms)):], func(m transcript.Message) bool { return m.Role != transcript.Assistant })
}

// listEntries prints the entries.
func (c *sessionShowCmd) listEntries(ctx context.Context, env *environment, db *store.Store) (int, error) {
	out := bufio.NewWriter(env.stdout)
	err := db.Export(ctx, c.key(), store.Export{All: true}, func(entry store.Entry) error {
		env.warnDamaged(entry)
		if c.JSON {
			about := map[string]any{"seq": entry.Seq, "id": entry.ID, "kind": entry.Kind, "at": entry.At, "begins": entry.Begins}
			if entry.Damaged != "" {
				about["damaged"] = entry.Damaged
			}
			line, err := plain.Marshal(about)
			if err != nil {
				return err
			}
			// The bytes of the entry stay as they are, but on one line.
			out.Write(line[:len(line)-1])
			out.WriteString(`,"raw":`)
			out.Write(plain.JSON([]byte(lineBreakReplacer.Replace(string(entry.Raw)))))
			_, err = out.WriteString("}\n")
			return err
		}
		_, err := screen.Fprintf(out, "%5d  %-14s %-8s %s\n", entry.Seq, entry.ID, entry.Kind, screen.Clip(screen.OneLine(string(entry.Raw)), 120))
		return err
	})
	return statusClean, cmp.Or(err, out.Flush())
}

// lineBreakReplacer replaces line breaks, which JSON strings cannot contain.
var lineBreakReplacer = strings.NewReplacer("\n", " ", "\r", " ")
