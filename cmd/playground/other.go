//go:build !(js && wasm)

// Command playground is the engine and the page of pare view for a browser. Built for anything else
// it does nothing, so that all packages can be built, vetted and tested together.
package main

func main() {}
