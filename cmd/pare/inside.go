package main

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// Internal functions of the other packages of the module.
var (
	proxyx = proxy.Internal(inside.Module)
	wirex  = wire.Internal(inside.Module)
)
