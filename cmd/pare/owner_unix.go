//go:build unix

package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

func ownerHint(path string) string {
	for name := filepath.Clean(path); ; name = filepath.Dir(name) {
		st, err := os.Stat(name)
		if err != nil && name != filepath.Dir(name) {
			continue
		}
		if err != nil {
			return ""
		}
		owner, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s belongs to %s (%s), and you are %s", screen.QuoteWord(name), userName(int(owner.Uid)), st.Mode(), userName(os.Geteuid()))
	}
}

// userName returns the name of a user, or the id if there is no name.
func userName(id int) string {
	u, err := user.LookupId(strconv.Itoa(id))
	if err != nil {
		return "user " + strconv.Itoa(id)
	}
	return u.Username
}
