// Package excerpt shortens long texts, such as the output of a program or a file. An excerpt keeps
// the beginning, the end and the most important lines in between, and marks every gap. The same
// text always has the same excerpt.
package excerpt
