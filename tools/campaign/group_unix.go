//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// grouped lets a command run in a group of its own, and returns how all of that get a signal.
func grouped(cmd *exec.Cmd) func(syscall.Signal) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func(sig syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, sig) }
}
