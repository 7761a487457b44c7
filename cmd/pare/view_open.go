package main

import (
	"os/exec"
	"runtime"
)

// openInBrowser opens a file in the browser if there is a desktop. It ignores errors, because the
// name has been printed.
func (env *environment) openInBrowser(name string) {
	with := findOpener(runtime.GOOS, env.getenv)
	if with == nil {
		return
	}
	cmd := exec.Command(with[0], append(with[1:], name)...)
	if cmd.Start() == nil {
		go cmd.Wait() // the command may run as long as the browser
	}
}

// findOpener returns the command that opens a file on the desktop, or nil if there is no local
// desktop.
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
