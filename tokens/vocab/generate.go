//go:build ignore

// The generator packs a .tiktoken file (a base64 token and its rank per line) into
// what package tokens embeds: in order of rank, the length of each token in one
// byte and its bytes, the whole deflated.
//
//	go run generate.go o200k_base.tiktoken > o200k_base.flate
package main

import (
	"bufio"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"log"
	"os"
	"strings"
)

func main() {
	in, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	out, err := flate.NewWriter(os.Stdout, flate.BestCompression)
	if err != nil {
		log.Fatal(err)
	}
	rank := 0
	for lines := bufio.NewScanner(in); lines.Scan(); rank++ {
		text, n, _ := strings.Cut(lines.Text(), " ")
		token, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			log.Fatal(err)
		}
		// The packing has no room for a gap: a rank is a position.
		if n != fmt.Sprint(rank) || len(token) == 0 || len(token) > 255 {
			log.Fatalf("token %q has rank %s, want %d", token, n, rank)
		}
		if _, err := out.Write(append([]byte{byte(len(token))}, token...)); err != nil {
			log.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}
