package watch

import "time"

// budget keeps watching inside its share of the server's time. It is filled as time goes by
// and pays for every command at its price; what is on screen is read even when it is
// empty, and the rest waits.
type budget struct {
	share   float64 // of the server's time
	left    time.Duration
	filled  time.Time
	allRead bool // every key was read once: no more than maxSaved may be saved
}

const (
	// start is what a budget holds at first, so that ten thousand keys are read once soon.
	start = 200 * time.Millisecond
	// maxSaved is how much share may be saved up, as time.
	maxSaved = time.Second
	// roundShare is the share of the time since the round before that a round may take of the
	// server, however much is saved.
	roundShare = 0.05
)

func newBudget(share float64) budget {
	if share <= 0 {
		share = DefaultBudget
	}
	return budget{share: share, left: start}
}

// fill adds what has been earned up to now. While the process or the machine slept nothing was:
// of more time than two refreshes only so much counts. share is what may be taken just now,
// which is more than that of the budget while no other client uses the server.
func (b *budget) fill(now time.Time, refresh time.Duration, share float64) {
	if !b.filled.IsZero() {
		earned := time.Duration(float64(min(now.Sub(b.filled), 2*refresh)) * max(share, b.share))
		most := time.Duration(float64(maxSaved) * b.share)
		if !b.allRead {
			most = max(most, b.left)
		}
		b.left = min(b.left+earned, most)
	}
	b.filled = now
}

// pay takes what was spent.
func (b *budget) pay(spent time.Duration) {
	b.left = max(b.left-spent, -time.Duration(float64(maxSaved)*b.share))
}
