package main

import (
	"bytes"
	"debug/buildinfo"
	"runtime"
	"strings"
)

// writeSBOM lists the modules that Go recorded in the programs, in CycloneDX format.
func (r *release) writeSBOM(program []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	type component struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version"`
		PURL    string `json:"purl,omitempty"`
	}
	parts := []component{{"platform", "go", runtime.Version(), ""}}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "github.com/pare-llm/pare") {
			continue // the program itself
		}
		parts = append(parts, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	return indented(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.at.Format("2006-01-02T15:04:05Z"),
			"component": component{"application", "pare", r.version, "pkg:golang/github.com/pare-llm/pare@v" + r.version},
		},
		"components": parts,
	}), nil
}
