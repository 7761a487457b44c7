package summary_test

import (
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/inside"
)

// What other packages of this module keep for it.
var (
	parex = pare.Internal(inside.Module)
)
