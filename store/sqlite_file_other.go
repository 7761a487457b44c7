//go:build !unix

package store

import "os"

// mayWrite is an error if this user may not read and write a file. Locks belong to what was
// opened here, and not to the process.
func mayWrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
