package serve

import (
	"fmt"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/proxy"
)

// Load makes settings of a configuration. A window that it does not have is the one of the
// model, with the low mark of [proxy.Default]. What is removed is in the archive, if it
// has one that can be written, before a request goes on. Getenv tells the key of an endpoint.
func Load(conf *config.Config, getenv func(string) string) (*Settings, error) {
	serving := conf.Clone()
	if serving.Window == nil {
		serving.Window = &config.Window{Low: config.Mark{Percent: proxy.Default().Window.LowPercent}}
	}
	p, err := serving.Policy(getenv)
	if err != nil {
		return nil, err
	}
	// Nobody waits for a model.
	p.SummarizeLater = conf.Compact != nil && (conf.Compact.By == "endpoint" || conf.Compact.By == "" && conf.Compact.Endpoint != "")
	if conf.Archive != nil {
		if p.Archive, err = archive.Open(conf.Archive.File); err != nil {
			return nil, fmt.Errorf("archive.file: %w", err)
		}
	}
	return &Settings{Config: conf, Policy: p, getenv: getenv}, nil
}
