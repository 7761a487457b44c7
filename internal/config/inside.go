package config

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
)

// What other packages of this module keep for it.
var (
	rulesx  = rules.Internal(inside.Module)
	tokensx = tokens.Internal(inside.Module)
)
