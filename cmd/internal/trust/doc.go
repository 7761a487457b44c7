// Package trust keeps the list of files that the user has accepted.
//
// A file in a working folder can come with a cloned repository. Pare uses the sensitive
// settings of such a file only after the user has accepted it with pare trust. The list
// holds the path of each accepted file and the SHA-256 of its content, so that every edit
// ends the trust.
//
// The path is absolute. Links in the folder part are resolved; the file itself may be a
// link, which is then accepted under its own path. A copy or a link elsewhere with the same
// content is a different file.
package trust
