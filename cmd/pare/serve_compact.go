package main

import (
	"context"
	"errors"

	"github.com/pare-llm/pare/cmd/internal/background"
	"github.com/pare-llm/pare/cmd/internal/serve"
)

// startCompaction starts to compact large sessions in the background, if that is requested. The
// returned function stops it.
func (c *serveCmd) startCompaction(o serve.Options) (func(), error) {
	switch {
	case c.Compact == nil && c.Resting == nil:
		return func() {}, nil
	case o.Store == nil:
		return nil, errors.New("--compact-above and --compact-resting need a store")
	}
	by := o.Settings.Compactor(o.Store.Memory())
	r, err := background.Start(context.Background(), o.Store, c.Store, background.Options{Above: int64(valueOrZero(c.Compact)), Resting: int64(valueOrZero(c.Resting)), Compactor: by, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return r.Stop, nil
}
