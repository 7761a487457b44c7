package serve

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/proxy"
)

// What other packages of this module keep for it.
var (
	proxyx = proxy.Internal(inside.Module)
)
