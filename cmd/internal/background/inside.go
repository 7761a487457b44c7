package background

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/store"
)

// What other packages of this module keep for it.
var (
	storex = store.Internal(inside.Module)
)
