// Package archive keeps what is taken out of histories, and gives it back by its
// content address: the same bytes have the same id, in every process and on every
// machine. A [File] is a file of JSON lines; whatever has Put and Get can take its place.
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// An Archive keeps items and gives them back. Its methods may be called by many
// goroutines.
type Archive interface {
	// Put keeps items; one that is kept already stays as it is. They are safe when it
	// returns.
	Put(context.Context, ...Item) error
	// Get returns the item of an id; the error wraps ErrNotFound if there is none.
	Get(ctx context.Context, id string) (Item, error)
}

// ErrNotFound is wrapped by the error for an id under which nothing is kept.
var ErrNotFound = errors.New("nothing is archived under that id")

// An Item is something that was taken out of a history, byte for byte. Its ID is made
// from its bytes. Many goroutines may read it.
type Item struct {
	ID   string `json:"id"`
	Path string `json:"path"` // where it stood in the original; "" if a repair had made it
	Raw  []byte `json:"-"`    // JSON: a message, or a block of one
}

// New returns the item of some bytes.
func New(path string, raw []byte) Item { return Item{ID(raw), path, raw} }

// Genuine reports whether the ID is that of the bytes.
func (i Item) Genuine() bool { return i.ID == ID(i.Raw) }

// prefix is how every id begins; behind it are 128 bits of the SHA-256 of the bytes.
const prefix = "pare-"

// bits is the length of an id, and of those that were made before there were so many.
const bits, oldBits = 128, 64

// ID is the content address of some bytes.
func ID(raw []byte) string {
	sum := sha256.Sum256(raw)
	return prefix + hex.EncodeToString(sum[:bits/8])
}

// Name is the id of several items together: it is made from theirs.
func Name(items []Item) string {
	var ids []byte
	for _, i := range items {
		ids = append(append(ids, i.ID...), '\n')
	}
	return ID(ids)
}

// names reports whether an id is that of the bytes, also one of the short ones that older
// archives have.
func names(id string, raw []byte) bool {
	now := ID(raw)
	return id == now || len(id) == len(prefix)+oldBits/4 && strings.HasPrefix(now, id)
}
