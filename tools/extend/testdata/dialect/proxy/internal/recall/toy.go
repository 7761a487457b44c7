package recall

type toy struct{ anthropic }

func (toy) list() string { return "dialogue" }
