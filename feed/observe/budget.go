package observe

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// purse keeps watching inside its share of the server's time. It is filled as time goes by
// and pays for every command at its price; what is on screen is read even when it is
// empty, and the rest waits.
type purse struct {
	share  float64 // of the server's time
	left   time.Duration
	filled time.Time
	full   bool // every key was read once: no more than mostSaved may be saved

	prices map[string]time.Duration // by command, as the server measures them
}

const (
	// overhead is what a command takes beside its execution, which commandstats leaves out:
	// parsing and answering, in a pipeline.
	overhead = 700 * time.Nanosecond
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

// fill adds what has been earned up to now.
func (p *purse) fill(now time.Time) {
	if !p.filled.IsZero() {
		earned := time.Duration(float64(now.Sub(p.filled)) * p.share)
		most := time.Duration(float64(mostSaved) * p.share)
		if !p.full {
			most = max(most, p.left)
		}
		p.left = min(p.left+earned, most)
	}
	p.filled = now
}

// price returns what a command costs.
func (p *purse) price(name string) time.Duration {
	if d, ok := p.prices[name]; ok {
		return d + overhead
	}
	return connect.CommandPrice + overhead
}

// pay takes the price of the commands of a pipeline and returns it. Ranges cost more the
// more they return, which the prices of the server hold on average.
func (p *purse) pay(cmds []redis.Cmder) time.Duration {
	var sum time.Duration
	for _, c := range cmds {
		sum += p.price(c.Name())
	}
	p.left = max(p.left-sum, -time.Duration(float64(mostSaved)*p.share))
	return sum
}
