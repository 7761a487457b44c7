package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A kind of text has its own rates.
type kind string

const (
	goComments   kind = "go"
	testComments kind = "test"
	markdown     kind = "md"
)

var kinds = []kind{goComments, testComments, markdown}

// A text is the prose of one file.
type text struct {
	path  string
	kind  kind
	lines []line
}

type line struct {
	number int
	text   string
}

// skippedFolders hold generated text, or text of others.
var skippedFolders = map[string]bool{
	"testdata": true, ".git": true, "node_modules": true, "vendor": true, "dist": true, "man": true,
}

// generatedPages are written by tests.
var generatedPages = map[string]bool{"rules.md": true}

// walkTexts calls visit for the prose of every Go and Markdown file in a folder.
func walkTexts(root string, visit func(text)) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skippedFolders[entry.Name()] {
				return fs.SkipDir
			}
			return nil
		}
		isGo := strings.HasSuffix(path, ".go")
		isPage := strings.HasSuffix(path, ".md") && !generatedPages[entry.Name()]
		if !isGo && !isPage {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if isPage {
			visit(text{path, markdown, markdownLines(string(raw))})
			return nil
		}
		k := goComments
		if strings.HasSuffix(path, "_test.go") {
			k = testComments
		}
		visit(text{path, k, commentLines(raw)})
		return nil
	})
}

// commentLines returns the lines of all comments of a Go file, without directives.
func commentLines(src []byte) (lines []line) {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok != token.COMMENT || isDirective(lit) {
			continue
		}
		first := file.Line(pos)
		for i, l := range strings.Split(lit, "\n") {
			lines = append(lines, line{first + i, strings.Trim(l, "/* \t")})
		}
	}
}

func isDirective(comment string) bool {
	for _, prefix := range []string{"//go:", "//nolint", "//export", "//line"} {
		if strings.HasPrefix(comment, prefix) {
			return true
		}
	}
	return false
}

// notProse matches the code spans and addresses of a Markdown line.
var notProse = regexp.MustCompile("`[^`]*`|\\(https?:[^)]*\\)")

// markdownLines returns the lines of a page without code.
func markdownLines(page string) (lines []line) {
	inCode := false
	number := 0
	for l := range strings.Lines(page) {
		number++
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			inCode = !inCode
			continue
		}
		if !inCode {
			lines = append(lines, line{number, notProse.ReplaceAllString(l, "")})
		}
	}
	return lines
}
