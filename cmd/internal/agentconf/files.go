package agentconf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A setting is a base URL and the place that names it.
type setting struct {
	url    string
	source string // a variable, an argument or a file; "": nothing names a host
	file   *file  // nil: it is no file
}

// A file is a settings file of an agent.
type file struct {
	path    string
	content []byte
	project bool // it is in the working folder or its repository
}

// maxFile bounds the settings files that are read.
const maxFile = 16 << 20

// A reader reads the settings of one agent. The first error stops it.
type reader struct {
	Surroundings
	command Command
	given   []string // upstreams of the command line
	err     error
}

// variable returns the setting that a variable makes.
func (r *reader) variable(name string) setting {
	if v := r.Getenv(name); v != "" {
		return setting{url: v, source: name}
	}
	return setting{}
}

// user reads a file of the user or the system; nil if there is none.
func (r *reader) user(path ...string) *file { return r.open(filepath.Join(path...), false) }

// project reads a file of the project; nil if there is none.
func (r *reader) project(path ...string) *file { return r.open(filepath.Join(path...), true) }

func (r *reader) open(path string, project bool) *file {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() || r.err != nil {
		return nil
	}
	if err == nil && st.Size() > maxFile {
		err = fmt.Errorf("read %s: the file is larger than %d bytes", path, maxFile)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path)
	}
	if err != nil {
		r.err = err
		return nil
	}
	return &file{path, content, project}
}

// json parses a file with comments into v. An empty file has no members.
func (r *reader) json(f *file, v any) {
	if f == nil || r.err != nil {
		return
	}
	plain := plainJSON(f.content)
	if len(bytes.TrimSpace(plain)) == 0 {
		return
	}
	if err := json.Unmarshal(plain, v); err != nil {
		r.err = fmt.Errorf("read %s: %w", f.path, err)
	}
}

// toml parses a file into v.
func (r *reader) toml(f *file, v any) {
	if f == nil || r.err != nil {
		return
	}
	if err := toml.Unmarshal(f.content, v); err != nil {
		r.err = fmt.Errorf("read %s: %w", f.path, err)
	}
}

// plainJSON returns JSON without comments and trailing commas.
func plainJSON(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			end := endOfString(raw, i)
			out = append(out, raw[i:end]...)
			i = end - 1
		case bytes.HasPrefix(raw[i:], []byte("//")):
			i += len(line(raw[i:])) - 1
		case bytes.HasPrefix(raw[i:], []byte("/*")):
			n := bytes.Index(raw[i+2:], []byte("*/"))
			if n < 0 {
				return out
			}
			i += n + 3
		case c == '}' || c == ']':
			out = append(bytes.TrimSuffix(bytes.TrimRight(out, " \t\r\n"), []byte(",")), c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// endOfString returns the index after the string that starts at i.
func endOfString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// line returns the bytes before the next line break.
func line(raw []byte) []byte {
	if n := bytes.IndexByte(raw, '\n'); n >= 0 {
		return raw[:n]
	}
	return raw
}

// assignments parses lines such as NAME=value, export NAME="value" or NAME: value: a .env file,
// or the top level of YAML with plain values.
func assignments(f *file, separator string) map[string]string {
	all := map[string]string{}
	if f == nil {
		return all
	}
	for text := range strings.Lines(string(f.content)) {
		text = strings.TrimPrefix(strings.TrimRight(text, "\r\n"), "export ")
		name, value, ok := strings.Cut(text, separator)
		nested := separator == ":" && strings.TrimLeft(name, " \t") != name
		if !ok || nested || strings.HasPrefix(text, "#") {
			continue
		}
		if separator == "=" {
			name = strings.TrimPrefix(strings.TrimSpace(name), "export ")
		}
		all[strings.TrimSpace(name)] = unquoted(strings.TrimSpace(value))
	}
	return all
}

// unquoted returns the value of an assignment without quotes and without a comment after it.
func unquoted(value string) string {
	for _, quote := range []string{`"`, `'`, "`"} {
		if rest, ok := strings.CutPrefix(value, quote); ok {
			inner, _, _ := strings.Cut(rest, quote)
			return inner
		}
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}

// in returns the setting of a file, if the URL is not empty.
func (f *file) in(url string) setting {
	if url == "" {
		return setting{}
	}
	return setting{url, f.path, f}
}

// or returns b, or other if b names nothing.
func (b setting) or(other setting) setting {
	if b.source == "" {
		return other
	}
	return b
}

// configHome returns the folder for settings of the XDG specification.
func (r *reader) configHome() string {
	if dir := r.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(r.Home, ".config")
}

// systemFolder returns the folder for settings of the administrator on this system.
func systemFolder(linux, darwin, windows string) string {
	switch runtime.GOOS {
	case "darwin":
		return darwin
	case "windows":
		return windows
	}
	return linux
}

// folderOr returns the folder that a variable names, or one below the home folder.
func (r *reader) folderOr(variable string, below ...string) string {
	dir := r.Getenv(variable)
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		return filepath.Join(r.Home, rest)
	}
	if dir != "" {
		return dir
	}
	return filepath.Join(append([]string{r.Home}, below...)...)
}

// foldersUp returns the working folder and the folders above it, up to and including the last
// folder for which stop is true. Without such a folder it returns all of them.
func (r *reader) foldersUp(stop func(dir string) bool) (all []string) {
	for dir := filepath.Clean(r.Folder); ; dir = filepath.Dir(dir) {
		all = append(all, dir)
		if stop(dir) || filepath.Dir(dir) == dir {
			return all
		}
	}
}

// isRepository reports whether a folder is the top of a Git repository or worktree.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

func never(string) bool { return false }
