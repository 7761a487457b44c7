// Package clients is tests only: real clients through the proxy to the stand-in.
package clients
