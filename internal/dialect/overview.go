package dialect

// A Overview holds the facts about a request that decide whether anything has to be done with it.
type Overview struct {
	Clean        bool   // Check reports nothing, so Repair would change nothing
	Delta        string // the member that names the server-side conversation that the request continues; "" if the request has its whole history
	StartsThread bool   // the request asks the server to keep the conversation
	Dialect      Dialect
	Profile      Profile // Profile.Model is the request's model or, if it names none, that of the options
	Messages     int
	Calls        int // exchanges, including calls without results and results without calls
	Turns        int
	Asked        int // how often the person spoke
	MaxOutput    int // limit of the reply in tokens; 0 if the request sets none
	Fingerprint  [16]byte
}

// glance checks r and returns its key facts.
func (r *Request) overview(o CheckOptions) Overview {
	messages := r.t.Messages()
	return Overview{
		Clean: len(r.Check(o)) == 0, Delta: r.head.delta, StartsThread: r.head.startsThread, Dialect: r.Dialect, Profile: r.Profile,
		Messages: len(messages), Calls: len(r.t.Exchanges()), Turns: r.t.Turns(), Asked: r.t.Asked(len(messages)),
		MaxOutput: r.MaxOutputTokens(), Fingerprint: r.fingerprint(),
	}
}
