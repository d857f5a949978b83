package discover

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/watch/health"
	"ratescope/model"
)

// How often the first pass samples the server's load. While other clients use the server the
// share is at its lowest, and less frequent samples are enough.
const (
	loadEvery     = 100 * time.Millisecond
	loadEveryBusy = 250 * time.Millisecond
	infoPrice     = 20 * time.Microsecond // server time of one section of INFO, measured on Redis 7.0
)

// load is a sample of a node's load under way: the answers of INFO, which come with a page of SCAN.
type load struct {
	sample     health.Sample
	begun      time.Time
	stats, cpu *redis.StringCmd
}

// askLoad adds what a sample of a node's load takes to a pipeline; nil where none is due.
func (s *Scanner) askLoad(ctx context.Context, pipe redis.Pipeliner) *load {
	every := loadEvery
	if s.governor.Pace() == model.PaceBusy {
		every = loadEveryBusy
	}
	now := time.Now()
	if s.loadUnknown || s.governor.Fixed() || s.Progress().Passes > 0 || now.Sub(s.sampled) < every {
		return nil
	}
	s.sampled = now
	return &load{sample: s.own(), begun: now, stats: pipe.Info(ctx, "stats"), cpu: pipe.Info(ctx, "cpu")}
}

// takeLoad gives the governor a sample. A server that does not report its load is searched within the fixed budget.
func (s *Scanner) takeLoad(l *load) {
	if l == nil || connect.Away(l.stats.Err()) || connect.Away(l.cpu.Err()) {
		return
	}
	l.sample.At = time.Now()
	l.sample.Trip = l.sample.At.Sub(l.begun)
	fields := connect.ParseInfo(l.stats.Val())
	commands, err := strconv.ParseInt(fields["total_commands_processed"], 10, 64)
	used, known := health.Used(l.cpu.Val())
	if s.loadUnknown = err != nil || !known; s.loadUnknown {
		s.forgetLoad()
		return
	}
	l.sample.Commands, l.sample.CPU = commands, used
	s.governor.Take(l.sample)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += 2 * infoPrice
	s.sweep.Share, s.sweep.Pace = s.governor.Share(), s.governor.Pace()
}

// own returns a sample with the server time and the commands of this process alone.
func (s *Scanner) own() (sample health.Sample) {
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
// anyway, so that many short calls cost no more than a few long ones. Where the server is far away there are fewer and
// longer ones, which it carries out in at most three milliseconds, and in one where others use it.
func (s *Scanner) pageSize() int {
	count, far := scanCount, time.Duration(0)
	if s.o.Trip != nil {
		far = s.o.Trip() / farTrip
	}
	if s.governor.Pace() == model.PaceBusy {
		return min(busyCount*int(max(far, 1)), scanCount)
	}
	return count * int(min(max(far, 1), farPages))
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
