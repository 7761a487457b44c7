package serve

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
)

// Listen listens on an address, or takes over the socket that systemd has opened already
// (LISTEN_FDS), so that no client ever meets a dead port.
func Listen(address string, getenv func(string) string) (net.Listener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return net.Listen("tcp", address)
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 1 {
		return nil, fmt.Errorf("LISTEN_FDS is %q: expected a number from 1 on", getenv("LISTEN_FDS"))
	}
	const first = 3 // behind standard error, as systemd has it
	f := os.NewFile(first, "LISTEN_FD_3")
	defer f.Close() // the listener has a copy
	return net.FileListener(f)
}

// Local reports whether only this machine can reach an address.
func Local(a net.Addr) bool {
	if a.Network() == "unix" {
		return true
	}
	ap, err := netip.ParseAddrPort(a.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
