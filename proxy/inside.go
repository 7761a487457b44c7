package proxy

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/tokens"
)

// What other packages of this module keep for it.
var (
	tokensx = tokens.Internal(inside.Module)
)
