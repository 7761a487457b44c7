//go:build !unix

package main

import (
	"os/exec"
	"syscall"
)

// grouped runs a command without a group, which this system lacks; a signal ends the command
// only.
func grouped(cmd *exec.Cmd) func(syscall.Signal) error {
	return func(syscall.Signal) error { return cmd.Process.Kill() }
}
