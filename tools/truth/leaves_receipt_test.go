package truth

import (
	"strings"

	"github.com/pare-llm/pare/wire"
)

// receiptText is all that a receipt contains.
func receiptText(c *wire.Change) string {
	return strings.Join(append([]string{c.Reason, c.Removed}, c.IDs...), "\n")
}
