package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
)

// clientPrograms are the programs of agents whose session files do not name a version.
var versionedPrograms = map[string]string{"gemini-cli": "gemini", "opencode": "opencode", "pi": "pi", "continue": "cn"}

// releaseName matches the names of folders and programs that are a version.
var versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// installedVersion returns the version of an agent's program, without running it: that of the package in
// which the program is; "" if the program is not found, or getenv is nil.
func installedVersion(getenv func(string) string, agent string) string {
	program := versionedPrograms[agent]
	if program == "" || getenv == nil {
		return ""
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		file, err := filepath.EvalSymlinks(filepath.Join(dir, program))
		if err != nil {
			continue
		}
		if v := versionPattern.FindString(filepath.Base(file)); v != "" {
			return v
		}
		const levels = 5 // from the program to the folder of its package
		for range levels {
			file = filepath.Dir(file)
			if v := packageVersion(filepath.Join(file, "package.json")); v != "" {
				return v
			}
		}
		return ""
	}
	return ""
}

func packageVersion(file string) string {
	data, err := os.ReadFile(file)
	var p struct{ Version string }
	if err != nil || json.Unmarshal(data, &p) != nil {
		return ""
	}
	return versionPattern.FindString(p.Version)
}
