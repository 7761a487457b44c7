package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

// agent is a stand-in for a coding agent: agent FILE... sends each file to the API at
// ANTHROPIC_BASE_URL and prints the status; "agent wait" says that it runs, and ends with the number
// of the signal that it gets.
func agent() {
	for _, name := range os.Args[1:] {
		if name == "wait" {
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
			fmt.Println("waiting", os.Getenv("ANTHROPIC_BASE_URL"))
			os.Exit(int((<-signals).(syscall.Signal)))
		}
		body, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		answer, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		answer.Body.Close()
		fmt.Println(name, answer.StatusCode)
	}
}
