// Package caddy makes Pare a handler of the Caddy web server: requests to models that pass
// through it are repaired and made to fit.
//
//	:8080 {
//		route {
//			pare {
//				upstream deepseek https://api.deepseek.com
//			}
//		}
//	}
package caddy

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/pare-llm/pare/proxy"
)

func init() {
	caddy.RegisterModule(&Handler{})
	httpcaddyfile.RegisterHandlerDirective("pare", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		handler := new(Handler)
		return handler, handler.UnmarshalCaddyfile(h.Dispenser)
	})
	httpcaddyfile.RegisterDirectiveOrder("pare", httpcaddyfile.Before, "reverse_proxy")
}

// A Handler is Pare in Caddy. It is set up by Caddy, and then many goroutines may use it.
type Handler struct {
	// Upstreams by name, beside the vendors' own: URLs.
	Upstreams map[string]string `json:"upstreams,omitempty"`

	proxy *proxy.Handler
}

// CaddyModule is as Caddy wants it.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.pare", New: func() caddy.Module { return new(Handler) }}
}

// Provision checks the configuration.
func (h *Handler) Provision(ctx caddy.Context) error {
	upstreams := make(map[string]proxy.Upstream)
	for name, address := range h.Upstreams {
		u, err := proxy.ParseUpstream(name + "=" + address)
		if err != nil {
			return err
		}
		upstreams[name] = u
	}
	h.proxy = proxy.New(proxy.Config{Upstreams: upstreams, Log: ctx.Slogger()})
	return nil
}

// ServeHTTP sends a request on, repaired.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	h.proxy.ServeHTTP(w, r)
	return nil
}

// UnmarshalCaddyfile reads lines of the form "upstream NAME URL".
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the name of the directive
	for d.NextBlock(0) {
		var name, address string
		if d.Val() != "upstream" || !d.Args(&name, &address) {
			return d.Err("expected: upstream NAME URL")
		}
		if h.Upstreams == nil {
			h.Upstreams = make(map[string]string)
		}
		h.Upstreams[name] = address
	}
	return nil
}
