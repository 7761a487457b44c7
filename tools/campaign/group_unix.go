//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// grouped lets a command run in its own process group, and returns a function that signals the
// group.
func grouped(cmd *exec.Cmd) func(syscall.Signal) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func(sig syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, sig) }
}
