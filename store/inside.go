package store

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// What other packages of this module keep for it.
var (
	tokensx = tokens.Internal(inside.Module)
	wirex   = wire.Internal(inside.Module)
)
