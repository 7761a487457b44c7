package main

import "github.com/pare-llm/pare/cmd/internal/picture"

// A report renders what is found for people.
type report struct{ picture.Style }
