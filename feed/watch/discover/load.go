package discover

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/watch/cost"
	"ratescope/model"
)

// How often the first pass samples the server's load. While other clients use the server the
// share is at its lowest, and less frequent samples are enough.
const (
	loadEvery     = 100 * time.Millisecond
	loadEveryBusy = 250 * time.Millisecond
	infoPrice     = 20 * time.Microsecond // server time of one section of INFO, measured on Redis 7.0
)

// sampleLoad gives the governor a sample of a node's load, if one is due. A server that does
// not report its load is searched within the fixed budget. It fails when the node is away.
func (s *Scanner) sampleLoad(ctx context.Context, node redis.Cmdable) error {
	every := loadEvery
	if s.governor.Pace() == model.PaceBusy {
		every = loadEveryBusy
	}
	now := time.Now()
	if s.loadUnknown || s.governor.Fixed() || s.Progress().Passes > 0 || now.Sub(s.sampled) < every {
		return nil
	}
	s.sampled = now
	sample := s.own()
	pipe := node.Pipeline()
	stats, cpu := pipe.Info(ctx, "stats"), pipe.Info(ctx, "cpu")
	_, _ = pipe.Exec(ctx) // each command holds its own error
	for _, c := range []*redis.StringCmd{stats, cpu} {
		if connect.Away(c.Err()) {
			return c.Err()
		}
	}
	sample.At = time.Now()
	sample.Trip = sample.At.Sub(now)
	fields := connect.ParseInfo(stats.Val())
	commands, err := strconv.ParseInt(fields["total_commands_processed"], 10, 64)
	used, known := cost.Used(cpu.Val())
	if s.loadUnknown = err != nil || !known; s.loadUnknown {
		s.forgetLoad()
		return nil
	}
	sample.Commands, sample.CPU = commands, used
	s.governor.Take(sample)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += s.prices.Wake() + 2*infoPrice
	s.sweep.Share, s.sweep.Pace = s.governor.Share(), s.governor.Pace()
	return nil
}

// own returns a sample with the server time and the commands of this process alone.
func (s *Scanner) own() (sample cost.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Own != nil {
		sample.OwnCPU, sample.OwnCommands = s.o.Own()
	}
	sample.OwnCPU += s.spent
	return sample
}

// forgetLoad forgets the load of a node, before another node is searched.
func (s *Scanner) forgetLoad() {
	s.governor.Reset()
	s.sampled = time.Time{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep.Share, s.sweep.Pace = s.governor.Share(), s.governor.Pace()
}

// share returns the share of the server's time that this pass may take.
func (s *Scanner) share() float64 {
	if s.Progress().Passes > 0 {
		return laterShare * s.o.Budget
	}
	return firstShare * s.governor.Share()
}

// pageSize returns the COUNT of the next SCAN. While other clients use the server it is awake
// anyway, so that many short calls cost no more than a few long ones.
func (s *Scanner) pageSize() int {
	if s.governor.Pace() == model.PaceBusy {
		return busyCount
	}
	return scanCount
}

// scanCost returns the price of one SCAN with a COUNT. The server reports the mean of recent
// calls, whose COUNT may have been different, so that the price is scaled by their mean COUNT.
func (s *Scanner) scanCost(count int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	executed := time.Duration(count) * keyPrice
	if told, ok := s.prices.Exec["scan"]; ok {
		executed = time.Duration(float64(told) * float64(count) / s.count)
	}
	s.count += (float64(count) - s.count) / 32
	return s.prices.Wake() + executed
}
