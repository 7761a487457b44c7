package wire

// A weight is how a string in a block is counted. Strings without a row in the table count as text, so
// that a member of tomorrow counts.
type weight uint8

const (
	asText    weight = iota
	uncounted        // the model does not read it
	opaque           // encrypted: a sixth of its bytes
	asJSON           // the model reads the JSON as it is written
	asData           // base64: what the picture or document shows
	asAddress        // the address or id of a picture or document: what that shows
	asMedium         // holds a picture or document, or its address
	asPicture        // base64 of a picture
)

// opaqueBytes is how many bytes of encrypted data in base64 stand for a token.
const opaqueBytes = 6

// skippedSignature is the documented value that asks the API not to look for a lost
// signature.
const skippedSignature = "skip_thought_signature_validator"

// A leaf is the weight of the members of a name, in blocks of any type of any dialect.
type leaf struct {
	weight weight
	// reason says why the member does not count, or not as text.
	reason string
}

// memberWeights has a row for each member that does not count as text.
var memberWeights = func() map[string]leaf {
	all := make(map[string]leaf, 64)
	add := func(w weight, reason string, names ...string) {
		for _, name := range names {
			all[name] = leaf{w, reason}
		}
	}
	add(uncounted, "an id, which providers do not bill", "id", "tool_use_id", "toolUseId", "call_id", "container_id")
	add(uncounted, "one of a few words that the API knows", "type", "role", "status", "is_error", "media_type", "mimeType", "mime_type", "format", "detail", "resolution")
	add(uncounted, "a setting of the cache", "cache_control", "cachePoint")
	add(uncounted, "sources of a text; providers do not bill the quoted passages", "citations", "annotations")
	add(uncounted, "a name of a file that the model reads by its data", "filename")
	add(uncounted, "probabilities, which are not sent to the model", "logprobs")
	add(opaque, "encrypted thoughts or results", "signature", "thoughtSignature", "thought_signature", "encrypted_content", "encrypted_index", "encrypted_stdout", "redactedContent")
	add(asJSON, "JSON", "json", "input", "args", "response", "tools", "input_schema")
	add(asData, "base64 of a medium", "data", "bytes", "file_data")
	add(asMedium, "a medium", "image", "document", "audio", "video", "file", "image_url", "input_audio", "inlineData", "inline_data")
	add(asAddress, "the address of a medium", "url", "uri", "fileUri", "file_uri", "file_id", "fileId")
	return all
}()

// weightOf returns the weight of a member of an object of a type.
func weightOf(typ, member string) weight {
	switch {
	case member == "data" && (typ == "redacted_thinking" || typ == "reasoning.encrypted"):
		return opaque
	case member == "result" && typ == "image_generation_call":
		return asPicture
	}
	return memberWeights[member].weight
}
