package observe

import "time"

// purse keeps watching inside its share of the server's time. It is filled as time goes by
// and pays for every command at its price; what is on screen is read even when it is
// empty, and the rest waits.
type purse struct {
	share  float64 // of the server's time
	left   time.Duration
	filled time.Time
	full   bool // every key was read once: no more than mostSaved may be saved
}

const (
	// start is what a purse holds at first, so that ten thousand keys are read once soon.
	start = 200 * time.Millisecond
	// mostSaved is how much share may be saved up, as time.
	mostSaved = time.Second
	// roundMost is the share of the time since the round before that a round may take of the
	// server, however full the purse is.
	roundMost = 0.05
)

func newPurse(share float64) purse {
	if share <= 0 {
		share = DefaultBudget
	}
	return purse{share: share, left: start}
}

// fill adds what has been earned up to now. While the process or the machine slept nothing was:
// of more time than two refreshes only so much counts.
func (p *purse) fill(now time.Time, refresh time.Duration) {
	if !p.filled.IsZero() {
		earned := time.Duration(float64(min(now.Sub(p.filled), 2*refresh)) * p.share)
		most := time.Duration(float64(mostSaved) * p.share)
		if !p.full {
			most = max(most, p.left)
		}
		p.left = min(p.left+earned, most)
	}
	p.filled = now
}

// pay takes what was spent.
func (p *purse) pay(spent time.Duration) {
	p.left = max(p.left-spent, -time.Duration(float64(mostSaved)*p.share))
}
