//go:build !unix

package store_test

// fill needs limits that exist only on Unix.
func fill(string) { panic("not here") }
