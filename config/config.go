// Package config makes a [pare.Policy] of a pare.toml (or the same as JSON). The keys
// are in docs/config.md.
package config

import (
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/config"
)

// Errors is everything that is wrong with a file.
type Errors = config.Errors

// An Error is one thing that is wrong with a file, and where.
type Error = config.Error

// Load reads the file at path. The key of a summarizer's endpoint comes from getenv,
// usually [os.Getenv]; nil knows none. If the file says something that cannot be done,
// the error is an [Errors].
func Load(path string, getenv func(string) string) (*pare.Policy, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return c.Policy(getenv)
}

// Parse is [Load] for the bytes of a file; name is what errors call it.
func Parse(name string, data []byte, getenv func(string) string) (*pare.Policy, error) {
	c, err := config.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return c.Policy(getenv)
}
