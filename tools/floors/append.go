package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver of the bare table

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/store"
)

const appendFloor = 0.5

// measureAppend compares appends to a store in SQLite with INSERTs of the same bytes into a
// table, with the same durability and one writer.
func measureAppend(ctx context.Context, c config) ([]speed, error) {
	folder, err := os.MkdirTemp("", "pare-floors-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	messages, err := splitMessages(benchdata.Dense(benchdata.Messages, c.bodySize))
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, filepath.Join(folder, "pare.db"))
	if err != nil {
		return nil, err
	}
	defer st.Close()
	bare, err := openBareTable(filepath.Join(folder, "bare.db"))
	if err != nil {
		return nil, err
	}
	defer bare.Close()
	sessions := 0
	appendAll := func() error {
		sessions++
		key := store.ID(fmt.Sprintf("s%d", sessions))
		if _, err := st.Create(ctx, key, store.Create{}); err != nil {
			return err
		}
		for i := range c.appends {
			entry := store.Message(fmt.Sprintf("m%d", i), messages[i%len(messages)])
			if _, err := st.Append(ctx, key, store.Exactly(int64(i)), entry); err != nil {
				return err
			}
		}
		return nil
	}
	insertAll := func() error {
		for i := range c.appends {
			if _, err := bare.ExecContext(ctx, `INSERT INTO bare (raw) VALUES (?)`, []byte(messages[i%len(messages)])); err != nil {
				return err
			}
		}
		return nil
	}
	medians, err := takeTurns(c.rounds, []contestant{
		{"append", processorTimeOf(appendAll)},
		{"insert", processorTimeOf(insertAll)},
	})
	if err != nil {
		return nil, err
	}
	ratio := float64(medians["insert"]) / float64(medians["append"])
	return []speed{{work: "append, SQLite", base: "INSERT", ratio: ratio, floor: appendFloor}}, nil
}

func processorTimeOf(work func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		before := processorTime()
		err := work()
		return processorTime() - before, err
	}
}

// openBareTable opens a database with one table, as durable as that of a store.
func openBareTable(file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE bare (n INTEGER PRIMARY KEY, raw BLOB NOT NULL)`); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// splitMessages returns the messages of a body.
func splitMessages(body []byte) ([]json.RawMessage, error) {
	var request struct{ Messages []json.RawMessage }
	err := json.Unmarshal(body, &request)
	return request.Messages, err
}
