package rules

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/wire"
)

// parex and wirex are functions that those packages share within this module.
var (
	wirex = wire.Internal(inside.Module)
)
