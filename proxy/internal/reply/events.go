package reply

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"

	"github.com/pare-llm/pare/internal/jsonedit"
)

// An event is one piece of a reply that was streamed. Its data is a JSON object.
type event struct {
	name string // "" if the framing has no names
	data []byte
}

// sentEvents returns the server-sent events of a stream whose data is a JSON object.
func sentEvents(stream []byte) (events []event) {
	var e event
	add := func() {
		if isObject(e.data) {
			events = append(events, e)
		}
		e = event{}
	}
	for line := range bytes.Lines(stream) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			add()
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			e.name = string(value)
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
	add()
	return events
}

// listedEvents returns the elements of a JSON list. A single object is a list of one.
func listedEvents(list []byte) (events []event) {
	if isObject(list) {
		return []event{{data: list}}
	}
	for _, element := range jsonedit.Elements(list) {
		if isObject(element) {
			events = append(events, event{data: element})
		}
	}
	return events
}

// A message of the event stream of AWS has a prelude (two lengths and a checksum), headers, a
// payload and a checksum.
const (
	awsPrelude      = 12
	awsChecksum     = 4
	awsStringHeader = 7
)

// awsEvents returns the events of AWS's event stream. A payload with a member bytes contains an
// event of another API as base64: this is how Bedrock streams the API of Anthropic.
func awsEvents(stream []byte) (events []event) {
	for len(stream) >= awsPrelude {
		size := int64(binary.BigEndian.Uint32(stream))
		headerSize := int64(binary.BigEndian.Uint32(stream[4:]))
		if size > int64(len(stream)) || headerSize > size-awsPrelude-awsChecksum {
			return nil
		}
		headers := awsHeaders(stream[awsPrelude : awsPrelude+headerSize])
		payload := stream[awsPrelude+headerSize : size-awsChecksum]
		stream = stream[size:]
		if headers[":message-type"] != "event" || !isObject(payload) {
			continue
		}
		if wrapped := jsonedit.TextAt(payload, "bytes"); wrapped != "" {
			payload, _ = base64.StdEncoding.DecodeString(wrapped)
		}
		if isObject(payload) {
			events = append(events, event{headers[":event-type"], payload})
		}
	}
	return events
}

// awsHeaders returns the headers before the first that is not a string.
func awsHeaders(b []byte) map[string]string {
	headers := make(map[string]string)
	for len(b) > 1 {
		nameEnd := 1 + int(b[0])
		if len(b) < nameEnd+3 || b[nameEnd] != awsStringHeader {
			return headers
		}
		valueStart := nameEnd + 3
		valueEnd := valueStart + int(binary.BigEndian.Uint16(b[nameEnd+1:]))
		if len(b) < valueEnd {
			return headers
		}
		headers[string(b[1:nameEnd])] = string(b[valueStart:valueEnd])
		b = b[valueEnd:]
	}
	return headers
}
