package store

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/tokens"
)

// Internal functions of other packages.
var (
	tokensx = tokens.Internal(inside.Module)
)
