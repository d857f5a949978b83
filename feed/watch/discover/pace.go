package discover

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/watch/health"
	"ratescope/model"
	"ratescope/model/collect"
)

// pace says how fast a node may be searched: what share of its time may be taken, and how many keys one call may return. In the first
// pass samples of the node's load, which come with its pages, may raise the share. It is used by one goroutine.
type pace struct {
	governor *health.Governor
	budget   float64 // as in Options, like most and trip
	most     float64
	trip     func() time.Duration
	own      func() health.Sample                // the server time and the commands of this process alone
	show     func(share float64, why model.Pace) // is told what the governor says
	first    bool                                // the present pass is the first
	sampled  time.Time                           // the governor's latest sample
	unknown  bool                                // the server does not report its load
}

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

// ask adds what a sample of the load takes to a pipeline; nil where none is due.
func (p *pace) ask(ctx context.Context, pipe redis.Pipeliner) *load {
	every := collect.If(p.governor.Pace == model.PaceBusy, loadEveryBusy, loadEvery)
	now := time.Now()
	if !p.samples() || now.Sub(p.sampled) < every {
		return nil
	}
	p.sampled = now
	return &load{sample: p.own(), begun: now, stats: pipe.Info(ctx, "stats"), cpu: pipe.Info(ctx, "cpu")}
}

// samples reports whether the pages of this pass come with samples of the load, which may raise its share.
func (p *pace) samples() bool { return p.first && !p.unknown && !p.governor.Fixed() }

// take gives the governor a sample, and returns the server time that the sample took. A server that does not report its load is
// searched within the fixed budget.
func (p *pace) take(l *load) time.Duration {
	if l == nil || connect.Away(l.stats.Err()) || connect.Away(l.cpu.Err()) {
		return 0
	}
	l.sample.At = time.Now()
	l.sample.Trip = l.sample.At.Sub(l.begun)
	fields := connect.ParseInfo(l.stats.Val())
	commands, err := strconv.ParseInt(fields["total_commands_processed"], 10, 64)
	used, known := health.Used(l.cpu.Val())
	if p.unknown = err != nil || !known; p.unknown {
		p.forget()
		return 0
	}
	l.sample.Commands, l.sample.CPU = commands, used
	l.sample.OwnCommands = p.own().OwnCommands // those sent since the question, which may have been executed before it
	p.governor.Take(l.sample)
	p.show(p.governor.Share, p.governor.Pace)
	return 2 * infoPrice
}

// forget forgets the load of a node, before another node is searched.
func (p *pace) forget() {
	p.governor.Reset()
	p.sampled = time.Time{}
	p.show(p.governor.Share, p.governor.Pace)
}

// share returns the share of the server's time that this pass may take.
func (p *pace) share() float64 {
	if !p.first {
		return laterShare * p.budget
	}
	return firstShare * p.governor.Share
}

// pageSize returns the COUNT of the next SCAN. While other clients use the server it is awake anyway, so that many short calls cost no
// more than a few long ones; until it is known that none does, short ones bring the samples that tell. Where the server is far away
// there are fewer and longer ones, which it carries out in at most three milliseconds, and in one where others may use it.
func (p *pace) pageSize() int {
	far := int(p.trip() / farTrip)
	if p.samples() && p.governor.Share < p.most {
		return min(busyCount*max(far, 1), scanCount)
	}
	return scanCount * min(max(far, 1), farPages)
}
