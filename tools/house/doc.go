// Package house holds the tests that keep the house in order: which floor may
// import which, and that every package says what it is for.
package house
