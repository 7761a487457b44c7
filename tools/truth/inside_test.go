package truth

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/wire"
)

// These give access to the parts of packages that only this module uses.
var (
	wirex = wire.Internal(inside.Module)
)
