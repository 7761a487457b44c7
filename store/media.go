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

// A mediumError reports a damaged or missing medium.
type mediumError string

func (e mediumError) Error() string { return string(e) }

func isMediumError(err error) bool {
	var bad mediumError
	return errors.As(err, &bad)
}

// readMedium returns a medium as it is in the message, after comparing its checksum.
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

const (
	// A window is planned without reading images: the beginning of the image, which has its size,
	// and a marker replace it. The marker is signed with the secret of the database, so that the
	// text of a message cannot fetch media of other sessions. fillMedia replaces the markers that
	// are left.
	mediaMarker     = "pareBlob"
	mediaHeadBytes  = 6 << 10 // of an image, before base64
	mediaMarkerSize = len(mediaMarker) + 2*sha256.Size + 32
)

// openWithoutMedia decodes an entry with markers instead of images.
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
			return s.readMedium(ctx, t, h)
		}
		return append([]byte(text), mediaMarker+hex.EncodeToString(h.sum)+s.signMedium(h.sum)...), nil
	})
	if err != nil {
		return s.readError(ctx, session, e, err)
	}
	e.Raw, e.stored = raw, nil
	return nil
}

// A fetchError reports that the database did not return a medium.
type fetchError struct{ error }

func (e *fetchError) Unwrap() error { return e.error }

// readError returns the error for an entry whose bytes cannot be read. It is a *CorruptError,
// unless the database was down or the context canceled.
func (s *Store) readError(ctx context.Context, session *Session, e *storedEntry, err error) error {
	var fetch *fetchError
	if errors.As(err, &fetch) && (ctx.Err() != nil || s.engine.isDown(fetch.error)) {
		return fetch.error
	}
	return &CorruptError{session.Key, e.Seq, "its bytes cannot be read: " + err.Error()}
}

// fillMedia replaces media markers by their media.
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

// linkMedia records that the last entry uses the media of its markers.
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
		if err := s.engine.lockMedia(ctx, t, false); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO blob_uses (sum, sid, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, sum, session.sid, session.Head); err != nil {
			return err
		}
	}
}

// decodeMediaMarker returns the checksum in a marker, and whether its signature is valid.
func (s *Store) decodeMediaMarker(marker string) ([]byte, bool) {
	sum, err := hex.DecodeString(marker[len(mediaMarker) : len(mediaMarker)+2*sha256.Size])
	return sum, err == nil && hmac.Equal([]byte(marker[len(mediaMarker)+2*sha256.Size:]), []byte(s.signMedium(sum)))
}

// signMedium signs a checksum with the secret of the database.
func (s *Store) signMedium(sum []byte) string {
	m := hmac.New(sha256.New, s.secret)
	m.Write(sum)
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// loadSecret reads the secret of the database. A new database gets one.
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
