// Package house holds the tests of the code's structure and style: which package may import
// which, the exported names, the length of files and functions, and the rules of the style
// guide that a parser can check.
package house
