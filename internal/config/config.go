package config

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
)

// A Config is what a file says. The zero value is the default. Many goroutines may use
// one, as long as nobody changes it.
type Config struct {
	// Where this schema is, for editors; nothing is done with it. Default: none.
	Schema string `json:"$schema,omitempty"`
	// The master switch: false leaves every request as it is. Default: true.
	Enabled *bool `json:"enabled,omitempty"`
	// How tokens are counted: "estimate" (fitted to the model), "exact" (the model's own vocabulary, of OpenAI's models), "o200k" or "cl100k". Default: estimate.
	Tokenizer string `json:"tokenizer,omitempty" enum:"estimate,exact,o200k,cl100k"`
	// How many of the newest messages no rule touches; short for rules.recency.messages. Default: 10.
	KeepRecent *int `json:"keep_recent,omitempty"`
	// How broken histories are repaired.
	Repair Repair `json:"repair,omitzero"`
	// What counts as broken.
	Check Check `json:"check,omitzero"`
	// What a request must fit. Without this table: there is no limit. Without a limit in it: the window of the request's model.
	Window *Window `json:"window,omitempty"`
	// What is left to the provider, where it can do it itself.
	Provider Provider `json:"provider,omitzero"`
	// How what is taken out is summarized. Without this table: it is not.
	Compact *Compaction `json:"compact,omitempty"`
	// Where what is removed is kept. Without this table: nowhere.
	Archive *Archive `json:"archive,omitempty"`
	// How long pare serve remembers conversations. Without this table: it does not, unless --remember says so.
	Remember *Remember `json:"remember,omitempty"`
	// How far a conversation may go that passes through pare serve. Without this table: as far as its provider lets it.
	Stop *Stop `json:"stop,omitempty"`
	// The standard rules by name, with their options.
	Standard Tables `json:"rules,omitempty"`
	// What must stay, whatever the rules say.
	Pin Pin `json:"pin,omitzero"`
	// Tools beyond the common ones, or other names for them.
	Tools []Tool `json:"tool,omitempty"`
	// Rules written as expressions.
	Expressions []Expression `json:"expression,omitempty"`
	// What belongs together, for all rules and for the window.
	Constraints []Constraint `json:"constraint,omitempty"`
}

// A Pin says what must stay, whatever the rules say. Each entry of each list pins
// something of its own.
type Pin = rules.Selection

// A Tool says what a tool does and what its arguments mean.
type Tool = rules.Tool

// A Switch is what every rule has: whether it runs, and when. Many goroutines may read it.
type Switch struct {
	// Whether the rule runs. Default: true, in a rule that has a table.
	Enabled *bool `json:"enabled,omitempty"`
	// Rules that vote before this one does. Default: none.
	After []string `json:"after,omitempty"`
	// Rules that vote after this one did. Default: none.
	Before []string `json:"before,omitempty"`
}

// maxFile bounds what is read: no configuration is larger, and the TOML reader is
// quadratic in the number of keys.
const maxFile = 128 << 10

// Default returns the configuration of no file at all.
func Default() *Config { return &Config{} }

// Load reads a file. What is wrong with its content is an [Errors].
func Load(path string) (*Config, error) {
	f, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, f.Data)
}

// Parse reads a configuration; the name says where it is from and, by its ending,
// whether it is JSON. Without an ending, the first character tells. The error is an
// [Errors] with everything that is wrong.
func Parse(name string, data []byte) (*Config, error) {
	c, _, err := Merge(File{Name: name, Data: data, Trusted: true})
	return c, err
}

func isJSON(name string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return true
	case ".toml":
		return false
	}
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
}

// read reads the bytes into a tree, or reports why not and returns nil.
func (s *source) read() *value {
	if s.json {
		return s.readJSON()
	}
	return s.readTOML()
}

// Pipeline compiles the rules as they run without a window. It fails only on a Config
// that was changed, or made, after it was parsed; the error is an [Errors] then too.
func (c *Config) Pipeline() (*pare.Pipeline, error) {
	s, bare := newSource(new(document)), *c
	bare.Window = nil
	p := bare.build(s)
	if len(s.errors) > 0 {
		return nil, s.errors.sorted()
	}
	return p.Rules, nil
}

// Rules returns the rules that run without a window, in the order in which they vote,
// or nil if Pipeline fails.
func (c *Config) Rules() []pare.Rule {
	p, err := c.Pipeline()
	if err != nil {
		return nil
	}
	return p.Rules()
}
