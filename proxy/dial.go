package proxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// newUpstreamTransport returns the transport to the upstreams. It changes nothing in a request:
// it asks for no coding and follows no redirects.
func newUpstreamTransport(upstreams map[string]*Upstream, observe func(address string)) *http.Transport {
	// Names that must be on the internet. A name that was pointed at this machine
	// would make the proxy talk to whatever listens here.
	guarded := make(map[string]bool)
	proxies := make(map[origin]*url.URL) // by which each is reached: asking the environment costs
	for _, u := range upstreams {
		if via, err := http.ProxyFromEnvironment(&http.Request{URL: u.URL}); err == nil {
			proxies[origin{u.URL.Scheme, u.URL.Host}] = via
		}
		if !u.private() {
			guarded[strings.ToLower(u.URL.Hostname())] = true
		}
	}
	plain := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	outside := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: onlyPublic}
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if via, ok := proxies[origin{r.URL.Scheme, r.URL.Host}]; ok {
				return via, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if observe != nil {
				observe(address)
			}
			dialer := plain
			if host, _, err := net.SplitHostPort(address); err == nil && guarded[strings.ToLower(host)] {
				dialer = outside
			}
			return dialer.DialContext(ctx, network, address)
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

// An origin is a URL without its path.
type origin struct{ scheme, host string }

// onlyPublic rejects connections to addresses that are not on the internet. It protects against
// names that were pointed at this machine.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err == nil && !public(ap.Addr()) {
		return fmt.Errorf("the name of the upstream stands for %s, which is not on the internet; configure the upstream if that is meant", ap.Addr())
	}
	return err
}
