package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestMissingConfigEqualsAnEmptyOne compares the options of pare serve without a configuration and
// with an empty one, for all flags.
func TestMissingConfigEqualsAnEmptyOne(t *testing.T) {
	tokens := t.TempDir() + "/tokens"
	if err := os.WriteFile(tokens, []byte("a-token-that-is-long-enough\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string][]string{
		"Listen": {"--listen=127.0.0.1:0"}, "Upstream": {"--upstream=mine=http://127.0.0.1:1"}, "Store": {"--store=x.db"}, "NoStore": {"--no-store"},
		"Compact": {"--compact-above=9"}, "Resting": {"--compact-resting=9"}, "Prune": {"--prune"}, "Cold": {"--cold"}, "Remember": {"--remember"}, "MaxBody": {"--max-body=1MB"}, "TokenFile": {"--token-file=" + tokens},
		"Host": {"--host=here"}, "Grace": {"--grace=1s"},
		"Config": nil,
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[serveCmd]()) {
		if f.IsExported() && !f.Anonymous && flags[f.Name] == nil && f.Name != "Config" {
			t.Errorf("--%s is not tried", f.Name)
		}
	}
	all := []string{"--no-store"}
	for name, args := range flags {
		if name != "Store" && name != "NoStore" && name != "Remember" { // needs a store
			all = append(all, args...)
		}
	}
	flags["all of them"], flags["none"] = all, []string{}
	for name, args := range flags {
		t.Chdir(t.TempDir())
		none := effective(t, args)
		if err := os.WriteFile(configName, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if empty := effective(t, args); none != empty {
			t.Errorf("%s: without a file\n%s\nwith an empty one\n%s", name, none, empty)
		}
		if !strings.Contains(none, "superseded-writes") {
			t.Errorf("no rules vote: %s", none)
		}
	}
}

func effective(t *testing.T, args []string) string {
	t.Helper()
	g, errs := new(commandLine), new(bytes.Buffer)
	env := &environment{stdout: io.Discard, stderr: errs, getenv: func(string) string { return "" }, log: slog.New(slog.DiscardHandler)}
	if _, err := buildParser(g, env, nil).Parse(slices.Concat([]string{"serve"}, args)); err != nil {
		t.Fatal(err)
	}
	options, _, status := g.Serve.serverOptions(env, "serve")
	if status != statusClean {
		t.Fatal(errs)
	}
	policy := options.Settings.Policy
	if policy.Window.Priority != nil || policy.Window.Cache != nil || policy.Compact != nil || policy.Repair.Stub != nil {
		t.Fatal("there is more in a policy than this test compares")
	}
	var rules []string
	for _, r := range policy.Rules.Rules() {
		rules = append(rules, r.Name)
	}
	if cold := slices.Contains(args, "--cold"); cold != (policy.Window.ColdRules != nil) || cold != slices.Contains(rules, "oversized") {
		t.Errorf("%v: rules for cold moments %v, all rules %v", args, policy.Window.ColdRules != nil, rules)
	}
	policy.Window.ColdRules = nil
	above := valueOrZero(g.Serve.Compact)
	g.Serve.Compact, g.Serve.Resting = nil, nil
	return fmt.Sprintf("%+v, compact above %d\n%+v %+v %+v\noff %v, rules %v, archive %v\nprune %v, body %d, hosts %v, tokens %v, upstreams %v",
		g.Serve, above, *policy.Window, policy.Check, policy.ProviderEdits, policy.Off, rules, policy.Archive, options.Prune, options.MaxBody, options.Hosts, options.Tokens, options.Upstreams)
}
