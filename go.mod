module github.com/pare-llm/pare

go 1.25.0

require (
	github.com/andybalholm/brotli v1.2.7
	github.com/expr-lang/expr v1.17.8
	github.com/google/jsonschema-go v0.4.3
	github.com/klauspost/compress v1.20.3
	github.com/pelletier/go-toml/v2 v2.4.3
)
