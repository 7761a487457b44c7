// Package truth tests that output is true to its input. On random histories with every block
// that a dialect knows, valid and broken, under every command: no leaf is lost unnoticed,
// every receipt leads back to the input, and an oracle that is independent of package wire
// finds no broken pair. On any JSON, through everything that changes a history: each word is
// kept, or a receipt names it, or nothing is changed.
package truth
