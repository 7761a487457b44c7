package main

import "github.com/pare-llm/pare/archive"

func buildArchiveLines(from origin, items []archive.Item, note bool) []archive.Line {
	name := ""
	if note {
		name = archive.Name(items)
	}
	all := make([]archive.Line, len(items))
	for i, item := range items {
		all[i] = archive.Line{Item: item, Archive: name}
		if from.isOneOfMany {
			all[i].Source, all[i].Number = from.source, from.line
		}
	}
	return all
}
