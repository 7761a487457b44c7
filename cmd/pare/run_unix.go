//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// runChild runs an agent and returns its exit status.
func runChild(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				if (s == syscall.SIGINT || s == syscall.SIGQUIT) && isInForeground() {
					continue // the terminal has sent the signal to the whole process group
				}
				syscall.Kill(cmd.Process.Pid, s.(syscall.Signal))
			}
		}
	}()
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case status.Stopped():
			// The agent has stopped itself, so this process must stop, too, to return the terminal
			// to the shell. When the shell resumes this process, the agent must continue.
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			syscall.Kill(cmd.Process.Pid, syscall.SIGCONT)
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		case status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// isInForeground reports whether this process group owns the terminal, so that Ctrl-C reaches the
// agent, too.
func isInForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
