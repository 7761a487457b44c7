package main

import (
	"context"
	"errors"

	"github.com/pare-llm/pare/cmd/internal/background"
	"github.com/pare-llm/pare/cmd/internal/serve"
)

// startCompaction starts to compact large sessions in the background, if that is requested. The
// returned function stops it.
func (c *serveCmd) startCompaction(options serve.Options) (func(), error) {
	switch {
	case c.Compact == nil && c.Resting == nil:
		return func() {}, nil
	case options.Store == nil:
		return nil, errors.New("--compact-above and --compact-resting need a store")
	}
	by := options.Settings.Compactor(options.Store.Memory())
	r, err := background.Start(context.Background(), options.Store, c.Store, background.Options{Above: int64(valueOrZero(c.Compact)), Resting: int64(valueOrZero(c.Resting)), Compactor: by, Log: options.Log})
	if err != nil {
		return nil, err
	}
	return r.Stop, nil
}
