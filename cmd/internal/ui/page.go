package ui

// A Page is what is shown. Its zero value is an empty conversation. The same page
// always gives the same bytes. Many goroutines may read it.
type Page struct {
	Source  string `json:"source"` // how the user calls it
	Dialect string `json:"dialect,omitempty"`
	Profile string `json:"profile,omitempty"`
	Model   string `json:"model,omitempty"`
	Title   string `json:"title,omitempty"`  // what the user said first
	Agent   string `json:"agent,omitempty"`  // that keeps the session
	Window  int    `json:"window,omitempty"` // tokens that the model takes beside its reply; 0: unknown
	Whole   int    `json:"whole,omitempty"`  // and with it
	Guess   bool   `json:"guess,omitempty"`  // nobody knows the model, and Window is a guess
	// Recorded is how many tokens the API itself has counted; the rest is estimated.
	Recorded int  `json:"recorded,omitempty"`
	Over     bool `json:"over,omitempty"` // it does not fit the window of its model

	Back bool `json:"back,omitempty"` // it is one of the requests that the page above lists

	Checked bool `json:"checked,omitempty"` // faults were looked for

	Before  Side     `json:"before"`          // the conversation as it is
	After   *Side    `json:"after,omitempty"` // as the plan would leave it; nil: there is no plan
	Changes []Change `json:"changes,omitempty"`
	Kept    []Reason `json:"kept,omitempty"` // why blocks are protected; see [Block.Kept]

	// Others are talks of the same session that are not sent: the page shows one of them
	// if it is chosen. Thread is what the talk in Before is called.
	Thread string   `json:"thread,omitempty"`
	Others []Thread `json:"others,omitempty"`
}

// A Thread is a talk of a session that is not sent. Many goroutines may read it.
type Thread struct {
	Name string `json:"name"`
	What string `json:"what,omitempty"` // "sub-agent"; "": it is not sent any more
	Side
}

// A Side is the conversation at one moment. Many goroutines may read it.
type Side struct {
	Head      []Part     `json:"head,omitempty"` // what stands beside the messages
	Messages  []Message  `json:"messages"`
	Exchanges []Exchange `json:"exchanges,omitempty"`
	Faults    []Fault    `json:"faults,omitempty"`
}

// A Part is something beside the messages that takes room: the system prompt, the
// tools. Many goroutines may read it.
type Part struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "head", "unseen" or "marks"
	Tokens int    `json:"tokens"`
	Text   string `json:"text,omitempty"`
}

// A Message is one element of the list. Many goroutines may read it.
type Message struct {
	Role   string  `json:"role"`
	Path   string  `json:"path,omitempty"`
	Line   int     `json:"line,omitempty"`   // in the file it comes from; 0: unknown
	Thread string  `json:"thread,omitempty"` // which of several talks it belongs to
	Unread bool    `json:"unread,omitempty"` // the provider's compaction, further down, stands for it
	Blocks []Block `json:"blocks"`
	Note
}

// A Note is what is known of a message beside its words. Many goroutines may read it.
type Note struct {
	Time    int64   `json:"time,omitempty"`    // in milliseconds since 1970; 0: unknown
	Model   string  `json:"model,omitempty"`   // that said it
	Usage   *Usage  `json:"usage,omitempty"`   // of the reply that ends with it, as the API has counted
	Dollars float64 `json:"dollars,omitempty"` // what that reply was billed
	Summary bool    `json:"summary,omitempty"` // it stands for what was said before
}

// A Usage is what a reply was billed for, in tokens. Many goroutines may read it.
type Usage struct {
	Input   int `json:"input"`
	Read    int `json:"read,omitempty"`    // from the cache
	Written int `json:"written,omitempty"` // to the cache
	Output  int `json:"output"`
}

// A Block is a text, a call, a result, a thinking block, a picture. Blocks are
// counted through all messages of a side, from 0; that number is what exchanges,
// faults and changes point at. Many goroutines may read it.
type Block struct {
	Kind   string `json:"kind"` // as [transcript.Kind] names it
	Tool   string `json:"tool,omitempty"`
	ID     string `json:"id,omitempty"` // of the call
	Path   string `json:"path,omitempty"`
	Failed bool   `json:"failed,omitempty"` // a result that reports an error
	Tokens int    `json:"tokens"`
	Text   string `json:"text,omitempty"`
	// Pictures are small ones of those in it, as data addresses of JPEG that this package has drawn.
	Pictures []string `json:"pictures,omitempty"`

	// From is the block of Before that this block of After was, plus one; 0: it is
	// new. Same is set if it still says the same, and Text is left out.
	From int  `json:"from,omitempty"`
	Same bool `json:"same,omitempty"`
	// Change is the change that put in a new block, plus one; 0: unknown.
	Change int `json:"change,omitempty"`
	// Kept is the reason in [Page.Kept] why a rule protects the block, plus one; 0:
	// none does.
	Kept int `json:"kept,omitempty"`
}

// An Exchange is a call and what answers it. Many goroutines may read it.
type Exchange struct {
	Call    int    `json:"call"` // a block; -1: there is none
	Results []int  `json:"results"`
	State   string `json:"state"` // as [transcript.State] names it
	Server  bool   `json:"server,omitempty"`
	Guessed bool   `json:"guessed,omitempty"`
}

// A Fault is something that the provider refuses. Many goroutines may read it.
type Fault struct {
	Rule    string `json:"rule"`
	Path    string `json:"path"`
	Says    string `json:"says"`              // the provider's own sentence
	Meaning string `json:"meaning,omitempty"` // in a few words
	Advice  bool   `json:"advice,omitempty"`  // accepted, but degrades
	Message int    `json:"message"`           // -1: it is about the request
	Block   int    `json:"block"`             // -1: it is about the message
}

// A Change is a receipt: something that the plan does. Many goroutines may read it.
type Change struct {
	Action  string   `json:"action"` // drop, edit, insert, move, rename, merge
	Rule    string   `json:"rule"`
	Reason  string   `json:"reason"`
	Path    string   `json:"path"`
	IDs     []string `json:"ids,omitempty"`
	Tokens  int      `json:"tokens"`
	Message int      `json:"message"` // of Before; -1: none
	Block   int      `json:"block"`   // of Before; -1: it is about the message
}

// A Reason says which rule, and why. Many goroutines may read it.
type Reason struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}
