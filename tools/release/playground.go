package main

import (
	"os"
	"path/filepath"
)

// playground packs the page on which a body can be tried, with the engine inside: a folder for any
// server of files.
func (r *release) playground() error {
	files, err := r.playgroundFiles()
	if err != nil {
		return err
	}
	packed, err := r.tar("playground", files)
	if err != nil {
		return err
	}
	return r.write("pare_"+r.version+"_playground.tar.gz", packed)
}

func (r *release) playgroundFiles() (files []entry, err error) {
	for _, name := range []string{"index.html", "playground.css", "playground.js"} {
		data, err := os.ReadFile(filepath.Join(r.root, "cmd/playground/page", name))
		if err != nil {
			return nil, err
		}
		files = append(files, entry{name, 0o644, data})
	}
	wasm, err := r.wasm("./cmd/playground", "playground.wasm")
	return append(files, wasm...), err
}
