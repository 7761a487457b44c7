package store_test

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/wire"
)

// Internal functions of other packages.
var (
	wirex = wire.Internal(inside.Module)
)
