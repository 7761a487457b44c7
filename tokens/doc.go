// Package tokens x.
package tokens
