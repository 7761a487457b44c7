package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A Key names a session. Path is empty, or the path of a sub-session, such as that of a sub-agent.
type Key struct {
	Scope string `json:"scope,omitempty"`
	ID    string `json:"id"`
	Path  string `json:"path,omitempty"`
}

// ID returns the key of a session without scope and path.
func ID(id string) Key { return Key{ID: id} }

// String returns a readable name. The path is in parentheses, because ids may contain slashes.
func (k Key) String() string {
	name := k.ID
	if k.Scope != "" {
		name = k.Scope + ":" + name
	}
	if k.Path != "" {
		name += " (path " + k.Path + ")"
	}
	return name
}

// isText reports whether every database can store s.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// valid returns an error for keys that are ambiguous or cannot be shown.
func (k Key) valid() error {
	if k.ID == "" {
		return fmt.Errorf("session: %w: the id is empty", ErrUsage)
	}
	if k.ID == "." || k.ID == ".." {
		return fmt.Errorf("session: %w: %q leads elsewhere in the path of a URL", ErrUsage, k.ID)
	}
	for _, part := range []string{k.Scope, k.ID, k.Path} {
		if len(part) > 512 {
			return fmt.Errorf("session: %w: %.40q… is longer than 512 bytes", ErrUsage, part)
		}
		if strings.ToValidUTF8(part, "") != part || strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("session: %w: %q holds control characters or bytes that are no text", ErrUsage, part)
		}
	}
	return nil
}

// NewID returns a new random id for a session or an entry.
func NewID() string { return strings.ToLower(rand.Text()) }

// entryID returns an id for an entry. Ids grow with time, so that new ones are neighbors in the
// index.
func (s *Store) entryID() string {
	ms := strconv.FormatInt(s.sharedNow().UnixMilli()&(1<<45-1), 32)
	return strings.Repeat("0", max(0, 9-len(ms))) + ms + NewID()[:12]
}

// A Session describes a session without its entries.
type Session struct {
	Key
	Dialect  string          `json:"dialect"` // "" until the first message that fits only one dialect
	Model    string          `json:"model,omitempty"`
	Title    string          `json:"title,omitempty"`
	Base     json.RawMessage `json:"base,omitempty"` // the request around the list of messages
	Settings json.RawMessage `json:"settings,omitempty"`
	Head     int64           `json:"head"` // the number of the last entry
	Created  time.Time       `json:"created"`
	Updated  time.Time       `json:"updated"`
	Parent   *Origin         `json:"parent,omitempty"` // of a fork
	Deleted  bool            `json:"deleted,omitempty"`
	// Remembered is set for sessions that a proxy has recorded; see [Store.Remember].
	Remembered *Remembered `json:"remembered,omitempty"`

	sid          int64
	weight       int64
	hasPlainText bool  // an entry of the append fits several dialects
	settled      int64 // the marks of entries up to this one are in the table
	tail         tail  // the marks of later entries, if tailLoaded
	tailLoaded   bool
	readMedia    bool // read media with the entries instead of when the window is complete
	indexed      int64
	state        state
	counter      struct { // of model, set by Store.counter
		model string
		by    wire.Counter
	}
}

// An Origin is the session and entry from which a fork was made.
type Origin struct {
	Key Key   `json:"key"`
	Seq int64 `json:"seq"`
}

// Create describes a new session. In the zero value, the messages determine the dialect.
type Create struct {
	Dialect string
	Model   string
	Title   string
	// Base is a request without its messages: model, system prompt, tools, limits. Windows insert
	// the messages.
	Base json.RawMessage
}

// Create creates a session. The error wraps ErrExists if it exists, and ErrDeleted if it was
// deleted.
func (s *Store) Create(ctx context.Context, key Key, c Create) (*Session, error) {
	if err := key.valid(); err != nil {
		return nil, err
	}
	if err := c.valid(s.options.MaxEntry); err != nil {
		return nil, fmt.Errorf("create session %s: %w", key, err)
	}
	var created *Session
	err := s.write(ctx, func(t *tx) error {
		var err error
		created, err = s.create(ctx, t, key, c, nil, state{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", key, err)
	}
	s.cache.add(created, nil)
	s.emit(eventCreated, EventData{Session: key})
	return created, nil
}

// maxTitle limits titles and model names, in bytes.
const maxTitle = 1000

// valid checks a new session. It modifies c: an empty model is taken from the base.
func (c *Create) valid(most int) error {
	if len(c.Title) > maxTitle || len(c.Model) > maxTitle {
		return fmt.Errorf("%w: a title, or the name of a model, is longer than %d bytes", ErrUsage, maxTitle)
	}
	if !isText(c.Title) || !isText(c.Model) {
		return fmt.Errorf("%w: a title, or the name of a model, is no text", ErrUsage)
	}
	if len(c.Base) > most {
		return fmt.Errorf("%w: the base has %d bytes, %d are allowed", ErrUsage, len(c.Base), most)
	}
	if c.Dialect != "" {
		if _, err := wire.ParseDialect(c.Dialect); err != nil {
			return fmt.Errorf("%w: %w", ErrUsage, err)
		}
	}
	if len(c.Base) == 0 || string(c.Base) == "null" {
		c.Base = nil
		return nil
	}
	var base struct {
		Model string `json:"model"`
	}
	if !json.Valid(c.Base) || bytes.TrimSpace(c.Base)[0] != '{' {
		return fmt.Errorf("%w: base is no JSON object", ErrUsage)
	}
	json.Unmarshal(c.Base, &base) // a model that is not a string counts as missing
	if c.Model == "" {
		c.Model = base.Model
	}
	return nil
}

// create inserts the row of a session.
func (s *Store) create(ctx context.Context, t *tx, key Key, c Create, settings json.RawMessage, st state) (*Session, error) {
	if err := s.checkParentPaths(ctx, t, key); err != nil {
		return nil, err
	}
	now := s.now()
	var sid int64
	head, cum := st.head, st.weight
	err := t.row(ctx, `INSERT INTO sessions (scope, id, path, dialect, model, title, base, settings, noted_head, cum, settled, state, indexed, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING sid`,
		key.Scope, key.ID, key.Path, c.Dialect, c.Model, c.Title, []byte(c.Base), []byte(settings), head, cum, head, st.encode(), head, now, now).Scan(&sid)
	if errors.Is(err, sql.ErrNoRows) {
		old, err := s.lookup(ctx, t, key, false)
		switch {
		case err != nil:
			return nil, err
		case old.Deleted:
			return nil, ErrDeleted
		}
		return nil, ErrExists
	}
	if err != nil {
		return nil, err
	}
	return s.lookup(ctx, t, key, false)
}

// checkParentPaths returns ErrDeleted if a session above the path was deleted, because that deleted
// everything below it. It locks the sessions above.
func (s *Store) checkParentPaths(ctx context.Context, t *tx, key Key) error {
	for path := key.Path; path != ""; {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		above, err := s.lookup(ctx, t, Key{key.Scope, key.ID, path}, true)
		if err == nil && above.Deleted {
			return ErrDeleted
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

const sessionColumns = `sid, scope, id, path, dialect, model, title, base, settings, head, cum, settled, state, indexed, created_at, updated_at, deleted_at`

func scanSession(scan func(...any) error) (*Session, error) {
	var (
		session          Session
		base, settings   []byte
		st               string
		created, updated int64
		deleted          sql.NullInt64
	)
	if err := scan(&session.sid, &session.Scope, &session.ID, &session.Path, &session.Dialect, &session.Model, &session.Title, &base, &settings, &session.Head, &session.weight, &session.settled, &st, &session.indexed, &created, &updated, &deleted); err != nil {
		return nil, err
	}
	session.Base, session.Settings, session.Deleted = base, settings, deleted.Valid
	session.Created, session.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	if err := session.state.decode(st); err != nil {
		return nil, &CorruptError{session.Key, 0, "its state cannot be read: " + err.Error()}
	}
	session.Parent = session.state.Origin
	return &session, nil
}

// lookup finds a session, including deleted ones. With lock, no other transaction can change it
// until this one ends.
func (s *Store) lookup(ctx context.Context, t *tx, key Key, lock bool) (*Session, error) {
	const where = `scope = ? AND id = ? AND path = ?`
	if !isText(key.Scope) || !isText(key.ID) || !isText(key.Path) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	if lock {
		if err := s.engine.lock(ctx, t, where, key.Scope, key.ID, key.Path); err != nil {
			return nil, err
		}
	}
	session, err := scanSession(t.row(ctx, `SELECT `+sessionColumns+` FROM sessions_now WHERE `+where, key.Scope, key.ID, key.Path).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return session, err
}

// live finds a session that is not deleted.
func (s *Store) live(ctx context.Context, t *tx, key Key, lock bool) (*Session, error) {
	session, err := s.lookup(ctx, t, key, lock)
	if err == nil && session.Deleted {
		return nil, fmt.Errorf("%w: %s", ErrDeleted, key)
	}
	return session, err
}

// Session returns a session.
func (s *Store) Session(ctx context.Context, key Key) (session *Session, err error) {
	err = s.read(ctx, func(t *tx) error {
		if session, err = s.live(ctx, t, key, false); err != nil {
			return err
		}
		return s.loadRemembered(ctx, t, session)
	})
	return session, err
}

// Sessions lists the sessions of a scope without sub-sessions, the most recently changed first. If
// before is set, the list continues after it.
func (s *Store) Sessions(ctx context.Context, scope string, limit int, before *Session) ([]*Session, error) {
	if limit <= 0 {
		limit = 100
	}
	where, args := `scope = ? AND path = '' AND deleted_at IS NULL`, []any{scope}
	if before != nil {
		at := before.Updated.UnixMicro()
		where += ` AND (updated_at < ? OR updated_at = ? AND sid < ?)`
		args = append(args, at, at, before.sid)
	}
	all, err := s.sessions(ctx, where+` ORDER BY updated_at DESC, sid DESC LIMIT ?`, append(args, limit)...)
	if err == nil {
		err = s.read(ctx, func(t *tx) error { return s.loadRemembered(ctx, t, all...) })
	}
	return all, err
}

// Paths lists the sub-sessions of a session, ordered by path.
func (s *Store) Paths(ctx context.Context, key Key) ([]*Session, error) {
	return s.sessions(ctx, `scope = ? AND id = ? AND path <> '' AND deleted_at IS NULL ORDER BY path`, key.Scope, key.ID)
}

func (s *Store) sessions(ctx context.Context, where string, args ...any) (all []*Session, err error) {
	for _, arg := range args {
		if text, ok := arg.(string); ok && !isText(text) {
			return nil, nil
		}
	}
	err = s.read(ctx, func(t *tx) error {
		return t.each(ctx, func(scan func(...any) error) error {
			session, err := scanSession(scan)
			all = append(all, session)
			return err
		}, `SELECT `+sessionColumns+` FROM sessions_now WHERE `+where, args...)
	})
	return all, err
}

// An Update changes a session. Nil fields stay as they are.
type Update struct {
	Model *string
	Title *string
	Base  json.RawMessage
	// Settings are members for every later request of the session, such as a vendor's option to
	// drop thinking that is bound to another prefix. Windows merge them into the body.
	Settings json.RawMessage
}

// Update changes the model, title, base or settings of a session.
func (s *Store) Update(ctx context.Context, key Key, c Update) error {
	for name, raw := range map[string]json.RawMessage{"base": c.Base, "settings": c.Settings} {
		if len(raw) > 0 && (!json.Valid(raw) || bytes.TrimSpace(raw)[0] != '{') {
			return fmt.Errorf("update session %s: %w: %s is no JSON object", key, ErrUsage, name)
		}
		if len(raw) > s.options.MaxEntry {
			return fmt.Errorf("update session %s: %w: %s has %d bytes, %d are allowed", key, ErrUsage, name, len(raw), s.options.MaxEntry)
		}
	}
	for _, text := range []*string{c.Title, c.Model} {
		if text != nil && len(*text) > maxTitle {
			return fmt.Errorf("update session %s: %w: a title, or the name of a model, is longer than %d bytes", key, ErrUsage, maxTitle)
		}
		if text != nil && !isText(*text) {
			return fmt.Errorf("update session %s: %w: a title, or the name of a model, is no text", key, ErrUsage)
		}
	}
	if c.Model != nil {
		if err := s.checkModelChange(ctx, key, *c.Model); err != nil {
			return fmt.Errorf("update session %s: %w", key, err)
		}
	}
	defer s.cache.remove(key) // its token counts depend on the model
	return s.write(ctx, func(t *tx) error {
		session, err := s.live(ctx, t, key, true)
		if err != nil {
			return err
		}
		if err := s.saveEarlierBase(ctx, t, session); err != nil {
			return err
		}
		if c.Model != nil {
			if err := session.setModel(c); err != nil {
				return fmt.Errorf("update session %s: %w", key, err)
			}
		}
		if c.Title != nil {
			session.Title = *c.Title
		}
		if c.Base != nil {
			session.Base = c.Base
		}
		if c.Settings != nil {
			session.Settings = c.Settings
		}
		_, err = t.exec(ctx, `UPDATE sessions SET model = ?, title = ?, base = ?, settings = ?, updated_at = ? WHERE sid = ?`,
			session.Model, session.Title, []byte(session.Base), []byte(session.Settings), s.now(), session.sid)
		return err
	})
}

// saveEarlierBase saves the model, base and settings up to the current head, for windows of earlier
// heads. Only the first change at a head counts: requests with that head were sent before it.
func (s *Store) saveEarlierBase(ctx context.Context, t *tx, session *Session) error {
	_, err := t.exec(ctx, `INSERT INTO earlier (sid, upto, model, base, settings) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		session.sid, session.Head, session.Model, []byte(session.Base), []byte(session.Settings))
	return err
}

// restoreEarlierBase sets the model, base and settings of a session to those at an earlier head.
func (s *Store) restoreEarlierBase(ctx context.Context, t *tx, session *Session, head int64) error {
	var base, settings []byte
	err := t.row(ctx, `SELECT model, base, settings FROM earlier WHERE sid = ? AND upto >= ? ORDER BY upto LIMIT 1`, session.sid, head).Scan(&session.Model, &base, &settings)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	session.Base, session.Settings = base, settings
	return err
}

// NeedCompaction lists the sessions of all scopes that have more than above tokens after their last
// summary, heaviest first. For idle sessions whose provider cache is about to expire, resting is
// the limit instead; zero disables it.
func (s *Store) NeedCompaction(ctx context.Context, above, resting int64, now time.Time, limit int) (keys []Key, err error) {
	least := above
	if resting > 0 {
		least = min(above, resting)
	}
	all, err := s.sessions(ctx, `deleted_at IS NULL AND cum > ? ORDER BY cum DESC`, least)
	for _, session := range all {
		last, _ := session.state.compaction()
		more := session.weight - last.Weight
		if len(keys) < limit && (more > above || resting > 0 && more > resting && session.isResting(now)) {
			keys = append(keys, session.Key)
		}
	}
	return keys, err
}

// isResting reports whether the session has been idle for at least four fifths of the lifetime of
// its provider's cache, and the cache has not expired yet.
func (s *Session) isResting(now time.Time) bool {
	life, pause := tokens.CacheOf(s.Model).Life, now.Sub(s.Updated)
	return pause >= life*4/5 && pause < life
}
