package serve

import (
	"fmt"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/proxy"
)

// Load compiles a configuration into settings. Without a window in the configuration, the model's
// window applies, with the low mark of [proxy.Default]. If there is an archive, removed content
// is archived before a request is sent. getenv returns the key of an endpoint.
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
