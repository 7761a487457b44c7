package histories

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/transcript"
)

// What other packages of this module keep for it.
var transcriptx = transcript.Internal(inside.Module)
