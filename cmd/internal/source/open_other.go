//go:build !unix

package source

import "os"

// openFound opens a regular file that was found in a folder.
func openFound(path string) (*os.File, error) { return os.Open(path) }
