package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSign has the example of AWS's own manual.
func TestSign(t *testing.T) {
	req, err := http.NewRequest("GET", "https://iam.amazonaws.com/?Version=2010-05-08&Action=ListUsers", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set("X-Amz-Date", "20150830T123600Z")
	const head = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature="
	req.Header.Set("Authorization", head+"0")
	s, ok := signatureOf(req.Header)
	if !ok {
		t.Fatal("no signature")
	}
	(&signer{s, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}).sign(req, nil)
	if got := req.Header.Get("Authorization"); got != head+"5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7" {
		t.Error(got)
	}
}

func knowsSecret(_ *http.Request, key string) (string, bool) { return "secret", key == "AKIA1" }

// signedAt is when the requests of these tests are signed.
func signedAt() time.Time { return time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC) }

// TestSignedRequests are changed only if they can be signed again.
func TestSignedRequests(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},{"role":"user","content":[{"text":"and?"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]}}`
	for _, known := range []bool{false, true} {
		var sent, auth, hash string
		tr := &Transport{PlanTime: -1, now: signedAt, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			raw, _ := io.ReadAll(r.Body)
			r.Body.Close()
			sent, auth, hash = string(raw), r.Header.Get("Authorization"), r.Header.Get(contentHash)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
		})}
		if known {
			tr.Secret = knowsSecret
		}
		req, err := http.NewRequest("POST", "https://bedrock.test/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		const was = "AWS4-HMAC-SHA256 Credential=AKIA1/20261116/us-east-1/bedrock/aws4_request, SignedHeaders=content-length;host;x-amz-date, Signature="
		req.Header.Set("Authorization", was)
		req.Header.Set("X-Amz-Date", "20261116T000000Z")
		req.Header.Set(contentHash, hashOf([]byte(body)))
		s, _ := signatureOf(req.Header)
		(&signer{s, "secret"}).sign(req, []byte(body))
		auth0, hash0 := req.Header.Get("Authorization"), req.Header.Get(contentHash)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		skipped := resp.Header.Get("Pare-Skipped")
		if !known && (sent != body || auth != auth0 || hash != hash0 || skipped != "signed") {
			t.Errorf("not known: %s %s %s", skipped, auth, sent)
		}
		if known && (sent == body || auth == auth0 || hash == hash0 || skipped != "" || !strings.HasPrefix(auth, was)) {
			t.Errorf("known: %s %s %s", skipped, auth, sent)
		}
	}
}

// TestSignedAndNotLookedAt: what goes to AWS and is no history, as an embedding does, was signed
// for another host, too.
func TestSignedAndNotLookedAt(t *testing.T) {
	const was = "AWS4-HMAC-SHA256 Credential=AKIA1/20261116/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature="
	told := strings.Repeat("ab", 32)
	for _, tt := range []struct {
		name, method, path, body, hash string
		signed                         string // which body the signature is for; "-": it is the old one
	}{
		{"an embedding", "POST", "/model/amazon.titan-embed-text-v2%3A0/invoke", `{"inputText":"x"}`, "", `{"inputText":"x"}`},
		{"nothing", "GET", "/async-invoke", "", "", ""},
		{"a hash that is told", "POST", "/guardrail/g/version/1/apply", "{}", told, told},
		{"no hash", "POST", "/guardrail/g/version/1/apply", "{}", unsigned, unsigned},
		{"too large", "POST", "/guardrail/g/version/1/apply", strings.Repeat(" ", 1000), "", "-"},
		{"too large a history, with a hash", "POST", "/model/x/converse", strings.Repeat(" ", 1000), told, told},
		{"too large a history", "POST", "/model/x/converse", strings.Repeat(" ", 1000), "", "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var old string
			tr := &Transport{PlanTime: -1, MaxBody: 100, now: signedAt, Secret: knowsSecret}
			tr.Base = roundTripFunc(func(r *http.Request) (*http.Response, error) {
				var raw []byte
				if r.Body != nil {
					raw, _ = io.ReadAll(r.Body)
				}
				if string(raw) != tt.body || r.ContentLength != int64(len(tt.body)) {
					t.Errorf("%d bytes were sent, said to be %d", len(raw), r.ContentLength)
				}
				want := r.Clone(r.Context())
				want.Header.Set("Authorization", old)
				s, _ := signatureOf(want.Header)
				switch by := (&signer{s, "secret"}); tt.signed {
				case "-":
				case told, unsigned:
					by.signHash(want, tt.signed, int64(len(tt.body)))
				default:
					by.sign(want, []byte(tt.signed))
				}
				if got, want := r.Header.Get("Authorization"), want.Header.Get("Authorization"); got != want {
					t.Errorf("signed as %s, want %s", got, want)
				}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
			})
			req, err := http.NewRequest(tt.method, "https://bedrock.test"+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			// It was signed for the address of the proxy.
			came := req.Clone(t.Context())
			came.Host = "127.0.0.1:8811"
			came.Header.Set("Authorization", was)
			came.Header.Set("X-Amz-Date", "20261116T000000Z")
			s, _ := signatureOf(came.Header)
			if tt.hash != "" {
				came.Header.Set(contentHash, tt.hash)
				(&signer{s, "secret"}).signHash(came, tt.hash, int64(len(tt.body)))
			} else {
				(&signer{s, "secret"}).sign(came, []byte(tt.body))
			}
			old = came.Header.Get("Authorization")
			req.Header = came.Header.Clone()
			tr.clientRequest = came
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if req.Header.Get("Authorization") != old {
				t.Error("the caller's request was changed")
			}
		})
	}
}
