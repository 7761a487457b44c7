package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/pare-llm/pare/proxy"
)

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSignedAgain wants the signature that the proxy makes to be the one of AWS's own
// signer, also where the path has escapes; and a body that was repaired to be signed as
// the signer would sign that.
func TestSignedAgain(t *testing.T) {
	key := aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET", SessionToken: "TOKEN"}
	at := time.Now()
	sign := func(r *http.Request, body string) {
		sum := sha256.Sum256([]byte(body))
		if err := v4.NewSigner().SignHTTP(t.Context(), key, r, hex.EncodeToString(sum[:]), "bedrock", "us-east-1", at); err != nil {
			t.Fatal(err)
		}
	}
	const open = `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},{"role":"user","content":[{"text":"and?"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]}}`
	for _, address := range []string{
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse-stream?b=2&a=1%20x",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/converse",
	} {
		for _, body := range []string{`{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, open} {
			tr := &proxy.Transport{
				Secret: func(_ *http.Request, id string) (string, bool) { return "SECRET", id == "AKID" }, PlanTime: -1,
				Base: trip(func(r *http.Request) (*http.Response, error) {
					sent, err := io.ReadAll(r.Body)
					if err != nil {
						t.Fatal(err)
					}
					r.Body.Close()
					if (string(sent) == body) == (body == open) {
						t.Errorf("sent %s", sent)
					}
					again, err := http.NewRequest("POST", address, strings.NewReader(string(sent)))
					if err != nil {
						t.Fatal(err)
					}
					again.Header.Set("Content-Type", "application/json")
					sign(again, string(sent))
					if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want {
						t.Errorf("%s:\n got %s\nwant %s", address, got, want)
					}
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
				}),
			}
			req, err := http.NewRequest("POST", address, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			sign(req, body)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	}
}
