package main

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/proxy"
)

// Internal functions of the other packages of the module.
var (
	proxyx = proxy.Internal(inside.Module)
)
