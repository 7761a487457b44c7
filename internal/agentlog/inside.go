package agentlog

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/wire"
)

// The parts of pare and wire that only this module may use.
var (
	wirex = wire.Internal(inside.Module)
)
