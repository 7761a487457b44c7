package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Kind is the type of an entry. Only messages are sent. Callers may use kinds of their own
// (state, span, marker, link, …), but not those that the store writes.
type Kind string

const (
	KindMessage    Kind = "message"
	KindCompaction Kind = "compaction" // written by Compact
	KindRevert     Kind = "revert"     // written by Revert
	KindUndo       Kind = "undo"       // written by Undo
)

// control reports whether only the store writes entries of this kind.
func (k Kind) control() bool { return k == KindCompaction || k == KindRevert || k == KindUndo }

// An Entry is one element of a session.
type Entry struct {
	// ID is unique in the session. Appending the same bytes under the same id again changes
	// nothing. If it is empty, Append sets it.
	ID   string
	Kind Kind   // empty: a message
	Raw  []byte // JSON, kept byte for byte

	// Seq and the following fields are set by the store.
	Seq int64
	At  time.Time
	// Begins is set for messages of the user that begin a turn.
	Begins bool
	// Calls are the calls of a message, Answers its results.
	Calls   []Call
	Answers []Call
	// Gone is set if retention has deleted the bytes; a compaction replaces the entry.
	Gone bool
	// Damaged is the reason why the bytes cannot be read. Raw is then a placeholder.
	Damaged string
}

// A Call is a call of a tool in the entry that makes or answers it.
type Call struct {
	ID   string `json:"id,omitempty"`
	Tool string `json:"tool,omitempty"`
	// Seq and No identify the call that a result answers: its entry, and its index among the calls
	// of that entry. Seq is zero if the call is unknown.
	Seq int64 `json:"seq,omitempty"`
	No  int   `json:"no,omitempty"`
	// Open is set by Page for calls without a result in force.
	Open bool `json:"open,omitempty"`

	family uint8
}

// String returns the id and the tool, if it is known.
func (c Call) String() string {
	if c.Tool == "" {
		return fmt.Sprintf("call %q", c.ID)
	}
	return fmt.Sprintf("call %q (%s)", c.ID, c.Tool)
}

// Message returns an entry for a message.
func Message(id string, raw []byte) Entry { return Entry{ID: id, Raw: raw} }

const (
	flagTurn               = 1 << iota // begins a turn
	flagMessage                        // is a message
	flagHasContent                     // has content other than results
	flagSystem                         // is a system message
	flagProviderCompaction             // has the provider's own compaction, which replaces everything before it
	flagWithResults                    // has words of the user and results; not set by old versions
)

// A row is an entry to be inserted. It shares no memory with the caller, who may stop waiting
// during the insert.
type row struct {
	Entry
	flags       int
	weight      int64
	totalWeight int64
	size        int // of Raw
	sum         [sha256.Size]byte
	codec       int
	stored      []byte // Raw as it is stored
	media       []medium
}

// prepare reads an entry into a row, without looking at the database. It modifies the session: the
// first message determines the dialect.
func (s *Store) prepare(session *Session, i int, e Entry) (*row, error) {
	if e.Kind == "" {
		e.Kind = KindMessage
	}
	if e.ID == "" {
		e.ID = s.entryID()
	}
	bad := func(format string, args ...any) (*row, error) {
		return nil, &EntryError{i, e.ID, fmt.Errorf(format, args...)}
	}
	switch {
	case len(e.ID) > 512 || strings.ToValidUTF8(e.ID, "") != e.ID || strings.ContainsRune(e.ID, 0):
		return bad("the id is longer than 512 bytes or no text")
	case len(e.Kind) > 64 || strings.ToValidUTF8(string(e.Kind), "") != string(e.Kind) || strings.ContainsRune(string(e.Kind), 0):
		return bad("the kind is longer than 64 bytes or no text")
	case e.Kind.control():
		return bad("entries of kind %s are written by the store alone", e.Kind)
	case len(e.Raw) > s.options.MaxEntry:
		return bad("it has %d bytes, %d are allowed", len(e.Raw), s.options.MaxEntry)
	}
	// Parsing a message also checks its JSON.
	read := e.Kind == KindMessage && session.Dialect != ""
	if !read {
		if err := jsonspan.Valid(e.Raw); err != nil {
			return bad("%w", err)
		}
	}
	r := &row{Entry: e, size: len(e.Raw), sum: sha256.Sum256(e.Raw)}
	r.Raw = nil
	if e.Kind == KindMessage {
		req, err := s.readAndInspect(session, r, e.Raw)
		if err == nil {
			err = checkSendable(req)
		} else if read {
			err = cmp.Or(jsonspan.Valid(e.Raw), err)
		}
		if err != nil {
			return nil, &EntryError{i, e.ID, err}
		}
	}
	r.codec, r.stored = encodeBytes(e.Raw, r.media)
	return r, nil
}

// inspectMessage sets the fields of a row that follow from the message: flags, calls, results,
// weight, media.
func (s *Store) inspectMessage(session *Session, r *row, raw []byte) error {
	_, err := s.readAndInspect(session, r, raw)
	return err
}

// readAndInspect is inspectMessage that also returns the parsed message.
func (s *Store) readAndInspect(session *Session, r *row, raw []byte) (*wire.Request, error) {
	if err := session.inferDialect(raw); err != nil {
		return nil, err
	}
	req, err := session.readMessage(raw)
	if err != nil {
		return nil, err
	}
	t := req.Transcript()
	if err := session.checkDialect(req, raw); err != nil {
		return nil, err
	}
	if err := checkMessage(req, 0); err != nil {
		return nil, err
	}
	m := t.Messages()[0]
	r.flags = flagMessage
	switch {
	case m.Role == transcript.System:
		r.flags |= flagSystem
	case m.Begins:
		r.flags |= flagTurn
		r.Begins = true
	case m.Speaks:
		r.flags |= flagWithResults
	}
	for _, b := range t.Blocks() {
		switch b.Kind {
		case transcript.Call:
			c := newCall(b)
			c.No = len(r.Calls)
			r.Calls = append(r.Calls, c)
			r.flags |= flagHasContent
		case transcript.Result:
			r.Answers = append(r.Answers, newCall(b))
		default:
			r.flags |= flagHasContent
			if b.Kind == transcript.Compaction {
				r.flags |= flagProviderCompaction
			}
		}
	}
	r.weight = int64(dialect.MessageTokens(req, s.counter(session), 0))
	r.media = findMedia(req, raw)
	return req, nil
}

// newCall returns the call of a block, with its own memory.
func newCall(b transcript.Block) Call {
	return Call{ID: strings.Clone(b.CallID), Tool: strings.Clone(b.Tool), family: b.Family}
}

// inferDialect sets the dialect of a session without one, if the message fits only one dialect. It
// returns an error if the plain messages before it do not fit, because they would be missing from
// every window.
func (s *Session) inferDialect(raw []byte) error {
	if s.Dialect != "" {
		return nil
	}
	d := dialect.DetectElement(raw)
	if d == wire.Auto {
		s.hasPlainText = true
		return nil
	}
	if s.hasPlainText || s.weight > 0 {
		r, err := wire.Parse([]byte(`[{"role":"user","content":"Hi"}]`), wire.Options{Dialect: d})
		if err != nil || dialect.NoMessage(r, 0) != "" {
			return fmt.Errorf("it is a message of the dialect %s, and those in front of it are not: they have their text under %q; send all messages in one dialect", d, "content")
		}
	}
	s.Dialect = d.String()
	return nil
}

// checkDialect returns an error for a message of another dialect whose calls, results or text the
// dialect of the session does not find. They would be missing from every window.
func (s *Session) checkDialect(request *wire.Request, raw []byte) error {
	pairs := func(b transcript.Block) bool { return b.Kind == transcript.Call || b.Kind == transcript.Result }
	if slices.ContainsFunc(request.Transcript().Blocks(), pairs) {
		return nil
	}
	d := dialect.DetectElement(raw)
	if d == wire.Auto || d == request.Dialect {
		return nil
	}
	detected, err := (&Session{Dialect: d.String(), Model: s.Model}).readMessage(raw)
	if err != nil {
		return nil
	}
	blocks := detected.Transcript().Blocks()
	if len(blocks) > 0 && len(request.Transcript().Blocks()) == 0 || slices.ContainsFunc(blocks, pairs) {
		return fmt.Errorf("it is a message of the dialect %s, and the session is one of %s", d, request.Dialect)
	}
	return nil
}

// counter returns the token counter of the session's model. It modifies the session, which keeps
// the counter.
func (s *Store) counter(session *Session) wire.Counter {
	if session.counter.by != nil && session.counter.model == session.Model {
		return session.counter.by
	}
	session.counter.model, session.counter.by = session.Model, tokens.For(session.Model)
	if s.options.Counter != nil {
		session.counter.by = s.options.Counter(session.Model)
	}
	return session.counter.by
}

const entryColumns = `pos, id, kind, flags, weight, cum, sum, codec, at, pairs, raw`

// A storedEntry is a row of the table.
type storedEntry struct {
	Entry
	sid                 int64
	flags               int
	weight, totalWeight int64
	sum                 []byte
	codec               int
	pairs               []byte
	stored              []byte
}

func (s *Session) scan(sid int64, scan func(...any) error) (storedEntry, error) {
	var (
		e  = storedEntry{sid: sid}
		at int64
	)
	if err := scan(&e.Seq, &e.ID, &e.Kind, &e.flags, &e.weight, &e.totalWeight, &e.sum, &e.codec, &at, &e.pairs, &e.stored); err != nil {
		return e, err
	}
	e.Seq = seqOf(e.Seq)
	e.At, e.Begins, e.Gone = time.UnixMicro(at).UTC(), e.flags&flagTurn != 0, e.codec == codecGone
	return e, nil
}

// entry reads a row without decoding its bytes.
func (s *Store) entry(ctx context.Context, t *tx, session *Session, sid, seq int64) (storedEntry, error) {
	return session.scan(sid, t.row(ctx, `SELECT `+entryColumns+` FROM entries WHERE pos = ?`, pos(sid, seq)).Scan)
}

// open decodes the bytes of an entry and compares their checksum.
func (s *Store) open(ctx context.Context, t *tx, session *Session, e *storedEntry) error {
	if e.codec&codecQuarantined != 0 {
		return &CorruptError{session.Key, e.Seq, quarantineReason}
	}
	raw, err := decodeBytes(e.codec, e.stored, func(h mediaRef) ([]byte, error) { return s.readMedium(ctx, t, h) })
	if err != nil {
		return s.readError(ctx, session, e, err)
	}
	if got := checksum(raw); string(got[:]) != string(e.sum) {
		return &CorruptError{session.Key, e.Seq, "its bytes are not those that were stored"}
	}
	e.Raw, e.stored = raw, nil
	return nil
}

func checksum(raw []byte) [sha256.Size]byte { return sha256.Sum256(raw) }

// entries reads up to limit entries in force between two numbers, oldest first.
func (s *Store) entries(ctx context.Context, t *tx, session *Session, from, to int64, limit int) ([]Entry, error) {
	all, err := s.scanAll(ctx, t, session, from, to, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(all))
	for i := range all {
		if !all[i].Gone {
			if err := session.markDamaged(&all[i], s.open(ctx, t, session, &all[i])); err != nil {
				return nil, err
			}
		}
		all[i].decodePairsOrNone(all[i].pairs)
		out[i] = all[i].Entry
	}
	return out, nil
}

// scanAll reads rows without decoding their bytes.
func (s *Store) scanAll(ctx context.Context, t *tx, session *Session, from, to int64, limit int) (all []storedEntry, err error) {
	for _, st := range session.ranges(from, to) {
		if len(all) >= limit {
			break
		}
		err = t.each(ctx, func(scan func(...any) error) error {
			e, err := session.scan(st.owner, scan)
			all = append(all, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos LIMIT ?`, pos(st.owner, st.from), pos(st.owner, st.to), limit-len(all))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sortEntries sorts entries and removes duplicates.
func sortEntries(all []storedEntry) []storedEntry {
	slices.SortFunc(all, func(a, b storedEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(all, func(a, b storedEntry) bool { return a.Seq == b.Seq })
}
