package pare

import (
	"crypto/sha256"
	"encoding/hex"
)

// itemID is the name of some bytes: the same bytes have the same name everywhere.
func itemID(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "pare-" + hex.EncodeToString(sum[:8])
}
