// Package truth holds the tests that what comes out is true to what went in: on random
// histories that mix everything a dialect knows, whole and broken, under every command,
// no leaf is lost unnoticed, every receipt leads back to the input, and an oracle that
// knows nothing of package wire finds no broken pair. On any JSON at all, through everything
// that changes a history, each word is kept, or a receipt names it, or nothing is changed.
package truth
