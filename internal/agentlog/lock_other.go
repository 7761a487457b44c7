//go:build !unix

package agentlog

// locked is not known here.
func locked(string) bool { return false }
