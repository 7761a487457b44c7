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

	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// KindReply is an entry that a model has replied and the client has not sent back yet. It is the
// client's to say what becomes of a reply: the message that it sends takes its place, so a reply
// counts only while no message follows.
const KindReply Kind = "reply"

// A RecordedExchange is a request that a proxy has passed on, and what was replied. Many goroutines may
// read it.
type RecordedExchange struct {
	Scope   string
	Request *wire.Request // as the client sent it
	// Reply is what the model said, as elements of the list of messages; nil: nothing, or
	// nothing that is whole.
	Reply [][]byte
	Agent string // the client's program, such as claude-cli/2.0.1; "": not known
	Usage tokens.Usage
}

// Remembered is what is known of a session that a proxy has seen. Many goroutines may read it.
type Remembered struct {
	Agent    string       `json:"agent,omitempty"`
	Requests int          `json:"requests"`
	Usage    tokens.Usage `json:"usage"` // as the provider billed it, over all requests
	// Fullness is how full the window was at the last request; nil: it is not known.
	Fullness *fullness.Outlook `json:"fullness,omitempty"`
}

// Remember keeps requests that have passed, all or none, as sessions: exactly the messages that
// the client sent, each once. A request that goes on with a session is appended to it, one that
// leaves it is a fork, and anything else begins a new one. An *EntryError is about a message that
// no session can hold.
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

// A chain is the messages of a request, each with the hash of everything up to it.
type requestChain struct {
	*RecordedExchange
	title string
	base  []byte
	links []chainedMessage
}

type chainedMessage struct {
	hash  [16]byte
	raw   []byte // without the markers of the cache
	marks []cacheMarker
}

func (l *chainedMessage) id() string { return hex.EncodeToString(l.hash[:]) }

// after is the hash of what follows.
func chainHash(before [16]byte, kind byte, raw []byte) (out [16]byte) {
	h := sha256.New()
	h.Write(before[:])
	h.Write([]byte{kind})
	h.Write(raw)
	copy(out[:], h.Sum(nil))
	return out
}

// newChain reads a request. Whose it is goes into every hash: what one scope has sent is never
// found from another.
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

// replies are the entries of what was replied.
func (c *requestChain) replies() (all []chainedMessage) {
	sum := c.links[len(c.links)-1].hash
	for _, raw := range c.Reply {
		sum = chainHash(sum, 'r', raw)
		all = append(all, chainedMessage{hash: sum, raw: raw})
	}
	return all
}

// lockChains lets nobody else remember conversations that begin the same, until the transaction
// ends. The order of the locks is the same for everybody.
func (s *Store) lockChains(ctx context.Context, t *tx, all []requestChain) error {
	var names []int64
	for _, c := range all {
		names = append(names, int64(binary.BigEndian.Uint64(c.links[0].hash[:])))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := s.eng.lockName(ctx, t, name); err != nil {
			return err
		}
	}
	return nil
}

// remember writes one request.
func (s *Store) rememberOne(ctx context.Context, t *tx, c *requestChain) (*Session, error) {
	session, k, err := s.findRemembered(ctx, t, c)
	if err != nil {
		return nil, err
	}
	replies := c.replies()
	newest := true // nothing that is kept goes on from it
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

// branch is the session to go on with behind message k of a request: the one that has it, or a
// fork if that went on otherwise. A request that says nothing new and was answered the same
// before adds nothing to any. Newest reports whether the session ends where the request does.
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
	made, err := s.fork(ctx, t, session, seq, Key{Scope: c.Scope, ID: NewID()[:12]})
	return made, replies, true, err
}

// areKnown reports whether all of these are remembered, as nothing is.
func (s *Store) areRemembered(ctx context.Context, t *tx, all []chainedMessage) (bool, error) {
	for _, l := range all {
		var n int
		if err := t.row(ctx, `SELECT count(*) FROM beginnings WHERE hash = ?`, l.hash[:]).Scan(&n); err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// sentBack reports whether the messages behind an entry say what was replied: the client was
// faster with its next request, by way of another replica, than this one was written.
func (s *Store) isSentBack(ctx context.Context, t *tx, session *Session, seq int64, replies []chainedMessage) (bool, error) {
	all, err := s.entries(ctx, t, session, seq+1, session.Head, 4*len(replies)+4)
	if err != nil {
		return false, err
	}
	var was, is strings.Builder
	n := 0
	for _, e := range all {
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

// placeOf finds the longest beginning of a request that is remembered and in force: the session
// that has it, and how many messages it is; nil: there is none.
func (s *Store) findRemembered(ctx context.Context, t *tx, c *requestChain) (*Session, int, error) {
	for upto := len(c.links); upto > 0; {
		from := max(0, upto-hashesPerQuery+1)
		ask := make([]any, 0, hashesPerQuery)
		for i := from; i < upto; i++ {
			ask = append(ask, c.links[i].hash[:])
		}
		for len(ask) < hashesPerQuery {
			ask = append(ask, c.links[0].hash[:]) // without which there is nothing
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

// lookAtOnce is how many beginnings are looked for with one statement, which has a question mark
// for each. Nearly always one of the last few is there.
const hashesPerQuery = 16

// holds returns a session if it is in force, belongs to the same scope and has an entry.
func (s *Store) sessionWith(ctx context.Context, t *tx, c *requestChain, sid int64, id string) (*Session, error) {
	if err := s.eng.lock(ctx, t, `sid = ?`, sid); err != nil {
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

// lastMessage is the number of the last message in force; 0: there is none.
func (s *Store) lastMessage(ctx context.Context, t *tx, session *Session) (int64, error) {
	for _, st := range slices.Backward(session.ranges(1, session.Head)) {
		var at int64
		err := t.row(ctx, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message' ORDER BY pos DESC LIMIT 1`, pos(st.sid, st.from), pos(st.sid, st.to)).Scan(&at)
		if err == nil {
			return seqOf(at), nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
	}
	return 0, nil
}

// appendLinks appends messages and replies, and notes where they are found. It returns how many
// bytes that took.
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
	done, err := s.append(ctx, t, session, Anywhere, entries)
	if err != nil {
		return 0, err
	}
	found := bulkInsert{into: `INSERT INTO beginnings (hash, sid, seq)`, width: 3, suffix: ` ON CONFLICT (hash) DO UPDATE SET sid = excluded.sid, seq = excluded.seq`}
	for i, e := range done.Entries {
		size += len(entries[i].Raw)
		found.add(0, hashes[i][:], session.sid, e.Seq)
	}
	return size, found.flush(ctx, t)
}

// around keeps the request around the messages as the client sent it last.
func (s *Store) updateBase(ctx context.Context, t *tx, session *Session, c *requestChain) error {
	title, model := cmp.Or(session.Title, c.title), truncate(c.Request.Model(), maxTitle)
	if string(session.Base) == string(c.base) && session.Title == title && session.Model == model {
		return nil
	}
	session.Base, session.Title, session.Model = c.base, title, model
	_, err := t.exec(ctx, `UPDATE sessions SET model = ?, title = ?, base = ? WHERE sid = ?`, model, title, c.base, session.sid)
	return err
}

// tally adds up what the requests of a session were billed.
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

// titleOf is the first words that a person says; "": nobody does.
func findTitle(r *wire.Request) string {
	t := r.Transcript()
	for b, blk := range t.Blocks() {
		if blk.Kind != transcript.Text || t.Messages()[blk.Message].Role != transcript.User {
			continue
		}
		text := wirex.PersonsWords(r.Text(transcript.BlockID(b)))
		text = strings.Join(strings.Fields(text[:min(len(text), 1000)]), " ")
		if text == "" || text[0] == '<' || strings.HasPrefix(text, "# AGENTS.md") || strings.HasPrefix(text, "Caveat:") {
			continue // what programs put in front of it
		}
		return truncate(text, 80)
	}
	return ""
}

// clipped is the beginning of a text that every database can hold.
func truncate(text string, most int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
