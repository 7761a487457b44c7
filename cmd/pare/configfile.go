package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/trust"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/config"
)

// configName is the name of a configuration file that Pare finds without --config.
const configName = "pare.toml"

// loadConfig reads the configuration at path or, if path is "", the one of the user and the one
// in this folder, which has precedence. It prints the settings of the folder that it ignored.
// used names the files; "" is none. If there is an error, used names the file with the error.
func (env *environment) loadConfig(path string) (conf *config.Config, used string, err error) {
	if path != "" {
		file, err := env.readConfig(path)
		if err != nil {
			return nil, path, err
		}
		file.Trusted = true
		conf, _, err = config.Merge(file)
		return conf, path, err
	}
	files, used, err := env.findConfigs()
	if err != nil {
		return nil, used, err
	}
	conf, ignored, err := config.Merge(files...)
	if len(ignored) > 0 {
		screen.Fprintf(env.logOutput, "pare: %s\n", ignoredSentence(ignored))
	}
	return conf, used, err
}

// findConfigs returns the files that apply without --config, the lowest precedence first.
func (env *environment) findConfigs() (files []config.File, used string, err error) {
	var names []string
	userFile, folderFile := env.userConfig(), configName
	if sameFile(userFile, folderFile) {
		folderFile = "" // the working folder is that of the user configuration
	}
	for _, name := range []string{userFile, folderFile} {
		switch exists, err := configExists(name); {
		case err != nil:
			return nil, name, err
		case !exists:
			continue
		}
		file, err := env.readConfig(name)
		if err != nil {
			return nil, name, err
		}
		file.Trusted = name == userFile || env.isTrusted(file.Name, file.Data)
		files, names = append(files, file), append(names, name)
	}
	return files, strings.Join(names, " and "), nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// configExists reports whether there is a configuration file. A link to nothing is an error,
// because the user expects a configuration.
func configExists(name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	st, err := os.Stat(name)
	switch {
	case err == nil && !st.Mode().IsRegular():
		// Reading a pipe would block.
		return false, hintedError{errors.New("it is not a regular file"), "--config FILE names another configuration"}
	case err == nil:
		return true, nil
	case !errors.Is(err, fs.ErrNotExist):
		return true, nil // reading it gives the error
	}
	if to, err := os.Readlink(name); err == nil {
		return false, hintedError{fmt.Errorf("it links to %s, which is not there", to), "remove the link, or --config FILE names another configuration"}
	}
	return false, nil
}

// readConfig reads a file that no output of this run may replace.
func (env *environment) readConfig(name string) (config.File, error) {
	if err := env.files.Claim("the configuration", name, atomicfile.Read); err != nil {
		return config.File{}, err
	}
	return config.ReadFile(name)
}

// configFolder returns the folder of the user configuration.
func (env *environment) configFolder() (string, error) {
	if env.configDir == nil {
		return "", errors.New("there is no folder for the configuration of the user")
	}
	dir, err := env.configDir()
	return filepath.Join(dir, "pare"), err
}

// userConfig returns the path of the user configuration; "" if there is no folder for it.
func (env *environment) userConfig() string {
	folder, err := env.configFolder()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, configName)
}

// isTrusted reports whether the user has accepted this content of a file. A trust list that
// cannot be read contains no file; pare trust reports why.
func (env *environment) isTrusted(path string, content []byte) bool {
	folder, err := env.configFolder()
	if err != nil {
		return false
	}
	trusted, err := trust.Open(folder).IsTrusted(path, content)
	return trusted && err == nil
}

// maxIgnoredKeys is how many keys a sentence lists.
const maxIgnoredKeys = 6

// ignoredSentence names a file that is not trusted, the ignored keys and the next step.
func ignoredSentence(ignored []config.Setting) string {
	var keys []string
	for _, s := range ignored {
		keys = append(keys, s.Key)
	}
	if more := len(keys) - maxIgnoredKeys; more > 1 {
		keys = append(slices.Clip(keys[:maxIgnoredKeys]), fmt.Sprintf("%d more", more))
	}
	file := ignored[0].File
	return fmt.Sprintf("%s is not trusted; ignored: %s; to accept: %s", file, strings.Join(keys, ", "), screen.NewCommand("pare", "trust").Files(file))
}
