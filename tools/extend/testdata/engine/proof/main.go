// Command proof keeps a session in another database.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pare-llm/pare/store"
)

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "extend")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st, err := store.Open(ctx, "toy://"+filepath.ToSlash(filepath.Join(dir, "toy.db")))
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	key := store.ID("talk")
	if _, err := st.Create(ctx, key, store.Create{Model: "claude-sonnet-4-5"}); err != nil {
		log.Fatal(err)
	}
	for i, text := range []string{`{"role":"user","content":"hello"}`, `{"role":"assistant","content":"hi"}`} {
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message(fmt.Sprint("m", i), []byte(text))); err != nil {
			log.Fatal(err)
		}
	}
	r, _, err := st.Request(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(r.Transcript().Messages()), "messages,", st.Writes() > 0)
}
