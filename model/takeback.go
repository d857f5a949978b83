package model

// TakeBack is an order to take back the writes of an action.
type TakeBack struct {
	Action string // the id of the action
	Key    string // the key that the action wrote to
	// Withdraw subtracts the charged units and keeps what other programs have written since. Otherwise
	// the keys get their former values, which is refused if another program has written to them.
	Withdraw bool
	// Named is the name of the key as the user typed it, and Reason the user's reason, for servers
	// that are marked as production.
	Named, Reason string
}

// TakenBack is the result of a TakeBack.
type TakenBack struct {
	Restored, Removed, Expired []string // keys with their former values, keys that were deleted, and keys that have expired meanwhile
	Lowered                    *Raise   // the stored limit that was lowered again, with the requests since kept; nil if there is none
	Units                      int64    // units that a withdrawal subtracted
}
