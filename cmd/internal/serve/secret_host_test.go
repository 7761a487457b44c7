package serve

import (
	"net/http/httptest"
	"testing"
)

// TestSecretsAreUsedForLocalNamesOnly: a page of somebody else, or a name that was pointed
// here (DNS rebinding), has no secret used, whatever it knows of the signature.
func TestSecretsAreUsedForLocalNamesOnly(t *testing.T) {
	s := New(Options{Hosts: []string{"proxy.lan"}, Secret: func(string) (string, bool) { return "secret", true }})
	for _, tt := range []struct {
		host, header, value string
		used                bool
	}{
		{"127.0.0.1:8811", "", "", true}, {"localhost:8811", "", "", true}, {"[::1]:8811", "", "", true}, {"proxy.lan", "", "", true},
		{"", "", "", false}, {"evil.example", "", "", false}, {"evil.example:8811", "", "", false}, {"127.0.0.1.nip.io:8811", "", "", false},
		{"10.0.0.1:8811", "", "", false}, {"bedrock-runtime.us-east-1.amazonaws.com", "", "", false},
		{"127.0.0.1:8811", "Origin", "https://evil.example", false}, {"127.0.0.1:8811", "Origin", "null", false},
		{"127.0.0.1:8811", "Sec-Fetch-Site", "cross-site", false}, {"127.0.0.1:8811", "Sec-Fetch-Site", "same-site", false},
	} {
		r := httptest.NewRequest("POST", "/model/m/converse", nil)
		r.Host = tt.host
		if tt.header != "" {
			r.Header.Set(tt.header, tt.value)
		}
		if _, used := s.secret(r, "AKIA1"); used != tt.used {
			t.Errorf("Host %q, %s %q: used is %v", tt.host, tt.header, tt.value, used)
		}
	}
}
