package watch

import "time"

// budget keeps the reader within its share of the server's time. It earns server time as time
// passes, and every command is paid for from it. When it is empty, keys on screen are still
// read, and all others wait.
type budget struct {
	share   float64 // share of the server's time
	left    time.Duration
	filled  time.Time // the latest call of fill
	allRead bool      // every key was read once, so that savings are limited by maxSaved
}

const (
	// start is the server time that a budget holds at first, so that ten thousand keys are
	// read once soon.
	start = 200 * time.Millisecond
	// maxSaved bounds savings and debts: the server time that the share earns in maxSaved.
	maxSaved = time.Second
	// roundShare bounds a round whatever is saved: its server time as a share of the time since
	// the previous round.
	roundShare = 0.05
)

func newBudget(share float64) budget {
	if share <= 0 {
		share = DefaultBudget
	}
	return budget{share: share, left: start}
}

// fill adds the server time earned since the previous call. At most two refreshes count, since
// nothing is earned while the process or the machine sleeps. share is the share that may be
// taken at present, which is above the budget's own while no other client uses the server.
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

// pay takes the spent server time. The budget may go into debt.
func (b *budget) pay(spent time.Duration) {
	b.left = max(b.left-spent, -time.Duration(float64(maxSaved)*b.share))
}
