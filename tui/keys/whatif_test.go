package keys_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// TestWhatIf types other terms: their outcome stands beside the real one, and nothing fires.
func TestWhatIf(t *testing.T) {
	injector := &ledger{}
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, tuitest.Overrun()...)
	s.Run(20 * time.Second)
	s.Press("home", "w")
	s.See("what if", "admitted ", "begin empty", "nothing is written")
	s.Press("ctrl+u")
	for _, r := range "sliding-log 9999/1m" {
		s.Press(strings.ReplaceAll(string(r), " ", "space"))
	}
	s.Run(time.Second)
	s.Press("x")
	s.See("not understood: as in gcra 100/1m", "what counts now")
	if strings.Contains(s.Text(), "begin empty") {
		t.Error("an answer stays on screen beside a question that is not understood")
	}
	s.Press("enter")
	s.See("sliding-log 9999/1mx", "not understood")
	s.Press("backspace", "enter")
	s.See("sliding-log 9999/1m", ": admits more")
	if strings.Contains(s.Text(), "not understood") {
		t.Error("what is understood again is complained about")
	}
	s.Press("w", "x", "2")
	s.See("sliding-log 19998/1m", "begin empty")
	s.Press("x", "esc")
	s.See("what counts now")
	if len(injector.orders) > 0 {
		t.Error("it fired")
	}
}

// TestWhatIfWithoutALimit: where the limit of a key is not known, the prompt asks for one; where its requests are not known
// without it either, that is said with what to do, and no rate is shown.
func TestWhatIfWithoutALimit(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Overrun()...)
	algorithm := limiter.SlidingLog
	s.Edit = func(b *model.Batch) {
		for i := range b.Readings {
			r := &b.Readings[i]
			if r.Target.Limit, r.Target.LimitKnown = (limiter.Limit{}), false; algorithm == limiter.GCRA {
				r.Target.Window, r.Target.Algorithm, r.State = 0, algorithm, limiter.State{Algorithm: algorithm, TAT: r.At}
				r.Denied = model.Count{}
			}
		}
	}
	s.Run(20 * time.Second)
	s.Press("home", "w")
	s.See("what if sliding-window ", "its limit is not known: type one, as in sliding-window 100/1m")
	s.Press("5", "/", "1", "m")
	s.See("what if · sliding-window 5/1m", "begin empty")
	s.Press("esc", "esc")

	algorithm = limiter.GCRA
	s.Run(5 * time.Second)
	s.Press("home", "w")
	s.See("The requests of a gcra key are not known without its limit: give it with --limit 100/1m or in a rule.")
	if strings.Contains(s.Text(), "begin empty") {
		t.Errorf("there is an answer about requests that are not known:\n%s", s.Text())
	}
	for line := range strings.Lines(s.Text()) {
		if strings.Contains(line, " gcra  ") && strings.Contains(line, "/s") {
			t.Errorf("a rate is told that is not known: %s", line)
		}
	}
	s.Press("6", "w")
	s.See("The requests of a gcra key are not known")
}
