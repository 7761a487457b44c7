package ladder

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/wire"
)

// What other packages of this module keep for it.
var (
	wirex = wire.Internal(inside.Module)
)
