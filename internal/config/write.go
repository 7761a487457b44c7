package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// JSON writes the configuration as JSON that Parse reads as the same again.
func (c *Config) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(c)
	return b.Bytes(), err
}

// TOML writes the configuration as TOML that Parse reads as the same again, keys in
// the order of the alphabet.
func (c *Config) TOML() ([]byte, error) {
	data, err := c.JSON()
	if err != nil {
		return nil, err
	}
	// The way over JSON lets one set of tags name the keys of both formats.
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	return toml.Marshal(plain(tree))
}

// plain turns the numbers of a decoded tree into Go's.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}
