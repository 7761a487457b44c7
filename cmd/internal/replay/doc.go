// Package replay walks a stored history request by request, as an agent would have
// sent it, and tells what each way of cutting it down would have sent, what that would
// have cost, what the provider would have refused, and what the model had to ask for
// again.
//
// # The walk
//
// The client of a model sends the whole history each time, so a stored history holds
// all requests that led to it: [Walk] is the beginning of the list in front of each of
// the model's turns and, if the list does not end with one, the list itself. What the
// model said next is the output of the request.
//
// # Policies
//
// A [Policy] says what is sent in the place of each request. [Standard] has sending
// everything, a naive sliding window, and what pare trim and pare prune send; [Of] gives a
// name to any other policy of the engine.
//
// # Caches and money
//
// What a request has in common with the one before, from its first byte on, head first
// and then message by message, is read from the cache if it is as long as the provider
// wants; the rest is written to it, or is plain input where the whole request is too
// short. The cache is taken to be warm and the marks that some providers want to be
// set. Prices are list prices; where there is none for the model, weights are left:
// tokens of input, a cached one counting as much less as the provider says.
//
// # Regret
//
// A call asks again if an earlier one had the same tool and the same arguments, or read
// the whole of the same file, did not fail, and nothing that is known to change files
// came in between. It is regretted if no result of those earlier ones is in sight, in
// full, in what a policy sent. So is an edit of a file whose text the model was shown,
// if none of what showed it is in sight.
//
// A recording shows what the agent did with what its own harness sent, which was mostly
// everything, so this is a lower bound: an agent that misses something asks for it in
// cases where the recorded one had no need to. And it is a share of what is asked again
// anyway, which [Result] counts beside it.
package replay
