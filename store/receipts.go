package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Receipts returns the receipts of the store.
func (s *Store) Receipts() *Receipts { return &Receipts{s} }

// Receipts stores the receipts of a proxy, JSON texts by request id, until retention deletes them.
type Receipts struct{ s *Store }

// Load returns a receipt.
func (r *Receipts) Load(id string) (text string, ok bool) {
	err := r.s.read(context.Background(), func(t *tx) error {
		return t.row(context.Background(), `SELECT text FROM receipts WHERE id = ?`, id).Scan(&text)
	})
	return text, err == nil
}

// Store stores a receipt. The first receipt of an id stays.
func (r *Receipts) Store(id, text string) error {
	ctx := context.Background()
	if !json.Valid([]byte(text)) {
		return fmt.Errorf("receipt %s: %w: it is no JSON", id, ErrUsage)
	}
	return r.s.write(ctx, func(t *tx) error {
		_, err := t.exec(ctx, `INSERT INTO receipts (id, text, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, id, text, r.s.now())
		return err
	})
}

// Forget deletes the receipts from before a time.
func (r *Receipts) Forget(ctx context.Context, before time.Time) (n int, err error) {
	err = r.s.write(ctx, func(t *tx) error {
		n, err = r.s.forgetReceipts(ctx, t, before.UnixMicro())
		return err
	})
	return n, err
}

func (s *Store) forgetReceipts(ctx context.Context, t *tx, before int64) (int, error) {
	n, err := t.exec(ctx, `DELETE FROM receipts WHERE at < ?`, before)
	return int(n), err
}

// fsckReceipts verifies that receipts are JSON. Repair deletes others.
func (s *Store) fsckReceipts(ctx context.Context, repair bool) (found []Problem, err error) {
	look := func(t *tx) error {
		found = nil
		var bad []string
		err := t.each(ctx, func(scan func(...any) error) error {
			var id, text string
			if err := scan(&id, &text); err != nil {
				return err
			}
			if !json.Valid([]byte(text)) {
				bad = append(bad, id)
			}
			return nil
		}, `SELECT id, text FROM receipts ORDER BY id`)
		for _, id := range bad {
			found = append(found, Problem{What: fmt.Sprintf("receipt %s is no JSON", id), Repaired: repair})
			if err == nil && repair {
				_, err = t.exec(ctx, `DELETE FROM receipts WHERE id = ?`, id)
			}
		}
		return err
	}
	if repair {
		err = s.write(ctx, look)
	} else {
		err = s.read(ctx, look)
	}
	return found, err
}
