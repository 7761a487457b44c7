package config

import _ "embed"

// Schema is the JSON schema of the configuration, for editors and other programs.
// It says what the structs of this package say; names of rules, globs and
// expressions are judged by Parse alone.
//
//go:embed pare.schema.json
var Schema []byte
