package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
)

// versionedPrograms maps agents whose session files contain no version to their programs.
var versionedPrograms = map[string]string{"gemini-cli": "gemini", "opencode": "opencode", "pi": "pi", "continue": "cn"}

// versionPattern matches folder and program names that are a version.
var versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// installedVersion returns the version of an agent without running it: that of the package that
// contains its program. It returns "" if the program is not found or getenv is nil.
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
		const levels = 5 // from the program up to the folder of its package
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
