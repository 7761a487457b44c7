//go:build unix && !linux && !darwin

package atomicfile

import "errors"

var thisSystem = system{exchange: cannotExchange, lease: noLease, isLeaseBroken: neverBroken, writers: writersByLsof}

func cannotExchange(string, string) error { return errors.ErrUnsupported }
