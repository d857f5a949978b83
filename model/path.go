package model

// Phrases of the paths in tickets.
const (
	ownConnection = "over a connection of its own"
	scratchCopy   = "a scratch copy, which expires by itself; no user's request meets it"
)

// PathOf returns how an order reaches its limiter, in the words of a ticket. assumes is the configuration
// that the requests assume of another library's limiter, if its keys do not show it; "" is none.
func PathOf(s Order, assumes string) string {
	t := &s.Target
	if _, raises := t.RaiseOf(s.Key, s.Change); raises {
		return "the limit itself, where " + t.Library + " keeps it in Redis, " + ownConnection
	}
	text := "the limiter's own script"
	switch {
	case t.Script != nil && t.Script.Plain != "":
		text = "written as its rule says, " + t.Script.Plain
	case t.Script != nil:
		text = "the program's own script, " + t.Script.File
	case t.Foreign():
		text = "written as " + t.Library + " itself writes a request"
	}
	if assumes != "" {
		text += ", if it was made " + assumes
	}
	switch {
	case s.Change.Kind != NoChange && s.Change.Kind != Give:
		return ownConnection[len("over "):]
	case s.Scratch && t.Foreign():
		return text + ", to " + scratchCopy + ", " + ownConnection
	case s.Scratch:
		return text + " on " + scratchCopy + ", " + ownConnection
	}
	return text + ", " + ownConnection
}
