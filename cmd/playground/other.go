//go:build !(js && wasm)

package main

// The playground runs in a browser. Built for anything else it does nothing, so that all packages
// can be built, vetted and tested together.
func main() {}
