package engine

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/wire"
)

// wirex has the functions of package wire that only this module may call.
var (
	wirex = wire.Internal(inside.Module)
)
