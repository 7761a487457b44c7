package archive_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pare-llm/pare/archive"
)

// What is put into an archive comes back by the id of its bytes.
func ExampleFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "pare")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	kept, err := archive.Open(filepath.Join(dir, "removed.jsonl"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer kept.Close()

	item := archive.New("messages.3", []byte(`{"role":"user","content":"hello"}`))
	if err := kept.Put(ctx, item); err != nil {
		fmt.Println(err)
		return
	}
	items, err := archive.Recall(ctx, kept, item.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s\n", items[0].Path, items[0].Raw)
	// Output: messages.3: {"role":"user","content":"hello"}
}
