package relay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

var dawn = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

const refresh = 200 * time.Millisecond

// told is what an exporter of the server "s" tells at an instant, with readings of keys.
func told(at time.Time, keys ...string) model.Batch {
	b := model.Batch{
		At: limiter.InstantOf(at), Local: at, Server: model.Server{Target: "redis://s", Link: model.Live, RunID: "1", Role: "master"},
		Sweep: model.Sweep{Passes: 1, Total: 100, Keys: 100, Scanned: 100, Matched: len(keys)},
		Cost:  model.Cost{Commands: 10, Server: 2 * time.Millisecond, Over: refresh},
	}
	for _, k := range keys {
		b.Readings = append(b.Readings, model.Reading{Key: k, At: b.At, Arrivals: []model.Arrival{{At: b.At, N: 1}}})
	}
	return b
}

// two is a fleet of two exporters that have told of keys.
func two(t *testing.T, of [2][]string) *fleet {
	t.Helper()
	f := newFleet([]string{"http://a", "http://b"}, dawn)
	for i, keys := range of {
		if _, err := f.take(dawn, i, told(dawn, keys...), true); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func keysOf(b model.Batch) (names []string) {
	for _, r := range b.Readings {
		names = append(names, r.Key)
	}
	return names
}

// TestTwoExportersAreOneServer: limiters add up, what it costs is the sum, and the server is told
// of once.
func TestTwoExportersAreOneServer(t *testing.T) {
	f := two(t, [2][]string{{"k1", "k2"}, {"k3"}})
	at := dawn.Add(refresh)
	late := told(at, "k3")
	late.Sweep.Passes, late.Sweep.Scanned = 0, 40
	late.Health = &model.Health{At: late.At}
	b, err := f.take(at, 1, late, false)
	switch {
	case err != nil:
		t.Fatal(err)
	case b.Server.Target != "redis://s by 2 exporters" || b.Server.Link != model.Live || b.Server.Role != "master" || b.Local != at || b.At != limiter.InstantOf(at):
		t.Errorf("the server is %+v at %v", b.Server, b.At)
	case b.Sweep.Matched != 3 || b.Sweep.Passes != 0 || b.Sweep.Scanned != 40:
		t.Errorf("the search of all is as far as %+v", b.Sweep)
	case b.Cost.Over != refresh/2 || b.Cost.Server != 2*time.Millisecond:
		t.Errorf("of two exporters each of 1 %% one tells %+v, for 2 %%", b.Cost)
	case b.Health != nil:
		t.Error("the second exporter tells of the server's health, too")
	case !slices.Equal(keysOf(b), []string{"k3"}) || len(b.Readings[0].Arrivals) != 1:
		t.Errorf("read are %v", b.Readings)
	}
	first := told(at, "k1")
	first.Health = &model.Health{At: first.At}
	if b, _ := f.take(at, 0, first, false); b.Health == nil {
		t.Error("the first exporter's word of the server's health is lost")
	}
}

// TestKeysBelongToOneExporter: a key that another exporter has taken over is not gone when the
// one before lets it go, and one that went while there was no stream is.
func TestKeysBelongToOneExporter(t *testing.T) {
	f := two(t, [2][]string{{"k1", "moves"}, {"k3"}})
	if _, err := f.take(dawn, 1, told(dawn, "moves"), false); err != nil {
		t.Fatal(err)
	}
	b := told(dawn.Add(refresh))
	b.Gone = []string{"moves", "k1", "never seen"}
	if b, _ := f.take(dawn.Add(refresh), 0, b, false); !slices.Equal(b.Gone, []string{"k1"}) {
		t.Errorf("gone are %v", b.Gone)
	}
	f.lost(1, errors.New("has ended the stream"))
	if b, _ := f.take(dawn.Add(time.Second), 1, told(dawn.Add(time.Second), "k4", "moves"), true); !slices.Equal(b.Gone, []string{"k3"}) {
		t.Errorf("after another stream began %v are gone", b.Gone)
	}
}

// TestAnExporterThatIsAwayIsNamed: its keys stay, the search is incomplete, and the rest goes on;
// without any the server is away for as long as nothing came.
func TestAnExporterThatIsAwayIsNamed(t *testing.T) {
	f := two(t, [2][]string{{"k1", "k2"}, {"k3"}})
	if !f.lost(0, errors.New("cannot be reached: connection refused")) || f.lost(0, errors.New("cannot be reached: connection refused")) {
		t.Error("the same failure is news twice, or never")
	}
	at := dawn.Add(time.Second)
	b, err := f.take(at, 1, told(at, "k3"), false)
	if err != nil {
		t.Fatal(err)
	}
	if b.Server.Link != model.Live || len(b.Server.Away) != 1 || b.Server.Away[0].Addr != "http://a" || b.Server.Away[0].Keys != 2 ||
		!strings.Contains(b.Server.Away[0].Err, "http://a cannot be reached: connection refused") || len(b.Server.Lacks) != 1 || b.Sweep.Complete() {
		t.Errorf("with one of two exporters away: %+v, %+v", b.Server, b.Sweep)
	}
	f.lost(1, errSilent)
	if b = f.report(dawn.Add(5 * time.Second)); b.Server.Link != model.Down || b.Server.Down != 4*time.Second || b.Server.Err == "" || b.At != limiter.InstantOf(at) {
		t.Errorf("with both away: %+v at %v", b.Server, b.At)
	}
	if b = newFleet([]string{"http://a"}, dawn).report(dawn.Add(time.Second)); b.Server.Link != model.Connecting || b.Server.Target != "http://a" || b.Server.Down != time.Second {
		t.Errorf("before the first answer: %+v", b.Server)
	}
}

// TestTheServersOwnStateIsPassedOn: an exporter that answers and whose server is away.
func TestTheServersOwnStateIsPassedOn(t *testing.T) {
	f := newFleet([]string{"http://a"}, dawn)
	down := told(dawn)
	down.Server.Link, down.Server.Err, down.Server.Down = model.Down, "redis://s does not answer", time.Minute
	b, err := f.take(dawn, 0, down, true)
	if err != nil || b.Server.Link != model.Down || b.Server.Err != "redis://s does not answer" || b.Server.Down != time.Minute {
		t.Errorf("%+v, %v", b.Server, err)
	}
}

// TestTheClockGoesBack: after the server's clock was set back, time goes on from there, and how far it is ahead is measured
// anew; an exporter that is a second behind another does not set it back.
func TestTheClockGoesBack(t *testing.T) {
	f := two(t, [2][]string{{"k1"}, {"k2"}})
	for _, x := range []struct {
		member            int
		tells, want, tick time.Duration // after dawn; tick is what this machine says
		ahead             time.Duration
	}{
		{0, time.Hour, time.Hour, 0, time.Hour}, {1, time.Hour - time.Second, time.Hour, 0, time.Hour},
		{0, refresh, time.Hour, refresh, 0}, {1, refresh, refresh, refresh, 0}, {0, 2 * refresh, 2 * refresh, 2 * refresh, 0},
	} {
		b, err := f.take(dawn.Add(x.tick), x.member, told(dawn.Add(x.tells)), false)
		if err != nil || b.At != limiter.InstantOf(dawn.Add(x.want)) {
			t.Errorf("exporter %d tells of %v: it is %v, not %v: %v", x.member, x.tells, b.At.Time().Sub(dawn), x.want, err)
		}
		if b.Server.Offset != x.ahead {
			t.Errorf("exporter %d tells of %v: the server's clock is %v ahead, not %v", x.member, x.tells, b.Server.Offset, x.ahead)
		}
	}
}

// TestOtherServersAreRefused: two exporters are of one server, by its address or by its run id.
func TestOtherServersAreRefused(t *testing.T) {
	f := two(t, [2][]string{{"k1"}, {"k2"}})
	renamed, other := told(dawn, "k2"), told(dawn, "k9")
	renamed.Server.Target = "redis://by-another-name"
	if _, err := f.take(dawn, 1, renamed, false); err != nil {
		t.Errorf("the same server by another name: %v", err)
	}
	other.Server.Target, other.Server.RunID = "redis://elsewhere", "2"
	if b, err := f.take(dawn, 1, other, false); !errors.Is(err, errOtherServer) || len(b.Readings) > 0 {
		t.Errorf("the keys of another server are mixed in: %v", err)
	}
}

// TestSilence: an exporter that says nothing is away after some of its own refreshes, and one
// whose refresh is long is not.
func TestSilence(t *testing.T) {
	for _, every := range []time.Duration{refresh, 20 * time.Second} {
		f := newFleet([]string{"http://a"}, dawn)
		now := dawn
		for i := range 6 {
			if _, err := f.take(now, 0, told(now), i == 0); err != nil {
				t.Fatal(err)
			}
			if list := f.silence(now.Add(every)); list != nil {
				t.Errorf("every %v: it is silent after one refresh", every)
			}
			now = now.Add(every)
		}
		now = now.Add(-every)
		if f.silence(now.Add(silentAfter+2*every)) != nil || len(f.silence(now.Add(silentAfter+2*every+1))) != 1 {
			t.Errorf("every %v: it is not silent after two refreshes and %v", every, silentAfter)
		}
		if f.silence(now.Add(time.Hour)) != nil {
			t.Error("what is known to be silent is told again")
		}
	}
}

// TestBounds: an exporter that tells of ever more keys, or of names without end, fills nothing.
func TestBounds(t *testing.T) {
	f := newFleet([]string{"http://a"}, dawn)
	for round := range 3 {
		var keys []string
		for i := range maxKeys {
			keys = append(keys, fmt.Sprint("k", round, "-", i))
		}
		b, err := f.take(dawn, 0, told(dawn, append(keys, strings.Repeat("x", maxName+1))...), false)
		if err != nil || len(f.owner) != maxKeys || round > 0 && len(b.Readings) > 0 {
			t.Fatalf("round %d: %d keys are known, %d read, %v", round, len(f.owner), len(b.Readings), err)
		}
		if b.Sweep.Dropped == 0 {
			t.Error("what is left out is not counted")
		}
	}
}
