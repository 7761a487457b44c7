package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// KindReply is an entry with a reply of the model that the client has not sent back. It counts only
// until a message follows, because the client decides which part of the reply it sends back.
const KindReply Kind = "reply"

// A RecordedExchange is a request that a proxy has forwarded, and its reply.
type RecordedExchange struct {
	Scope   string
	Request *wire.Request // as the client sent it
	// Reply is the complete reply as elements of the list of messages, or nil.
	Reply [][]byte
	Agent string // the client's program, such as claude-cli/2.0.1, or ""
	Usage tokens.Usage
}

// A Remembered describes a session that a proxy has recorded.
type Remembered struct {
	Agent    string       `json:"agent,omitempty"`
	Requests int          `json:"requests"`
	Usage    tokens.Usage `json:"usage"` // as billed, over all requests
	// Fullness is that of the last request, or nil if it is unknown.
	Fullness *fullness.Outlook `json:"fullness,omitempty"`
}

// Remember stores recorded requests as sessions, all or none. Each message is stored once, as the
// client sent it. A request that continues a session is appended to it, one that diverges from it
// becomes a fork, and others begin a new session. An *EntryError reports a message that cannot be
// stored.
func (s *Store) Remember(ctx context.Context, all ...RecordedExchange) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	chains := make([]requestChain, 0, len(all))
	for i := range all {
		c, err := newChain(&all[i])
		if err != nil {
			return fmt.Errorf("remember a request: %w", err)
		}
		chains = append(chains, c)
	}
	var touched []Key
	err := s.write(ctx, func(t *tx) error {
		touched = touched[:0]
		if err := s.lockChains(ctx, t, chains); err != nil {
			return err
		}
		for i := range chains {
			session, err := s.rememberOne(ctx, t, &chains[i])
			if err != nil {
				return err
			}
			touched = append(touched, session.Key)
			s.cache.remove(session.Key)
		}
		return nil
	})
	for _, key := range touched {
		s.cache.remove(key)
	}
	if err != nil {
		return fmt.Errorf("remember a request: %w", err)
	}
	for _, key := range touched {
		s.emit(eventAppended, EventData{Session: key})
	}
	return nil
}

// A requestChain is a request with a hash of each prefix of its messages.
type requestChain struct {
	*RecordedExchange
	title string
	base  []byte
	links []chainedMessage
}

// A chainedMessage is a message with the hash of all messages up to it.
type chainedMessage struct {
	hash  [16]byte
	raw   []byte // without cache markers
	marks []cacheMarker
}

func (l *chainedMessage) id() string { return hex.EncodeToString(l.hash[:]) }

// chainHash returns the hash of a chain that continues with raw.
func chainHash(before [16]byte, kind byte, raw []byte) (out [16]byte) {
	h := sha256.New()
	h.Write(before[:])
	h.Write([]byte{kind})
	h.Write(raw)
	copy(out[:], h.Sum(nil))
	return out
}

// newChain reads a request. The hashes include the scope, so that scopes never share sessions.
func newChain(p *RecordedExchange) (requestChain, error) {
	c := requestChain{RecordedExchange: p, title: findTitle(p.Request)}
	var err error
	if c.base, err = requestBase(p.Request); err != nil {
		return c, err
	}
	t := p.Request.Transcript()
	if len(t.Messages()) == 0 {
		return c, &EntryError{Err: errors.New("it holds no message")}
	}
	sum := chainHash([16]byte{}, 'd', []byte(p.Request.Dialect.String()+"\x00"+p.Scope))
	for _, m := range t.Messages() {
		raw, marks := removeCacheMarkers(t.Bytes(m.Span))
		sum = chainHash(sum, 'm', raw)
		c.links = append(c.links, chainedMessage{sum, raw, marks})
	}
	return c, nil
}

// replies returns the messages of the reply.
func (c *requestChain) replies() (all []chainedMessage) {
	sum := c.links[len(c.links)-1].hash
	for _, raw := range c.Reply {
		sum = chainHash(sum, 'r', raw)
		all = append(all, chainedMessage{hash: sum, raw: raw})
	}
	return all
}

// lockChains locks conversations with the same first message until the transaction ends, in a fixed
// order.
func (s *Store) lockChains(ctx context.Context, t *tx, all []requestChain) error {
	var names []int64
	for _, c := range all {
		names = append(names, int64(binary.BigEndian.Uint64(c.links[0].hash[:])))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := s.engine.lockName(ctx, t, name); err != nil {
			return err
		}
	}
	return nil
}

// rememberOne stores one request.
func (s *Store) rememberOne(ctx context.Context, t *tx, c *requestChain) (*Session, error) {
	session, k, err := s.findRemembered(ctx, t, c)
	if err != nil {
		return nil, err
	}
	replies := c.replies()
	newest := true // nothing that is stored continues the request
	switch {
	case session == nil:
		key := Key{Scope: c.Scope, ID: NewID()[:12]}
		session, err = s.create(ctx, t, key, Create{Dialect: c.Request.Dialect.String(), Model: truncate(c.Request.Model(), maxTitle), Title: c.title, Base: c.base}, nil, state{})
	default:
		session, replies, newest, err = s.continueOrFork(ctx, t, session, c, k, replies)
	}
	if err != nil {
		return nil, err
	}
	n, err := s.appendChain(ctx, t, session, c.links[k:], replies)
	if err != nil {
		return nil, err
	}
	if newest {
		if err := s.updateBase(ctx, t, session, c); err != nil {
			return nil, err
		}
	}
	return session, s.addUsage(ctx, t, session, c, n, newest)
}

// continueOrFork returns the session that continues with message k of a request: the session
// itself, or a fork if it has continued otherwise. A request without new messages whose reply is
// stored adds nothing. Newest reports whether the session ends with the request.
func (s *Store) continueOrFork(ctx context.Context, t *tx, session *Session, c *requestChain, k int, replies []chainedMessage) (to *Session, left []chainedMessage, newest bool, err error) {
	seq, _, err := s.findByID(ctx, t, session, c.links[k-1].id())
	if err != nil {
		return nil, nil, false, err
	}
	last, err := s.lastMessage(ctx, t, session)
	if err != nil {
		return nil, nil, false, err
	}
	news := k < len(c.links)
	if !news {
		known, err := s.areRemembered(ctx, t, replies)
		if err == nil && !known && seq < last {
			known, err = s.isSentBack(ctx, t, session, seq, replies)
		}
		if err != nil || known {
			return session, nil, seq == last, err
		}
	}
	if seq == last && (news || session.Model == c.Request.Model() || session.Model == "") {
		return session, replies, true, nil
	}
	created, err := s.fork(ctx, t, session, seq, Key{Scope: c.Scope, ID: NewID()[:12]})
	return created, replies, true, err
}

// areRemembered reports whether all messages are stored.
func (s *Store) areRemembered(ctx context.Context, t *tx, all []chainedMessage) (bool, error) {
	for _, l := range all {
		var n int
		if err := t.row(ctx, `SELECT count(*) FROM beginnings WHERE hash = ?`, l.hash[:]).Scan(&n); err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// isSentBack reports whether the messages after an entry have the text of the reply: the client's
// next request was stored first, by another replica.
func (s *Store) isSentBack(ctx context.Context, t *tx, session *Session, seq int64, replies []chainedMessage) (bool, error) {
	entries, err := s.entries(ctx, t, session, seq+1, session.Head, 4*len(replies)+4)
	if err != nil {
		return false, err
	}
	var was, is strings.Builder
	n := 0
	for _, e := range entries {
		if e.Kind == KindMessage && !e.Gone && n < len(replies) {
			n++
			is.WriteString(fold(textOf(session, e.Raw)) + " ")
		}
	}
	for _, l := range replies {
		was.WriteString(fold(textOf(session, l.raw)) + " ")
	}
	return was.String() == is.String(), nil
}

// findRemembered finds the longest stored prefix of a request that is in force. It returns the
// session, or nil, and the number of messages.
func (s *Store) findRemembered(ctx context.Context, t *tx, c *requestChain) (*Session, int, error) {
	for upto := len(c.links); upto > 0; {
		from := max(0, upto-hashesPerQuery+1)
		ask := make([]any, 0, hashesPerQuery)
		for i := from; i < upto; i++ {
			ask = append(ask, c.links[i].hash[:])
		}
		for len(ask) < hashesPerQuery {
			ask = append(ask, c.links[0].hash[:]) // fills the statement
		}
		sids := make(map[[16]byte]int64)
		err := t.each(ctx, func(scan func(...any) error) error {
			var hash []byte
			var sid int64
			err := scan(&hash, &sid)
			sids[[16]byte(hash)] = sid
			return err
		}, `SELECT hash, sid FROM beginnings WHERE hash IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, ask...)
		if err != nil || len(sids) == 0 {
			return nil, 0, err
		}
		for i := upto - 1; i >= from; i-- {
			sid, ok := sids[c.links[i].hash]
			if !ok {
				continue
			}
			session, err := s.sessionWith(ctx, t, c, sid, c.links[i].id())
			if session != nil || err != nil {
				return session, i + 1, err
			}
		}
		upto = from
	}
	return nil, 0, nil
}

// hashesPerQuery is the number of placeholders in the query for prefixes. One of the last prefixes
// is nearly always stored.
const hashesPerQuery = 16

// sessionWith returns a session if it belongs to the same scope and has an entry in force with the
// id. Otherwise it returns nil.
func (s *Store) sessionWith(ctx context.Context, t *tx, c *requestChain, sid int64, id string) (*Session, error) {
	if err := s.engine.lock(ctx, t, `sid = ?`, sid); err != nil {
		return nil, err
	}
	session, err := scanSession(t.row(ctx, `SELECT `+sessionColumns+` FROM sessions_now WHERE sid = ?`, sid).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil || session.Deleted || session.Scope != c.Scope {
		return nil, err
	}
	seq, _, err := s.findByID(ctx, t, session, id)
	if err != nil || seq == 0 || !session.state.visible(seq) {
		return nil, err
	}
	return session, nil
}

// lastMessage returns the number of the last message in force, or 0.
func (s *Store) lastMessage(ctx context.Context, t *tx, session *Session) (int64, error) {
	for _, st := range slices.Backward(session.ranges(1, session.Head)) {
		var at int64
		err := t.row(ctx, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message' ORDER BY pos DESC LIMIT 1`, pos(st.owner, st.from), pos(st.owner, st.to)).Scan(&at)
		if err == nil {
			return seqOf(at), nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
	}
	return 0, nil
}

// appendChain appends messages and replies, and stores their hashes. It returns their size in
// bytes.
func (s *Store) appendChain(ctx context.Context, t *tx, session *Session, messages, replies []chainedMessage) (size int, err error) {
	var entries []Entry
	var hashes [][16]byte
	for _, l := range messages {
		entries, hashes = append(entries, Entry{ID: l.id(), Raw: l.raw}), append(hashes, l.hash)
	}
	for _, l := range replies {
		entries, hashes = append(entries, Entry{ID: l.id(), Kind: KindReply, Raw: l.raw}), append(hashes, l.hash)
	}
	if len(entries) == 0 {
		return 0, nil
	}
	result, err := s.append(ctx, t, session, Anywhere, entries)
	if err != nil {
		return 0, err
	}
	found := bulkInsert{into: `INSERT INTO beginnings (hash, sid, seq)`, width: 3, suffix: ` ON CONFLICT (hash) DO UPDATE SET sid = excluded.sid, seq = excluded.seq`}
	for i, e := range result.Entries {
		size += len(entries[i].Raw)
		found.add(0, hashes[i][:], session.sid, e.Seq)
	}
	return size, found.flush(ctx, t)
}

// updateBase stores the base, title and model of the last request.
func (s *Store) updateBase(ctx context.Context, t *tx, session *Session, c *requestChain) error {
	title, model := cmp.Or(session.Title, c.title), truncate(c.Request.Model(), maxTitle)
	if string(session.Base) == string(c.base) && session.Title == title && session.Model == model {
		return nil
	}
	session.Base, session.Title, session.Model = c.base, title, model
	_, err := t.exec(ctx, `UPDATE sessions SET model = ?, title = ?, base = ? WHERE sid = ?`, model, title, c.base, session.sid)
	return err
}

// addUsage adds the usage of a request to that of its session.
func (s *Store) addUsage(ctx context.Context, t *tx, session *Session, c *requestChain, size int, newest bool) error {
	u := c.Usage
	marks := "remembered.marks"
	if newest {
		marks = "excluded.marks"
	}
	p, err := s.loadGrowth(ctx, t, session)
	if err != nil {
		return err
	}
	p.Add(fullness.Step{Model: c.Request.Model(), Usage: u, Turns: c.Request.Transcript().Asked(len(c.links))})
	p.MaxOutput = c.Request.MaxOutputTokens()
	pace, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `INSERT INTO remembered (sid, agent, requests, input, was_read, written, output, size, marks, at, pace) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (sid) DO UPDATE SET agent = excluded.agent, requests = remembered.requests + 1, input = remembered.input + excluded.input,
		was_read = remembered.was_read + excluded.was_read, written = remembered.written + excluded.written, output = remembered.output + excluded.output,
		size = remembered.size + excluded.size, marks = `+marks+`, at = excluded.at, pace = excluded.pace`,
		session.sid, truncate(c.Agent, 200), u.Input, u.Read, u.Written, u.Output, size, encodeCacheMarkers(c.links), s.now(), string(pace))
	return err
}

// findTitle returns the first words of the user, or "".
func findTitle(r *wire.Request) string {
	t := r.Transcript()
	for b, blk := range t.Blocks() {
		if blk.Kind != transcript.Text || t.Messages()[blk.Message].Role != transcript.User {
			continue
		}
		text := dialect.PersonsWords(r.Text(transcript.BlockID(b)))
		text = strings.Join(strings.Fields(text[:min(len(text), 1000)]), " ")
		if text == "" || text[0] == '<' || strings.HasPrefix(text, "# AGENTS.md") || strings.HasPrefix(text, "Caveat:") {
			continue
		}
		return truncate(text, 80)
	}
	return ""
}

// truncate returns the beginning of a text, without bytes that a database cannot store.
func truncate(text string, most int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
