package picture

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/wire"
)

// Internal functions of the other packages of the module.
var (
	wirex = wire.Internal(inside.Module)
)
