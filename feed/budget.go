package feed

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// purse keeps watching inside its share of the server's time. It is filled as time goes by
// and pays for every command at its price; what is on screen is read even when it is
// empty, and the rest waits.
type purse struct {
	share  float64 // of the server's time
	left   time.Duration
	filled time.Time

	prices map[string]time.Duration // by command, as the server measures them
	priced time.Time
}

const (
	// commandPrice is paid for a command whose price the server does not tell: measured for
	// short reading commands, Redis 7.0 on one core.
	commandPrice = 1500 * time.Nanosecond
	// overhead is what a command takes beside its execution, which commandstats leaves out:
	// parsing and answering, in a pipeline.
	overhead = 700 * time.Nanosecond
	// start is what a purse holds at first, so that ten thousand keys are read once soon.
	start = 200 * time.Millisecond
	// pricesLast is how long prices hold.
	pricesLast = 10 * time.Second
	// mostSaved is how much share may be saved up, as time.
	mostSaved = time.Second
	// roundMost is the share of a refresh that one round may take of the server, however
	// full the purse is.
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
		most := max(p.left, time.Duration(float64(mostSaved)*p.share))
		p.left = min(p.left+earned, most)
	}
	p.filled = now
}

// price returns what a command costs.
func (p *purse) price(name string) time.Duration {
	if d, ok := p.prices[name]; ok {
		return d + overhead
	}
	return commandPrice + overhead
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

// learn fetches the prices from the server when they are old: usec_per_call of
// commandstats, which counts the calls of all clients. It returns the error of a server
// that does not allow it.
func (p *purse) learn(ctx context.Context, c redis.Cmdable, now time.Time) error {
	if now.Sub(p.priced) < pricesLast {
		return nil
	}
	p.priced = now
	text, err := c.Info(ctx, "commandstats").Result()
	if err != nil {
		return err
	}
	prices := make(map[string]time.Duration)
	for name, value := range parseInfo(text) {
		// cmdstat_zcount:calls=12,usec=30,usec_per_call=2.50,...
		name, ok := strings.CutPrefix(name, "cmdstat_")
		if _, known := reading[name]; !ok || !known {
			continue
		}
		for _, part := range strings.Split(value, ",") {
			if us, ok := strings.CutPrefix(part, "usec_per_call="); ok {
				if v, err := strconv.ParseFloat(us, 64); err == nil && v >= 0 && v < 1e6 {
					prices[name] = time.Duration(v * float64(time.Microsecond))
				}
			}
		}
	}
	p.prices = prices
	return nil
}
