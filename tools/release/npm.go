package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// In npm's words.
var (
	npmOS  = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

const npmName = "@pare-llm/pare"

// npmVersion is the version of the package for a system: a pre-release of the same package, so
// that there is one name to publish.
func (r *release) npmVersion(s system) string {
	return r.version + "-" + npmOS[s.os] + "-" + npmCPU[s.arch]
}

// npm packs the module, and the program for each system.
func (r *release) npm(systems []system) error {
	files, err := r.module()
	if err != nil {
		return err
	}
	if err := r.pack("", files); err != nil {
		return err
	}
	for _, s := range systems {
		about := map[string]any{
			"name": npmName, "version": r.npmVersion(s), "description": "The program of " + npmName + " for " + s.os + " on " + s.arch,
			"license": "Apache-2.0", "os": []string{npmOS[s.os]}, "cpu": []string{npmCPU[s.arch]},
		}
		files := []entry{{"package.json", 0o644, indented(about)}, r.licence(), {s.program(), 0o755, s.built}}
		if err := r.pack("-"+npmOS[s.os]+"-"+npmCPU[s.arch], files); err != nil {
			return err
		}
	}
	return nil
}

// module is everything in the package that is imported.
func (r *release) module() ([]entry, error) {
	from := filepath.Join(r.root, "bindings/js")
	var about map[string]any
	raw, err := os.ReadFile(filepath.Join(from, "package.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &about); err != nil {
		return nil, err
	}
	about["version"] = r.version
	optional := map[string]string{}
	for _, target := range strings.Split(everywhere, ",") {
		s, _ := parseSystem(target)
		optional[npmName+"-"+npmOS[s.os]+"-"+npmCPU[s.arch]] = "npm:" + npmName + "@" + r.npmVersion(s)
	}
	about["optionalDependencies"] = optional
	files := []entry{{"package.json", 0o644, indented(about)}, r.licence()}
	names := []string{"index.js", "index.d.ts", "engine.js", "bin/pare.js"}
	for _, folder := range []string{"adapters", "claude-code"} {
		err := filepath.WalkDir(filepath.Join(from, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(from, path)
				names = append(names, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		files = append(files, entry{name, 0o755, data})
	}
	wasm, err := r.wasm("./bindings/wasm", "pare.wasm")
	return append(files, wasm...), err
}

// wasm builds a package for JavaScript. The loader is part of Go.
func (r *release) wasm(pkg, name string) ([]entry, error) {
	built, err := r.goBuild(pkg, name, "-s -w", []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"})
	if err != nil {
		return nil, err
	}
	runs, err := os.ReadFile(filepath.Join(runtime.GOROOT(), "lib/wasm/wasm_exec.js"))
	if err != nil {
		return nil, fmt.Errorf("what runs WebAssembly: %w", err)
	}
	return []entry{{name, 0o644, built}, {"wasm_exec.js", 0o644, runs}}, nil
}

// pack writes a package as npm pack does.
func (r *release) pack(suffix string, files []entry) error {
	packed, err := r.tar("package", files)
	if err != nil {
		return err
	}
	return r.write("pare-llm-pare-"+r.version+suffix+".tgz", packed)
}

func (r *release) licence() entry {
	for _, d := range r.docs {
		if path.Base(d.name) == "LICENSE" {
			return d
		}
	}
	panic("release: the licence is not among the documents")
}

// indented is JSON for people.
func indented(v any) []byte {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // our own values
	}
	return append(text, '\n')
}
