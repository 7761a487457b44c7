package reply

type toy struct{ anthropic }
