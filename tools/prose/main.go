// Command prose measures how plain the English of this project is.
//
// It counts words that good Go projects hardly use (see groups) per 1,000 words of Go
// comments and of Markdown, and lists the files with the highest rates. The same count gives
// 1.0 in Go comments and 2.0 in Markdown for pebble, esbuild, litestream, caddy and
// encoding/json v2.
//
//	go run ./tools/prose                      the whole project
//	go run ./tools/prose -list posture wire   lines in wire with a word of one group
//	go run ./tools/prose -limit go=3,md=5     exit with 1 above these rates
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	top := flag.Int("top", 12, "number of files to list for each kind of text")
	list := flag.String("list", "", "print every line with a word of this group")
	limit := flag.String("limit", "", "highest rates allowed, such as go=3,md=5")
	flag.Parse()
	paths := flag.Args()
	if len(paths) == 0 {
		paths = []string{"."}
	}
	limits, err := parseLimits(*limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	counts := make(map[kind]*count)
	for _, path := range paths {
		err := walkTexts(path, func(t text) {
			if counts[t.kind] == nil {
				counts[t.kind] = &count{}
			}
			counts[t.kind].add(t)
			if *list != "" {
				printLines(out, t, *list)
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(2)
		}
	}
	tooHigh := false
	for _, k := range kinds {
		if c := counts[k]; c != nil {
			c.print(out, k, *top)
			bound, limited := limits[k]
			tooHigh = tooHigh || limited && c.rate() > bound
		}
	}
	out.Flush()
	if tooHigh {
		fmt.Fprintln(os.Stderr, "prose: above the limit", *limit)
		os.Exit(1)
	}
}

// parseLimits parses a list such as "go=3,md=5".
func parseLimits(list string) (map[kind]float64, error) {
	limits := make(map[kind]float64)
	if list == "" {
		return limits, nil
	}
	for _, item := range strings.Split(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("limit %q: expected go=N, test=N or md=N", item)
		}
		limits[kind(name)] = rate
	}
	return limits, nil
}

func printLines(w io.Writer, t text, group string) {
	for _, l := range t.lines {
		for _, word := range splitWords(l.text) {
			if groupOf[word] == group {
				fmt.Fprintf(w, "%s:%d: %s\n", t.path, l.number, strings.TrimSpace(l.text))
				break
			}
		}
	}
}
