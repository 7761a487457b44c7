package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionNamesBuild(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for _, c := range []struct {
		name            string
		info            *debug.BuildInfo
		version, commit string
		want            string
	}{
		{"go install", built("v1.2.3"), "", "", "1.2.3 (commit unknown, "},
		{"go build in a clone", built("(devel)", revision), "", "", developmentVersion + " (commit 0123456789ab, "},
		{"go build with changes", built("(devel)", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "", "", developmentVersion + " (commit 0123456789ab, modified, "},
		{"make release", built("(devel)", revision), "v1.2.3", "fedcba9876543210", "1.2.3 (commit fedcba987654, "},
		{"make build", built("(devel)"), "", "fedcba9876543210", developmentVersion + " (commit fedcba987654, "},
		{"make release with changes", built("(devel)"), "v1.2.3", "fedcba987654-modified", "1.2.3 (commit fedcba987654, modified, "},
		{"nothing known", nil, "", "", developmentVersion + " (commit unknown, "},
	} {
		if got := formatVersion(c.info, c.version, c.commit); !strings.HasPrefix(got, c.want) || strings.Contains(got, "devel)") {
			t.Errorf("%s: %q, want %q…", c.name, got, c.want)
		}
	}
}
