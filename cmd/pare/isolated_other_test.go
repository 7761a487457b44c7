//go:build unix && !linux

package main

import "testing"

func isolated(*testing.T) (inside func(func()), isClosed bool) {
	return func(f func()) { f() }, false
}

func unreachable() string { return "" }
