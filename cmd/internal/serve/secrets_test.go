package serve

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = AKIA1\naws_secret_access_key = one\n\n# work\n[work]\naws_secret_access_key=two\naws_access_key_id=AKIA2\n[half]\naws_access_key_id=AKIA3\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"AWS_ACCESS_KEY_ID": "AKIA0", "AWS_SECRET_ACCESS_KEY": "zero", "AWS_SHARED_CREDENTIALS_FILE": file}
	secret := Secrets(func(name string) string { return env[name] })
	for key, want := range map[string]string{"AKIA0": "zero", "AKIA1": "one", "AKIA2": "two", "AKIA3": "", "AKIA4": "", "": ""} {
		if got, ok := secret(key); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v", key, got, ok)
		}
	}
}
