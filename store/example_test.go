package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pare-llm/pare/store"
)

// Example appends to a session, makes a window, and reverts a turn.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "pare")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	st, err := store.Open(ctx, filepath.Join(dir, "pare.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()

	key := store.ID("flaky-login")
	if _, err := st.Create(ctx, key, store.Create{Model: "claude-sonnet-4-5"}); err != nil {
		fmt.Println(err)
		return
	}
	result, err := st.Append(ctx, key, store.Exactly(0),
		store.Message("m1", []byte(`{"role":"user","content":"Why does the test fail?"}`)),
		store.Message("m2", []byte(`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test"}}]}`)),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the head is", result.Head)

	// A writer that has not seen these two gets a conflict.
	_, err = st.Append(ctx, key, store.Exactly(1), store.Message("m3", []byte(`{"role":"user","content":"Hello?"}`)))
	var conflict *store.ConflictError
	fmt.Println("a conflict:", errors.As(err, &conflict))

	// The call has no result: the window closes it, and the session does not change.
	w, err := st.Window(ctx, key, store.WindowOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(w.Plan)

	hidden, err := st.RevertTurns(ctx, key, store.Anywhere, 1)
	fmt.Println(hidden, "messages are hidden", err)
	// Output:
	// the head is 2
	// a conflict: true
	// insert  messages.1.content.0         orphan-call: a stub: The outcome of this call is unknown: no result was recorded.
	// 2 messages are hidden <nil>
}
