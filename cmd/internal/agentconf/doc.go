// Package agentconf finds the hosts that a coding agent is configured with, so that pare run can
// forward the requests for each provider to the same host.
//
// An agent reads its base URLs from variables, from arguments and from settings files of the
// user, the project and the system. [Read] reads the same places in the same order and returns a
// [Launch]: one [Route] for each provider, from a name in the path of the proxy to the base URL
// that the agent would use itself. [Launch.Override] returns the variables, arguments and files
// that point the agent at the proxy. The default host of a vendor is used only for a provider
// for which nothing names another host.
//
// A provider is left alone, so that the agent sends its requests itself, if its host is unknown
// or cannot be replaced. A file of the project that is not trusted stops the start.
//
// The package writes nothing and opens no connection.
package agentconf
