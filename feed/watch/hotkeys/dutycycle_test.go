package hotkeys

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestRhythm: whatever is written, listening stays inside its share, and it uses most of it
// where there is enough to hear.
func TestRhythm(t *testing.T) {
	for _, rate := range []float64{0, 3, 100, 2_000, 10_000, 100_000, 1_000_000} { // writes a second
		for _, share := range []float64{0.0005, 0.0025, 0.05} {
			p := dutyCycle{share: share}
			var cost, time_, heard time.Duration
			written, reported := 0.0, 0
			r := rand.New(rand.NewPCG(1, 2))
			for range 400 {
				d := p.length() + time.Duration(r.IntN(int(200*time.Microsecond))) // timers are late
				written += rate * d.Seconds()
				c, silence := p.record(d, int(written)-reported)
				reported = int(written)
				if silence < 0 {
					t.Fatalf("%v writes/s, share %v: silent for %v", rate, share, silence)
				}
				cost, heard, time_ = cost+c, heard+d, time_+d+silence
			}
			took := float64(cost) / float64(time_)
			if took > share*1.02 {
				t.Errorf("%v writes/s: %.4f %% of the server, want at most %.4f %%", rate, 100*took, 100*share)
			}
			duty := float64(heard) / float64(time_)
			if full := rate * eventPrice.Seconds(); rate > 0 && duty < 0.85 && took < share*0.6 {
				t.Errorf("%v writes/s: listened %.2f %% of the time for %.4f %% of the server, though %.4f %% were allowed (all the time: %.2f %%)", rate, 100*duty, 100*took, 100*share, 100*full)
			}
		}
	}
}

// TestRhythmOfSilence: where nothing is written, listening becomes rare, and the first event
// brings the usual pace back.
func TestRhythmOfSilence(t *testing.T) {
	p := dutyCycle{share: 0.0025}
	var all time.Duration
	moments := 0
	for ; all < time.Minute; moments++ {
		d := p.length()
		_, silence := p.record(d, 0)
		all += d + silence
	}
	if moments < 20 || moments > 30 {
		t.Errorf("%d moments in a silent minute", moments)
	}
	d := p.length()
	if _, silence := p.record(d, 1); d+silence > period {
		t.Errorf("after an event the next moment begins %v after it", d+silence)
	}
	for range emptySamples {
		d := p.length()
		if _, silence := p.record(d, 0); d+silence > period {
			t.Errorf("a short silence makes a pause of %v", d+silence)
		}
	}
}
