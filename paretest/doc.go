// Package paretest is a stand-in for the providers, for tests of agents.
//
// A [Mock] is an http.Handler that answers on the providers' own paths as they
// would, streams included, and refuses what they would refuse, in their words.
// Point a client at it to see what an agent does about it.
package paretest
