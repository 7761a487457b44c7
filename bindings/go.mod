module github.com/pare-llm/pare/bindings

go 1.26.0

require github.com/pare-llm/pare v0.9.0

require (
	github.com/expr-lang/expr v1.17.8 // indirect
	github.com/pelletier/go-toml/v2 v2.4.3 // indirect
)
