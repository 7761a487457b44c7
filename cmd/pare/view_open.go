package main

import (
	"os/exec"
	"runtime"
)

// show opens a file in the browser of the desktop, if there is one. Its name has been
// printed: if this fails, nothing is lost.
func (env *environment) openInBrowser(name string) {
	with := findOpener(runtime.GOOS, env.getenv)
	if with == nil {
		return
	}
	cmd := exec.Command(with[0], append(with[1:], name)...)
	if cmd.Start() == nil {
		go cmd.Wait() // it may stay as long as the browser
	}
}

// opener is the command that opens a file as a double click would; nil: there is no desktop,
// or it is not on this machine.
func findOpener(system string, getenv func(string) string) []string {
	switch {
	case getenv("SSH_CONNECTION") != "":
		return nil
	case system == "darwin":
		return []string{"open"}
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open"}
	}
	return nil
}
