package proxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// dialing makes the transport to the upstreams. Nothing of a request is changed by it: no
// coding is asked for and no redirect followed.
func dialing(upstreams map[string]*Upstream) *http.Transport {
	// Names that must be on the internet. A name that somebody has pointed at this machine
	// would make the proxy talk to whatever listens here.
	guarded := make(map[string]bool)
	for _, u := range upstreams {
		if !u.private() {
			guarded[strings.ToLower(u.URL.Hostname())] = true
		}
	}
	plain := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	outside := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: onlyPublic}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err == nil && guarded[strings.ToLower(host)] {
				return outside.DialContext(ctx, network, address)
			}
			return plain.DialContext(ctx, network, address)
		},
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxIdleConns:          1000,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        16 << 10,
	}
}

// onlyPublic refuses to connect to anything that is not on the internet.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err == nil && !public(ap.Addr()) {
		return fmt.Errorf("the name of the upstream stands for %s, which is not on the internet; configure the upstream if that is meant", ap.Addr())
	}
	return err
}
