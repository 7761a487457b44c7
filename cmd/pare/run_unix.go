//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// runChild runs an agent in this process group, so that it has the terminal, and passes signals
// on. It returns its status, as shells have it: 128 and a signal, if one ended it.
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
					continue // the terminal has sent it to the whole group
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
			// An agent that stops itself gives the terminal back: so must this process. Whoever
			// lets this one go on means both.
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			syscall.Kill(cmd.Process.Pid, syscall.SIGCONT)
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		case status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// foreground reports whether this process group has the terminal, so that Ctrl-C reaches all of it.
func isInForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
