package feed

import (
	"ratescope/model"
	"ratescope/model/handoff"
)

// Mailbox holds at most one Batch between a source and a screen. When the screen is
// behind, what it has not seen is merged, so that nothing is lost and nothing piles up.
// It is safe for concurrent use.
type Mailbox = handoff.Latest[model.Batch]

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox { return handoff.New((*model.Batch).Merge) }
