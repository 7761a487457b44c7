// Package ladder makes a repaired history fit limits. It lays out a chain of states,
// gentle first and harsh last, and finds the first that fits.
//
// The chain does not depend on any limit, and each state takes away more than the one
// before it. That is why a larger limit keeps whatever a smaller one keeps, and why the
// least limit that works is exact.
//
// What there is lives for different spans of time, and each has a type:
//
//   - a scene is what is pinned, and what rules want, at one moment of the history;
//   - a chain is the states of one climb, seen from one scene;
//   - a meter knows what blocks cost, and words what they say when they are shortened,
//     for as long as the ladder lives;
//   - a gauge adds up what the states of a chain cost;
//   - a past is what is known of the earlier requests of a stable window.
//
// The engine gives a way to vote and a way to try a state, see [Setting]. Of receipts and
// events this package knows nothing.
package ladder
