package planner

import "github.com/pare-llm/pare/transcript"

// UserSpeaks reports whether the user speaks in a message.
func UserSpeaks(m transcript.Message) bool { return m.Speaks && m.Role != transcript.System }

// TurnsSince returns, for each message, how often the user has spoken after it. Everything between
// two messages of the model counts once, including words that share a message with results.
func TurnsSince(t *transcript.Transcript) []int {
	messages := t.Messages()
	since := make([]int, len(messages))
	count, hasSpoken := 0, false
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == transcript.Assistant && hasSpoken {
			count, hasSpoken = count+1, false
		}
		since[i] = count
		hasSpoken = hasSpoken || messages[i].Speaks
	}
	return since
}

// RequestCount returns how many requests led to a history, including the request that sends it.
func RequestCount(t *transcript.Transcript) int { return len(RequestEnds(t)) }

// RequestEnds returns the number of messages of each request that led to a history.
func RequestEnds(t *transcript.Transcript) (ends []int) {
	messages := t.Messages()
	for i := range messages {
		if StartsModelTurn(messages, i) {
			ends = append(ends, i)
		}
	}
	return append(ends, len(messages))
}

// StartsModelTurn reports whether a turn of the model begins with message i, so that a request
// ended before it.
func StartsModelTurn(messages []transcript.Message, i int) bool {
	return i > 0 && messages[i].Role == transcript.Assistant && messages[i-1].Turn != messages[i].Turn
}
