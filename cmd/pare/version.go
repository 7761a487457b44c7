package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

// A versionFlag prints the version and exits. Unlike kong's own flag, it reports write errors.
type versionFlag bool

func (versionFlag) BeforeReset(app *kong.Kong, vars kong.Vars) error {
	if _, err := screen.Fprintln(app.Stdout, vars["version"]); err != nil {
		return err
	}
	app.Exit(statusClean)
	return nil
}

// developmentVersion is the version of builds that are not releases.
const developmentVersion = "0.1.0-dev"

var stampedVersion, stampedCommit string

// version returns the version, the commit and the platform of this program.
func version() string {
	info, _ := debug.ReadBuildInfo() // nil if the program was built without modules
	return formatVersion(info, stampedVersion, stampedCommit)
}

// formatVersion returns the version text. Stamped values take precedence over the build info: go
// install records the module version, go build the commit.
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
