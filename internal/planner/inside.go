package planner

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// What other packages of this module keep for it.
var (
	transcriptx = transcript.Internal(inside.Module)
	wirex       = wire.Internal(inside.Module)
)
