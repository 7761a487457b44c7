// Package inside holds the key to what the packages of this module keep for each other.
package inside

// A Key opens it. Only this module can import the package, and so only it has one.
type Key struct{ _ byte }

// Module is the key.
var Module *Key
