package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// wheelTags are the platforms of wheels that hold the static program.
var wheelTags = map[string]string{
	"linux/amd64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64", "linux/arm64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64",
	"windows/amd64": "win_amd64", "windows/arm64": "win_arm64",
}

// wheels packs the Python package for each system: the program, and the library where it can
// be built. A package without the library runs the program.
func (r *release) wheels(systems []system) error {
	for _, s := range systems {
		files, err := r.python()
		if err != nil {
			return err
		}
		tag := wheelTags[s.os+"/"+s.arch]
		lib, err := r.library(s)
		if err != nil {
			return err
		}
		if lib != nil {
			files = append(files, entry{"pare_llm/" + libraryNames[s.os], 0o755, lib})
			if s.os == "linux" {
				tag = manylinux(lib, s.arch)
			}
		} else {
			fmt.Printf("the wheel for %s/%s has no library: building it needs a C compiler for that system, named by CC_%s_%s\n", s.os, s.arch, s.os, s.arch)
		}
		files = append(files, entry{"pare_llm/" + s.program(), 0o755, s.built})
		name, packed, err := r.wheel(tag, files)
		if err != nil {
			return err
		}
		if err := r.write(name, packed); err != nil {
			return err
		}
	}
	return nil
}

// python is the package's own files.
func (r *release) python() (files []entry, err error) {
	from := filepath.Join(r.root, "bindings/python")
	names, err := filepath.Glob(filepath.Join(from, "pare_llm/*.py"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if filepath.Base(name) == "__init__.py" {
			data = regexp.MustCompile(`__version__ = ".*"`).ReplaceAll(data, []byte(`__version__ = "`+r.pythonVersion()+`"`))
		}
		files = append(files, entry{"pare_llm/" + filepath.Base(name), 0o644, data})
	}
	return files, nil
}

// pythonVersion is a version as Python has it: 1.2.3-dev is 1.2.3.dev0.
func (r *release) pythonVersion() string {
	number, rest, ok := strings.Cut(r.version, "-")
	if !ok {
		return number
	}
	if label := regexp.MustCompile(`^(a|b|rc)\.?(\d+)$`).FindStringSubmatch(rest); label != nil {
		return number + label[1] + label[2]
	}
	return number + ".dev0"
}

var libraryNames = map[string]string{"linux": "libpare.so", "darwin": "libpare.dylib", "windows": "pare.dll"}

// crossCompilers are the compilers of C for other systems, by the names that distributions give them.
var crossCompilers = map[string]string{
	"linux/amd64": "x86_64-linux-gnu-gcc", "linux/arm64": "aarch64-linux-gnu-gcc",
	"windows/amd64": "x86_64-w64-mingw32-gcc", "windows/arm64": "aarch64-w64-mingw32-gcc",
}

// compiler returns the C compiler for a system, or "" if there is none. The variable
// CC_OS_ARCH overrides it.
func compiler(s system) string {
	if cc := os.Getenv("CC_" + s.os + "_" + s.arch); cc != "" {
		return cc
	}
	names := []string{crossCompilers[s.os+"/"+s.arch]}
	if s.os == runtime.GOOS && s.arch == runtime.GOARCH {
		names = []string{cmp.Or(os.Getenv("CC"), "gcc"), "cc"}
	}
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// library builds the C library. It returns nil if there is no C compiler for the system.
func (r *release) library(s system) ([]byte, error) {
	cc := compiler(s)
	if cc == "" {
		return nil, nil
	}
	env := []string{"CGO_ENABLED=1", "GOOS=" + s.os, "GOARCH=" + s.arch, "CC=" + cc}
	flags := "-s -w"
	if s.os == "linux" {
		flags += " -extldflags=-Wl,--build-id=none" // it depends on names of temporary files
	}
	return r.goBuild("./bindings/c", libraryNames[s.os], flags, env, "-buildmode=c-shared")
}

// manylinux is the tag of a library: it needs the glibc of which it uses the newest symbol.
func manylinux(lib []byte, arch string) string {
	minor := 17
	if f, err := elf.NewFile(bytes.NewReader(lib)); err == nil {
		if symbols, err := f.ImportedSymbols(); err == nil {
			for _, s := range symbols {
				if n, ok := strings.CutPrefix(s.Version, "GLIBC_2."); ok {
					n, _, _ = strings.Cut(n, ".")
					if v, err := strconv.Atoi(n); err == nil {
						minor = max(minor, v)
					}
				}
			}
		}
	}
	return fmt.Sprintf("manylinux_2_%d_%s", minor, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch])
}

// wheel packs files as PEP 427 has it.
func (r *release) wheel(tag string, files []entry) (name string, packed []byte, err error) {
	version := r.pythonVersion()
	info := "pare_llm-" + version + ".dist-info/"
	var tags strings.Builder
	for _, platform := range strings.Split(tag, ".") {
		tags.WriteString("Tag: py3-none-" + platform + "\n")
	}
	files = append(files,
		entry{info + "METADATA", 0o644, []byte("Metadata-Version: 2.1\nName: pare-llm\nVersion: " + version + "\nSummary: Repairs and fits the histories that agents send to language models\nLicense: Apache-2.0\nRequires-Python: >=3.8\nProject-URL: Source, https://github.com/pare-llm/pare\n")},
		entry{info + "WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: pare-release\nRoot-Is-Purelib: false\n" + tags.String())},
		entry{info + "entry_points.txt", 0o644, []byte("[console_scripts]\npare-llm = pare_llm.__main__:main\n")},
		entry{info + "licenses/LICENSE", 0o644, r.licence().data},
	)
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, entry{info + "RECORD", 0o644, []byte(record.String())})
	packed, err = r.zip("", files)
	return "pare_llm-" + version + "-py3-none-" + tag + ".whl", packed, err
}
