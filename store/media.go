package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// A mediumError says what is wrong with a medium.
type mediumError string

func (e mediumError) Error() string { return string(e) }

// badMedium reports whether an error is about a medium that is damaged or missing.
func isMediumError(err error) bool {
	var bad mediumError
	return errors.As(err, &bad)
}

// blob reads a medium and proves that it is what was stored.
func (s *Store) readMedium(ctx context.Context, t *tx, h mediaRef) ([]byte, error) {
	var data []byte
	err := t.row(ctx, `SELECT data FROM blobs WHERE sum = ?`, h.sum).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, mediumError("it is missing")
	}
	if err != nil {
		return nil, &fetchError{err}
	}
	if got := checksum(data); !bytes.Equal(got[:], h.sum) {
		return nil, mediumError("it is not what was stored")
	}
	return h.encode(data), nil
}

// A window is planned without reading the pictures: in their place stands the head of
// the picture, which tells its size, and a marker. What is still there at the end is
// filled in. Nobody can write a marker who does not know the secret of the database, so
// that no text of a message can fetch what belongs to others.
const (
	mediaMarker     = "pareBlob"
	mediaHeadBytes  = 6 << 10 // of a picture; in base64 a third more
	mediaMarkerSize = len(mediaMarker) + 2*sha256.Size + 32
)

// openLazily unpacks an entry with markers in the place of pictures.
func (s *Store) openWithoutMedia(ctx context.Context, t *tx, session *Session, e *storedEntry) error {
	if e.codec&codecMedia == 0 || e.codec&codecQuarantined != 0 || session.readMedia {
		return s.open(ctx, t, session, e)
	}
	raw, err := decodeBytes(e.codec, e.stored, func(h mediaRef) ([]byte, error) {
		var head []byte
		var size int
		if err := t.row(ctx, `SELECT substr(data, 1, ?), size FROM blobs WHERE sum = ?`, mediaHeadBytes, h.sum).Scan(&head, &size); err != nil {
			return nil, &fetchError{err}
		}
		text := base64.StdEncoding.EncodeToString(head)
		if _, _, ok := tokensx.ImageSize([]byte(text)); !ok || h.verbatim || size <= mediaHeadBytes {
			return s.readMedium(ctx, t, h) // it must be read to know what it costs
		}
		return append([]byte(text), mediaMarker+hex.EncodeToString(h.sum)+s.signMedium(h.sum)...), nil
	})
	if err != nil {
		return s.readError(ctx, session, e, err)
	}
	e.Raw, e.stored = raw, nil
	return nil
}

// A fetchError says that the database did not give a medium out.
type fetchError struct{ error }

func (e *fetchError) Unwrap() error { return e.error }

// unread is the error for an entry whose bytes cannot be read. Nothing is said against them if
// the database did not answer, or was not waited for.
func (s *Store) readError(ctx context.Context, session *Session, e *storedEntry, err error) error {
	var fetch *fetchError
	if errors.As(err, &fetch) && (ctx.Err() != nil || s.eng.isDown(fetch.error)) {
		return fetch.error
	}
	return &CorruptError{session.Key, e.Seq, "its bytes cannot be read: " + err.Error()}
}

// fillBody puts the pictures in.
func (s *Store) fillMedia(ctx context.Context, body []byte) (out []byte, err error) {
	if !bytes.Contains(body, []byte(mediaMarker)) {
		return body, nil
	}
	err = s.read(ctx, func(t *tx) error {
		out, err = s.fillMediaIn(ctx, t, body)
		return err
	})
	return out, err
}

func (s *Store) fillMediaIn(ctx context.Context, t *tx, body []byte) ([]byte, error) {
	out := make([]byte, 0, len(body))
	rest := body
	for {
		i := bytes.Index(rest, []byte(mediaMarker))
		if i < 0 || i+mediaMarkerSize > len(rest) {
			return append(out, rest...), nil
		}
		sum, ok := s.decodeMediaMarker(string(rest[i : i+mediaMarkerSize]))
		head := base64.StdEncoding.EncodedLen(mediaHeadBytes)
		if !ok || i < head {
			out = append(out, rest[:i+len(mediaMarker)]...)
			rest = rest[i+len(mediaMarker):]
			continue
		}
		text, err := s.readMedium(ctx, t, mediaRef{sum: sum})
		if err != nil {
			return nil, fmt.Errorf("medium %x: %w", sum[:8], err)
		}
		out = append(append(out, rest[:i-head]...), text...)
		rest = rest[i+mediaMarkerSize:]
	}
}

// borrow writes down that an entry which has just been written uses the pictures that it
// holds markers of.
func (s *Store) linkMedia(ctx context.Context, t *tx, session *Session, raw []byte) error {
	for {
		i := bytes.Index(raw, []byte(mediaMarker))
		if i < 0 || i+mediaMarkerSize > len(raw) {
			return nil
		}
		marker := string(raw[i : i+mediaMarkerSize])
		raw = raw[i+len(mediaMarker):]
		sum, ok := s.decodeMediaMarker(marker)
		if !ok {
			continue
		}
		if err := s.eng.lockMedia(ctx, t, false); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO blob_uses (sum, sid, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, sum, session.sid, session.Head); err != nil {
			return err
		}
	}
}

// marked is the sum of the medium that a marker stands for, if it is one of ours.
func (s *Store) decodeMediaMarker(marker string) ([]byte, bool) {
	sum, err := hex.DecodeString(marker[len(mediaMarker) : len(mediaMarker)+2*sha256.Size])
	return sum, err == nil && hmac.Equal([]byte(marker[len(mediaMarker)+2*sha256.Size:]), []byte(s.signMedium(sum)))
}

// mac signs the sum of a medium with the secret of the database.
func (s *Store) signMedium(sum []byte) string {
	m := hmac.New(sha256.New, s.secret)
	m.Write(sum)
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// unseal reads the secret of the database; a new one is given one.
func (s *Store) loadSecret(ctx context.Context) error {
	read := func(t *tx) error { return t.row(ctx, `SELECT secret FROM meta`).Scan(&s.secret) }
	err := s.read(ctx, read)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	key := make([]byte, 32)
	rand.Read(key)
	return s.write(ctx, func(t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO meta (one, secret) VALUES (1, ?) ON CONFLICT DO NOTHING`, key); err != nil {
			return err
		}
		return read(t)
	})
}
