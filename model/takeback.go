package model

// TakeBack is an order to take back what an action wrote.
type TakeBack struct {
	Action string // its id
	Key    string // that it wrote to
	// Withdraw takes off what was charged and leaves what other programs have written since; else
	// the keys get what they held before, and it is refused where another program has written.
	Withdraw bool
	// Named is the name of the key as a person typed it, and Reason why, for servers that count as
	// production.
	Named, Reason string
}

// TakenBack is what came of it.
type TakenBack struct {
	Restored, Removed, Expired []string // keys as before, gone again, and expired in the meantime
	Lowered                    *Raise   // the limit that was put back beside requests that were counted since; nil for none
	Units                      int64    // taken off, of a withdrawal
}
