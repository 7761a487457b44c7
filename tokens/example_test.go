package tokens_test

import (
	"fmt"

	"github.com/pare-llm/pare/tokens"
)

func ExampleEstimator() {
	e := tokens.For("claude-sonnet-4-5")
	request := e.Count([]byte("You are a careful engineer.")) + // each block by itself
		e.CountJSON([]byte(`Why does \"go vet\" complain?\n`)) +
		e.Image(1280, 720) +
		e.Overhead(1, 0)
	model, _ := tokens.Lookup("claude-sonnet-4-5")
	fmt.Println(request, "of", model.Input(8_000))
	// Output: 1231 of 192000
}

func ExampleFactor() {
	var f tokens.Factor // one per model
	f = f.Learn(10_000, 11_000)
	fmt.Println(f.Permille()) // an undercount is corrected at once
	f = f.Learn(11_000, 8_800)
	fmt.Println(f.Permille()) // an overcount slowly
	// Output:
	// 1100
	// 1087
}
