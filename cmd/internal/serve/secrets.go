package serve

import (
	"os"
	"path/filepath"
	"strings"
)

// Secrets returns a function that finds AWS secrets in the environment and in the credentials
// file of the AWS tools. The file is read each time, so that replaced keys apply immediately.
func Secrets(getenv func(string) string) func(accessKey string) (string, bool) {
	return func(accessKey string) (string, bool) {
		if accessKey == getenv("AWS_ACCESS_KEY_ID") {
			secret := getenv("AWS_SECRET_ACCESS_KEY")
			return secret, secret != ""
		}
		path := getenv("AWS_SHARED_CREDENTIALS_FILE")
		if path == "" {
			path = filepath.Join(getenv("HOME"), ".aws", "credentials")
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", false
		}
		return findSecret(string(raw), accessKey)
	}
}

// findSecret finds the secret of a key in a credentials file.
func findSecret(file, accessKey string) (string, bool) {
	var key, secret string
	found := func() bool { return key == accessKey && secret != "" }
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			if found() {
				return secret, true
			}
			key, secret = "", ""
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		switch strings.TrimSpace(name) {
		case "aws_access_key_id":
			key = strings.TrimSpace(value)
		case "aws_secret_access_key":
			secret = strings.TrimSpace(value)
		}
	}
	return secret, found()
}
