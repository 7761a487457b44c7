// Package hosts reads the lists in which programs hold a running conversation, such as the live
// list of pi and the messages of the AI SDK, LangChain and opencode. A library converts such a list
// into the request of whichever provider is used.
//
// A shape is an entry of a table. It names the members with texts, calls and results, and the
// functions that write new results and messages. [Read] builds an equivalent Anthropic request and
// records the origin of each block. The request has the profile "pairs", which checks only pairs.
// [List.Rewrite] finds the blocks that a plan kept or changed and writes them into the members they
// came from. Everything else keeps its bytes, including unknown members.
//
// Rewrite reads its result again and returns an error unless it matches the plan. Elements and
// parts of unknown types stay and are reported as findings.
//
// Reading is safe for concurrent use.
package hosts
