package histories

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/transcript"
)

// transcriptx gives access to the parts of transcript that only this module uses.
var transcriptx = transcript.Internal(inside.Module)
