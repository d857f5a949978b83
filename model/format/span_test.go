package format

import (
	"testing"
	"time"

	"ratescope/limiter"
)

func TestOneRoundingInTwoNotations(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		0:                            {"0s", "0 s"},
		time.Microsecond:             {"1ms", "1 ms"},
		999 * time.Millisecond:       {"999ms", "999 ms"},
		999*time.Millisecond + 1:     {"1.0s", "1.0 s"},
		7410 * time.Millisecond:      {"7.5s", "7.5 s"},
		10 * time.Second:             {"10s", "10 s"},
		41*time.Second + 1:           {"42s", "42 s"},
		104 * time.Second:            {"1m44s", "1 m 44 s"},
		125 * time.Minute:            {"2h05m", "2 h 05 m"},
		12 * 24 * time.Hour:          {"12d", "12 d"},
		limiter.Never:                {"never", "never"},
		-time.Second:                 {"0s", "0 s"},
		48*time.Hour - time.Second/2: {"48h00m", "48 h 00 m"},
	} {
		if compact, spaced := Span(d), Spaced(d); compact != want[0] || spaced != want[1] {
			t.Errorf("%v is written %q and %q, want %q", d, compact, spaced, want)
		}
	}
}

func TestWaitsAreNotInThousandths(t *testing.T) {
	got := [...]string{Wait(0), Wait(time.Microsecond), Wait(999 * time.Millisecond), Wait(time.Second), Wait(limiter.Never)}
	if want := [...]string{"0s", "<1s", "<1s", "1.0s", "never"}; got != want {
		t.Errorf("waits are written %q, want %q", got, want)
	}
}

func TestElapsedAndWindows(t *testing.T) {
	if got := [...]string{Elapsed(0), Elapsed(600 * time.Second), Elapsed(90*time.Second + 400*time.Millisecond)}; got != [...]string{"0s", "10m", "1m30s"} {
		t.Errorf("elapsed times are %q", got)
	}
	if got := [...]string{Each(time.Minute), Each(90 * time.Second), Each(250 * time.Millisecond)}; got != [...]string{"1 m", "90 s", "250 ms"} {
		t.Errorf("windows are %q", got)
	}
}
