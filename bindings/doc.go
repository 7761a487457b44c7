// Package bindings tests the ways into Pare from other languages: the C library, Python on it, and
// WebAssembly in Node. They all call package engine.
package bindings
