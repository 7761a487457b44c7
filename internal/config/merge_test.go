package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// layers merges a user file and a folder file, both trusted.
func layers(user, folder string) (*Config, error) {
	c, _, err := Merge(File{Name: "user.toml", Data: []byte(user), Trusted: true}, File{Name: "pare.toml", Data: []byte(folder), Trusted: true})
	return c, err
}

func TestLaterFileHasPrecedence(t *testing.T) {
	for _, test := range []struct{ name, user, folder, want string }{
		{"a key", "tokenizer = \"o200k\"\nenabled = false\n", "enabled = true\n", "tokenizer = \"o200k\"\nenabled = true\n"},
		{"a key of a table", "[check]\nstrict = true\n", "[check]\nadvice = true\n", "[check]\nstrict = true\nadvice = true\n"},
		{"a list", "[pin]\ntools = [\"a\", \"b\"]\n", "[pin]\ntools = [\"c\"]\n", "[pin]\ntools = [\"c\"]\n"},
		{"options of rules", "[rules.deduplication]\nmin_bytes = 9\n", "[rules.deduplication]\nmode = \"drop\"\n[rules.oversized]\n", "[rules.deduplication]\nmin_bytes = 9\nmode = \"drop\"\n[rules.oversized]\n"},
		{
			"tables with names", "[[tool]]\nname = \"x\"\nkind = \"read\"\n[[tool]]\nname = \"y\"\nkind = \"read\"\n", "[[tool]]\nname = \"X\"\nkind = \"run\"\n",
			"[[tool]]\nname = \"y\"\nkind = \"read\"\n[[tool]]\nname = \"X\"\nkind = \"run\"\n",
		},
		{"limits of a window", "[window]\ncold = true\nrecent = 3\n", "[window]\nmessages = 9\n", "[window]\nmessages = 9\nrecent = 3\n"},
		{"an order", "[window]\nlow = \"60%\"\n", "[window]\norder = \"middle\"\n", "[window]\norder = \"middle\"\n"},
		{"what is recent", "keep_recent = 4\n", "[rules.recency]\nturns = 2\n", "[rules.recency]\nturns = 2\n"},
		{"what is recent, the other way round", "[rules.recency]\nturns = 2\n", "keep_recent = 4\n", "keep_recent = 4\n"},
		{
			"the endpoint, with its key", "[compact]\nendpoint = \"https://a.example\"\nmodel = \"a\"\nkey_env = \"A\"\nmin_keep = 3\n", "[compact]\nendpoint = \"https://b.example\"\nmodel = \"b\"\n",
			"[compact]\nmin_keep = 3\nendpoint = \"https://b.example\"\nmodel = \"b\"\n",
		},
		{"no endpoint", "[compact]\nendpoint = \"https://a.example\"\nmodel = \"a\"\nkey_env = \"A\"\n", "[compact]\nby = \"extract\"\n", "[compact]\nby = \"extract\"\n"},
		{"a user file alone", "keep_recent = 4\n", "", "keep_recent = 4\n"},
	} {
		got, err := layers(test.user, test.folder)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		want, err := Parse("want.toml", []byte(test.want))
		if err != nil {
			t.Fatal(test.name, err)
		}
		if a, b := asJSON(t, got), asJSON(t, want); a != b {
			t.Errorf("%s: %s, want %s", test.name, a, b)
		}
	}
}

// TestUntrustedFileKeepsTheUsersEndpoint: a folder may not choose the address, key or model of the
// summarizer, but the user's own stay in force.
func TestUntrustedFileKeepsTheUsersEndpoint(t *testing.T) {
	user := File{Name: "user.toml", Data: []byte("[compact]\nendpoint = \"https://a.example\"\nmodel = \"a\"\nkey_env = \"A\"\n"), Trusted: true}
	folder := File{Name: "pare.toml", Data: []byte("[compact]\nby = \"endpoint\"\nendpoint = \"http://127.0.0.1:1\"\nmodel = \"b\"\nkey_env = \"B\"\nplain_http = true\nmin_keep = 5\n")}
	got, ignored, err := Merge(user, folder)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Compact; c.Endpoint != "https://a.example" || c.Model != "a" || c.KeyEnv != "A" || c.PlainHTTP || c.MinKeep != 5 || len(ignored) != 5 {
		t.Errorf("%+v, ignored %v", c, ignored)
	}
}

// TestMalformedUntrustedFileIsRefusedAsAWhole: an error anywhere in the file, also in a sensitive
// setting, refuses all of it.
func TestMalformedUntrustedFileIsRefusedAsAWhole(t *testing.T) {
	for _, text := range []string{
		"keep_recent = 3\n[compact]\nendpoint = 5\n",
		"keep_recent = 3\n[compact]\nendpiont = \"http://127.0.0.1:1\"\n",
		"keep_recent = -3\n[repair]\nstub = \"x\"\n",
		"keep_recent = 3\n[repair]\nstub = \"x\n",
		"keep_recent = 3\n[archive]\nname = \"x\"\n",
		"keep_recent = 3\n[compact.0]\nendpoint = \"http://127.0.0.1:1\"\n",
		"keep_recent = 3\n\"compact.endpoint\" = \"http://127.0.0.1:1\"\n",
		"keep_recent = 3\n[[compact]]\nendpoint = \"http://127.0.0.1:1\"\n",
		"keep_recent = 3\ncompact = \"endpoint\"\n",
		"keep_recent = 3\nnew_key = { endpoint = \"x\" }\n",
	} {
		c, _, err := Merge(File{Name: "pare.toml", Data: []byte(text)})
		var all Errors
		if c != nil || !errors.As(err, &all) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
}

func TestErrorsNameTheirFile(t *testing.T) {
	for _, test := range []struct{ user, folder, want string }{
		{"\n\nkeep_recent = \"x\"\n", "tokenizer = 1\n", "pare.toml:1:13: tokenizer\nuser.toml:3:15: keep_recent"},
		{"\n[[expression]]\nname = \"own\"\nwhen = \"siz > 3\"\naction = \"clear\"\n", "[check]\nstrict = true\n", "user.toml:4:9: expression.0.when"},
		{"[[expression]]\nname = \"own\"\nwhen = \"size > 3\"\naction = \"clear\"\n", "\n[[expression]]\nname = \"other\"\nwhen = \"siz > 3\"\naction = \"clear\"\n", "pare.toml:4:9: expression.1.when"},
		{"[rules.recency]\nturns = 3\n", "[rules.recency]\nafter = [\"nothing\"]\n", "pare.toml:2:10: rules.recency.after.0"},
	} {
		_, err := layers(test.user, test.folder)
		var all Errors
		if !errors.As(err, &all) {
			t.Errorf("%q, %q: %v", test.user, test.folder, err)
			continue
		}
		var got []string
		for _, e := range all {
			got = append(got, fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Path))
		}
		if s := strings.Join(got, "\n"); s != test.want {
			t.Errorf("%q, %q:\n%s\nwant\n%s", test.user, test.folder, s, test.want)
		}
	}
}

func TestSensitiveSettingsHaveLineAndValue(t *testing.T) {
	got, err := Sensitive(File{Name: "pare.toml", Data: []byte("keep_recent = 3\n\n[repair]\nstub = \"a \\\"b\\\"\"\n\n[remember]\ndays = 3\n[compact]\nby = \"extract\"\n")})
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{{"pare.toml", 4, "repair.stub", `"a \"b\""`}, {"pare.toml", 7, "remember.days", "3"}}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
}
