//go:build !unix && !windows

package atomicfile

import "errors"

var thisSystem = system{exchange: cannotExchange, lease: noLease, isLeaseBroken: neverBroken, writers: unknownWriters}

func cannotExchange(string, string) error { return errors.ErrUnsupported }

func unknownWriters(string) (programs []string, isKnown bool) { return nil, false }
