// Package archive keeps what is taken out of histories, and gives it back by its
// content address: the same bytes have the same id, in every process and on every
// machine. A [File] is a file of JSON lines; whatever has Put and Get can take its place.
package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
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

// Name is the id of several items together: that of the last item of their [Index].
func Name(items []Item) string {
	all := Index(items)
	return all[len(all)-1].ID
}

// An index is an item that stands for others, by their ids. That of a summary of summaries
// has their texts, too.
type index struct {
	IDs       []string `json:"pare_index"`
	Summaries []string `json:"summaries,omitempty"`
}

// fanOut is how many ids one index has.
const fanOut = 64

// Index is the items that stand for others, the last one for all of them: its id is the handle that a
// summary has for what it stands for. If there are many others, it is a tree, so that little of it is new when there are more. Items that are indexes themselves are left out.
func Index(items []Item) (all []Item) {
	ids := []string{}
	for _, i := range items {
		if !i.Stands() {
			ids = append(ids, i.ID)
		}
	}
	for len(ids) > fanOut {
		var above []string
		for chunk := range slices.Chunk(ids, fanOut) {
			node := index{IDs: chunk}.item()
			all, above = append(all, node), append(above, node.ID)
		}
		ids = above
	}
	return append(all, index{IDs: ids}.item())
}

// IndexSummaries is the item that stands for what several summaries stand for, by their
// handles, and has the texts of those summaries.
func IndexSummaries(handles, texts []string) Item {
	return index{handles, texts}.item()
}

func (x index) item() Item {
	raw, err := json.Marshal(x)
	if err != nil {
		panic(err) // our own type
	}
	return New("", raw)
}

// index reads an item that stands for others.
func (i Item) index() (x index, ok bool) {
	if i.Path != "" || !bytes.HasPrefix(i.Raw, []byte(`{"pare_index":`)) || json.Unmarshal(i.Raw, &x) != nil {
		return index{}, false
	}
	return x, true
}

// Stands reports whether an item stands for others: see [Index].
func (i Item) Stands() bool { _, ok := i.index(); return ok }

// Recall returns everything that a handle stands for: the item of that id or, if it is an
// index, all items below it, those of summaries of summaries included. What is not there
// any more is named by the error, which wraps ErrNotFound; the others come back with it.
func Recall(ctx context.Context, a interface {
	Get(ctx context.Context, id string) (Item, error)
}, handle string) (all []Item, err error) {
	seen := map[string]bool{handle: true}
	for next := []string{handle}; len(next) > 0; next = next[1:] {
		item, failed := a.Get(ctx, next[0])
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		x, ok := item.index()
		if !ok || len(x.Summaries) > 0 {
			all = append(all, item)
		}
		for _, id := range x.IDs {
			if !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
	}
	return all, err
}

// names reports whether an id is that of the bytes, also one of the short ones that older
// archives have.
func names(id string, raw []byte) bool {
	now := ID(raw)
	return id == now || len(id) == len(prefix)+oldBits/4 && strings.HasPrefix(now, id)
}
