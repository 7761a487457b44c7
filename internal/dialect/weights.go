package dialect

// A weight is how a string in a block is counted.
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

// memberWeight returns the weight of a member by its name, in blocks of any type of any dialect. A member
// without a case counts as text.
func memberWeight(name string) weight {
	switch name {
	// Ids, which providers do not bill.
	case "id", "tool_use_id", "toolUseId", "call_id", "container_id":
		return uncounted
	// One of a few words that the API knows.
	case "type", "role", "status", "is_error", "media_type", "mimeType", "mime_type", "format", "detail", "resolution":
		return uncounted
	// A setting of the cache.
	case "cache_control", "cachePoint":
		return uncounted
	// Sources of a text. Providers do not bill the quoted passages.
	case "citations", "annotations":
		return uncounted
	// The name of a file, which the model reads by its data, and probabilities, which are not sent to it.
	case "filename", "logprobs":
		return uncounted
	// Encrypted thoughts or results.
	case "signature", "thoughtSignature", "thought_signature", "encrypted_content", "encrypted_index", "encrypted_stdout", "redactedContent":
		return opaque
	case "json", "input", "args", "response", "tools", "input_schema":
		return asJSON
	case "data", "bytes", "file_data":
		return asData
	case "image", "document", "audio", "video", "file", "image_url", "input_audio", "inlineData", "inline_data":
		return asMedium
	case "url", "uri", "fileUri", "file_uri", "file_id", "fileId":
		return asAddress
	}
	return asText
}

// weightOf returns the weight of a member of an object of a type.
func weightOf(typ, member string) weight {
	switch {
	case member == "data" && (typ == "redacted_thinking" || typ == "reasoning.encrypted"):
		return opaque
	case member == "result" && typ == "image_generation_call":
		return asPicture
	}
	return memberWeight(member)
}
