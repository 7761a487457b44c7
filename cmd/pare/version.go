package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

// versionFlag prints the version and ends the run. Kong's own does not look whether it could
// be written.
type versionFlag bool

func (versionFlag) BeforeReset(app *kong.Kong, vars kong.Vars) error {
	if _, err := screen.Fprintln(app.Stdout, vars["version"]); err != nil {
		return err
	}
	app.Exit(statusClean)
	return nil
}

// next is the version that is being worked on; a release is stamped with its own.
const developmentVersion = "0.1.0-dev"

// What make build and make release stamp with -ldflags.
var stampedVersion, stampedCommit string

// version says which program this is: its version, its commit, and what it was made with.
func version() string {
	info, _ := debug.ReadBuildInfo() // nil without modules
	return formatVersion(info, stampedVersion, stampedCommit)
}

// versionOf prefers what was stamped, then what the Go tool knows: go install stamps the
// version of the module, go build in a clone the commit.
func formatVersion(info *debug.BuildInfo, version, commit string) string {
	commit, modified, changed := strings.Cut(commit, "-")
	if changed {
		modified = ", " + modified
	}
	if info != nil {
		if v := info.Main.Version; version == "" && v != "(devel)" {
			version = v
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && commit == "":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true" && modified == "":
				modified = ", modified"
			}
		}
	}
	if version == "" {
		version = developmentVersion
	}
	if commit == "" {
		commit = "unknown"
	}
	return fmt.Sprintf("%s (commit %.12s%s, %s %s/%s)", strings.TrimPrefix(version, "v"), commit, modified,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
