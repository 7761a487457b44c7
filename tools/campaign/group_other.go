//go:build !unix

package main

import (
	"os/exec"
	"syscall"
)

// grouped lets a command run as it does: here there are no groups, and a signal ends it.
func grouped(cmd *exec.Cmd) func(syscall.Signal) error {
	return func(syscall.Signal) error { return cmd.Process.Kill() }
}
