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
	oneSession `embed:""`
	HTML       bool   `name:"html" help:"Write a page, as pare view does."`
	Output     string `short:"o" placeholder:"FILE" help:"Write the page to FILE. Default: standard output or, if that is a terminal, a new file."`
	Entries    bool   `help:"List the entries with their ids, those that are not messages included."`
	JSON       bool   `name:"json" help:"Print one JSON object per entry."`
	Color      string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help is the page's first paragraph.
func (c *sessionShowCmd) Help() string {
	return `For example:

    pare session show talk
    pare session show talk --html -o talk.html
    pare session show talk --entries

Messages have the numbers of their entries. Those that were reverted are not shown;
those that a summary stands for are.`
}

func (c *sessionShowCmd) run(w *world) int {
	if c.Output != "" {
		c.HTML = true
	}
	switch {
	case c.HTML && (c.JSON || c.Entries):
		return w.usage(errors.New("a page, --entries and --json exclude each other"), "session show")
	case c.HTML:
		if err := w.claimOutput("-o", c.Output); err != nil {
			return w.usage(err, "session show")
		}
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		if c.JSON || c.Entries {
			return c.list(ctx, w, st)
		}
		s, err := c.load(ctx, st)
		if err != nil {
			return 0, err
		}
		c.noteSummary(ctx, w, st)
		c.noteFullness(ctx, w, st)
		if c.HTML {
			return (&viewing{viewCmd: &viewCmd{Output: c.Output}, w: w}).write(s.page()), nil
		}
		return w.say(s.sketch(w.report(w.stdout, c.Color))), nil
	})
}

// noteSummary says, beside what is shown, which part of it a summary stands for in requests.
func (c *sessionShowCmd) noteSummary(ctx context.Context, w *world, st *store.Store) {
	win, err := st.Window(ctx, c.key(), store.WindowOptions{})
	if err == nil && win.From > 1 {
		screen.Fprintf(w.stderr, "a summary replaces the entries before %d in requests: %s\n", win.From, screen.NewCommand("pare", "session", "window").Words(sessionWords(c.key())...))
	}
}

// noteFullness says, beside what is shown, how full the window is and what is left.
func (c *sessionShowCmd) noteFullness(ctx context.Context, w *world, st *store.Store) {
	f, err := storex.Fullness(st, ctx, c.key())
	if err != nil || f == nil {
		return
	}
	note := strings.TrimSpace(screen.Percent(f.Share)) + " of the " + grouped(f.Room) + " tokens available"
	if left := f.String(); left != "" {
		note += ": " + left
	}
	screen.Fprintf(w.stderr, "%s\n", note)
}

// load reads the messages in force as one request.
func (c *sessionShowCmd) load(ctx context.Context, st *store.Store) (*shown, error) {
	key := c.key()
	r, seqs, err := st.Request(ctx, key)
	if err != nil {
		return nil, err
	}
	x, err := st.Session(ctx, key)
	if err != nil {
		return nil, err
	}
	found := r.Check(wire.CheckOptions{})
	if x.Remembered != nil {
		found = slices.DeleteFunc(found, func(f wire.Finding) bool { return isReply(r, f.Index) })
	}
	return &shown{
		from: origin{source: key.String()}, req: r, found: found,
		line: func(i int) int { return int(seqs[i]) },
	}, nil
}

// isReply reports whether a message is of the reply with which a conversation of the proxy ends. That
// nobody has answered it, or its calls, is no fault: the next request is still to come.
func isReply(r *wire.Request, i int) bool {
	ms := r.Transcript().Messages()
	return i >= 0 && !slices.ContainsFunc(ms[min(i, len(ms)):], func(m transcript.Message) bool { return m.Role != transcript.Assistant })
}

// list prints the entries.
func (c *sessionShowCmd) list(ctx context.Context, w *world, st *store.Store) (int, error) {
	out := bufio.NewWriter(w.stdout)
	err := st.Export(ctx, c.key(), store.Export{All: true}, func(e store.Entry) error {
		w.noteDamaged(e)
		if c.JSON {
			about := map[string]any{"seq": e.Seq, "id": e.ID, "kind": e.Kind, "at": e.At, "begins": e.Begins}
			if e.Damaged != "" {
				about["damaged"] = e.Damaged
			}
			line, err := plain.Marshal(about)
			if err != nil {
				return err
			}
			// The bytes of the entry are not written anew, but stay on one line.
			out.Write(line[:len(line)-1])
			out.WriteString(`,"raw":`)
			out.Write(plain.JSON([]byte(oneLine.Replace(string(e.Raw)))))
			_, err = out.WriteString("}\n")
			return err
		}
		_, err := screen.Fprintf(out, "%5d  %-14s %-8s %s\n", e.Seq, e.ID, e.Kind, screen.Clip(screen.OneLine(string(e.Raw)), 120))
		return err
	})
	return statusClean, cmp.Or(err, out.Flush())
}

// oneLine writes blanks for what ends a line; inside of JSON's strings there is none.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")
