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
	Action                     string // the id of the action
	Key                        string
	Requests                   int64    // that the action had sent
	Restored, Removed, Expired []string // keys with their former values, keys that were deleted, and keys that have expired meanwhile
	Change                     string   // the change of the key; "" if the action sent requests
	Lowered                    *Raise   // the stored limit that was lowered again, with the requests since kept; nil if there is none
	Withdrawn                  bool     // charges were taken off
	Units                      int64    // of these charges

	// Open has a clause for each request of which it is not known whether it was counted, because the program
	// that fired it was killed. What the others charged was taken off.
	Open []string
}
