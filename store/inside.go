package store

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// Internal functions of other packages.
var (
	tokensx = tokens.Internal(inside.Module)
	wirex   = wire.Internal(inside.Module)
)
