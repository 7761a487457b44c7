// Package ladder makes a repaired history fit limits. It lays out a chain of states,
// gentle first and harsh last, and finds the first that fits.
//
// The chain does not depend on any limit, and each state takes away more than the one
// before it. That is why a larger limit keeps whatever a smaller one keeps, and why the
// least limit that works is exact.
//
// The rungs, in their order:
//
//   - rules: what the rules of the window vote for, all at once;
//   - clear-results: results older than the last eight exchanges give way to a placeholder,
//     one at a time (limits of tokens only);
//   - shorten: results and arguments keep head and tail, from 24 KB on to 12 KB, then from
//     6 KB on to 3 KB (tokens only);
//   - drop-exchanges: one exchange at a time, also inside one run of tool use; with the last
//     call of a turn goes what the model said before it;
//   - drop-turns: one turn at a time, then what is not pinned of the newest;
//   - squeeze: results and arguments that are pinned are shortened to 1 KB, then cleared
//     (tokens only).
//
// Each state gives every block a level, and levels only rise. Costs are added up from the
// harshest state on; the first state whose sum is within the limit is carried out, finished
// and measured, and if it does not fit after all, the next one is. If the last one does not
// fit, the window is too small, and the error has the exact minimum.
//
// Pinned are the system's messages, the first and the last message in which a person speaks,
// the last turn, the last MinKeep messages, what rules protect, and what any of these need.
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
