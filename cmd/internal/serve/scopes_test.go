package serve_test

import (
	"bufio"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/serve"
)

const (
	aliceToken = "alice:0123456789abcdef"
	bobToken   = "bob:0123456789abcdef"
	adminToken = "*:0123456789abcdef"
	plainToken = "0123456789abcdef"
)

// words is a request that is repaired, with words in it that nobody else may see.
func words(of string) string { return strings.Replace(broken, `"hi"`, `"the words of `+of+`"`, 1) }

// TestScopesDoNotSeeEachOther: what one has sent is found by nobody else, in no list,
// page, receipt or stream, neither in memory nor in the store; an administrator sees it.
func TestScopesDoNotSeeEachOther(t *testing.T) {
	st, err := serve.OpenStore(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	for _, kept := range []bool{false, true} {
		o := to(t, ok)
		o.Tokens = []string{aliceToken, bobToken, adminToken, plainToken}
		if kept {
			o.Store = st
		}
		at, _, end := start(t, o)
		receipts := make(map[string]string)
		for _, token := range []string{aliceToken, bobToken, plainToken} {
			resp, body := send(t, "POST", at+"/v1/messages", words(token), "Pare-Token", token)
			if receipts[token] = resp.Header.Get("Pare-Receipt"); receipts[token] == "" {
				t.Fatal(resp.Status, body)
			}
			resp, _ = send(t, "POST", at+"/pare/v1/fix", words(token), "Pare-Token", token)
			receipts[token+" called"] = resp.Header.Get("Pare-Receipt")
		}
		if kept { // those of another process: nothing is in memory
			if err := end(); err != nil {
				t.Fatal(err)
			}
			at, _, _ = start(t, o)
		}
		tried := 0
		for reader := range map[string]bool{aliceToken: true, bobToken: true, plainToken: true, adminToken: true} {
			for owner, id := range receipts {
				owner, _, _ := strings.Cut(owner, " ")
				may := reader == owner || reader == adminToken
				paths := []string{"/pare/v1/receipts/" + id}
				if !kept {
					paths = append(paths, "/pare/v1/requests", "/pare/traffic.json", "/pare/", "/pare/request/"+id)
				}
				for _, path := range paths {
					resp, body := send(t, "GET", at+path, "", "Pare-Token", reader)
					sees := strings.Contains(body, id) && resp.StatusCode == http.StatusOK || strings.Contains(body, "the words of "+owner)
					listed := !strings.Contains(path, id) && strings.Contains(path, "/pare/") // calls are not listed
					if sees && !may || !sees && may && !listed && !strings.HasPrefix(path, "/pare/request/") {
						t.Errorf("%s reads what is %s's at %s: %v", reader, owner, path, sees)
					}
					tried++
				}
			}
		}
		t.Logf("%d reads", tried)
	}
}

// TestEventsBelongToAScope: a stream tells what its reader has sent, and nothing else.
func TestEventsBelongToAScope(t *testing.T) {
	o := to(t, ok)
	o.Tokens = []string{aliceToken, bobToken}
	at, _, _ := start(t, o)
	for _, path := range []string{"/pare/v1/events", "/pare/traffic/events"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Pare-Token", bobToken)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(resp.Body)
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, token := range []string{aliceToken, bobToken} {
			resp, _ := send(t, "POST", at+"/v1/messages", words(token), "Pare-Token", token)
			ids = append(ids, resp.Header.Get("Pare-Receipt"))
		}
		said := ""
		for !strings.Contains(said, ids[1]) {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			said += line
		}
		resp.Body.Close()
		if strings.Contains(said, ids[0]) || strings.Contains(said, "alice") {
			t.Errorf("%s: bob hears of alice: %s", path, said)
		}
	}
}

// TestOtherUsersOfTheMachineSeeNoRequests: without tokens, what has passed is shown to whoever knows
// the token of this run, which is in the address of the live page.
func TestOtherUsersOfTheMachineSeeNoRequests(t *testing.T) {
	at, s, _ := start(t, to(t, ok))
	resp, _ := send(t, "POST", at+"/v1/messages", words("somebody"))
	id := resp.Header.Get("Pare-Receipt")
	paths := []string{"/pare/", "/pare/v1/requests", "/pare/v1/events", "/pare/v1/receipts/" + id, "/pare/request/" + id, "/pare/traffic.json", "/pare/traffic/events"}
	_, token, ok := strings.Cut(s.Page(), "=")
	if !ok || len(token) < 20 {
		t.Fatalf("the page is %s", s.Page())
	}
	for _, path := range paths {
		for _, header := range [][]string{{"Pare-Token", ""}, {"Pare-Token", "x"}, {"Pare-Token", "", "Authorization", "Bearer "}, {"Pare-Token", "", "Cookie", "pare-token=x"}, {"Pare-Token", token[:len(token)-1]}} {
			if resp, body := send(t, "GET", at+path, "", header...); resp.StatusCode != http.StatusUnauthorized || strings.Contains(body, id) {
				t.Errorf("%s %v: %s %s", path, header, resp.Status, body)
			}
		}
	}
	for _, header := range [][]string{{"Pare-Token", token}, {"Pare-Token", "", "Authorization", "Bearer " + token}, {"Pare-Token", "", "Cookie", "pare-token=" + token}} {
		if resp, body := send(t, "GET", at+"/pare/v1/requests", "", header...); resp.StatusCode != 200 || !strings.Contains(body, id) {
			t.Errorf("%v: %s %s", header, resp.Status, body)
		}
	}
	if resp, _ := send(t, "GET", at+s.Page(), "", "Pare-Token", ""); resp.StatusCode != http.StatusSeeOther || !strings.Contains(resp.Header.Get("Set-Cookie"), "HttpOnly; SameSite=Strict") {
		t.Error(resp.Status, resp.Header)
	}
	for _, path := range []string{"/pare/healthz", "/pare/metrics"} { // no words in them
		if resp, body := send(t, "GET", at+path, "", "Pare-Token", ""); resp.StatusCode != 200 || strings.Contains(body, id) || strings.Contains(body, "somebody") {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	if resp, _ := send(t, "POST", at+"/pare/v1/fix", broken, "Pare-Token", ""); resp.StatusCode != 200 {
		t.Error(fmt.Sprint("a call needs a token: ", resp.Status))
	}
}
