package tui_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

func busyStage(b *testing.B, keys int) *tuitest.Stage {
	s := tuitest.NewStage(b, 160, 48, tui.Options{}, tuitest.Crowd(keys)...)
	s.Run(10 * time.Second)
	b.ReportAllocs()
	b.ResetTimer()
	return s
}

var keyCounts = []int{10, 1000}

// BenchmarkPaint is a frame in which everything is painted anew.
func BenchmarkPaint(b *testing.B) {
	for _, keys := range keyCounts {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			s := busyStage(b, keys)
			for b.Loop() {
				s.App.Update(tea.WindowSizeMsg{Width: 160, Height: 48}) // makes it stale
				s.App.View()
			}
		})
	}
}

// BenchmarkScreens is the same for every screen, with a thousand keys.
func BenchmarkScreens(b *testing.B) {
	for _, p := range pictures {
		b.Run(p.name, func(b *testing.B) {
			s := busyStage(b, 1000)
			s.Press(p.key)
			for b.Loop() {
				s.App.Update(tea.WindowSizeMsg{Width: 160, Height: 48}) // makes it stale
				s.App.View()
			}
		})
	}
}

// BenchmarkHeat is a frame of the heat map with new readings before every one.
func BenchmarkHeat(b *testing.B) {
	for _, keys := range []int{50, 1000, 10_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			s := busyStage(b, keys)
			s.Press("6")
			s.App.View()
			for b.Loop() {
				b.StopTimer()
				s.Now = s.Now.Add(tuitest.Refresh)
				batch := s.Feed.Advance(s.Now)
				s.App.Update(session.BatchMsg(batch))
				s.App.Update(shell.TickAt(s.Now))
				b.StartTimer()
				s.App.Update(tea.WindowSizeMsg{Width: 160, Height: 48}) // makes it stale
				s.App.View()
			}
		})
	}
}

// BenchmarkUnchanged is a frame in which nothing is: Bubble Tea asks after every message.
func BenchmarkUnchanged(b *testing.B) {
	s := busyStage(b, 10)
	for b.Loop() {
		s.App.View()
	}
}

// BenchmarkTick is the clock moving on, without the frame.
func BenchmarkTick(b *testing.B) {
	for _, keys := range keyCounts {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			s := busyStage(b, keys)
			for b.Loop() {
				s.Now = s.Now.Add(100 * time.Microsecond)
				s.App.Update(shell.TickAt(s.Now))
			}
		})
	}
}

// BenchmarkApply is a batch of 200 ms of the usual traffic, without the frame.
func BenchmarkApply(b *testing.B) {
	for _, keys := range keyCounts {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			s := busyStage(b, keys)
			for b.Loop() {
				b.StopTimer()
				s.Now = s.Now.Add(tuitest.Refresh)
				batch := s.Feed.Advance(s.Now)
				b.StartTimer()
				s.App.Update(session.BatchMsg(batch))
			}
		})
	}
}

// BenchmarkFlood is a second of 2,000 requests on ten keys: five batches and ten frames.
func BenchmarkFlood(b *testing.B) {
	s := tuitest.NewStage(b, 160, 48, tui.Options{}, flooded()...)
	s.Run(12 * time.Second)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		for range 5 {
			b.StopTimer()
			s.Now = s.Now.Add(tuitest.Refresh)
			batch := s.Feed.Advance(s.Now)
			b.StartTimer()
			s.App.Update(session.BatchMsg(batch))
			s.App.View()
			s.App.Update(shell.TickAt(s.Now.Add(100 * time.Millisecond)))
			s.App.View()
		}
	}
}

// BenchmarkFired is a second of 20,000 requests fired from here at one of ten keys, twenty times what one order
// may send: as many messages as firing.Gather lets through, each with its frame, and five batches. An iteration
// has to take less than a second for the screen to keep its frames.
func BenchmarkFired(b *testing.B) {
	s := tuitest.NewStage(b, 160, 48, tui.Options{}, flooded()...)
	s.Run(12 * time.Second)
	key := flooded()[0].Name
	const messages = int(time.Second / firing.Gather)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		for n := range messages {
			if n%(messages/5) == 0 {
				b.StopTimer()
				s.Now = s.Now.Add(tuitest.Refresh)
				batch := s.Feed.Advance(s.Now)
				b.StartTimer()
				s.App.Update(session.BatchMsg(batch))
			}
			fired := make([]model.Fired, 20_000/messages)
			for i := range fired {
				fired[i] = model.Fired{Key: key, Cost: 1, At: limiter.InstantOf(s.Now), Outcome: model.Outcome(i % 2),
					Latency: time.Duration(i) * time.Microsecond}
			}
			s.App.Update(firing.FiredMsg(fired...))
			s.App.View()
		}
	}
}

// counter counts what is written.
type counter struct{ n atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

// BenchmarkOutput is what goes to the terminal through Bubble Tea's renderer at ten
// frames a second, in real time. An iteration is a second.
func BenchmarkOutput(b *testing.B) {
	for _, tc := range []struct {
		name   string
		people []tuitest.Personality
	}{{"calm", tuitest.Calm()}, {"busy", tuitest.Crowd(10)}, {"flood", flooded()}} {
		b.Run(tc.name, func(b *testing.B) {
			ctx, stop := context.WithCancel(context.Background())
			feed := tuitest.NewFeed(time.Now(), tc.people...)
			out := &counter{}
			done := make(chan error, 1)
			go func() {
				done <- tui.Run(ctx, []tui.Options{{Session: session.Options{Source: session.Source{Take: feed.Take}}}},
					tea.WithInput(blind{ctx}), tea.WithOutput(out), tea.WithWindowSize(160, 48),
					tea.WithoutSignalHandler(), tea.WithColorProfile(colorprofile.TrueColor),
					tea.WithEnvironment([]string{"TERM=xterm-256color"}))
			}()
			wait(b, func() bool { return out.n.Load() > 5000 }) // the first frame
			before := out.n.Load()
			seconds := 0
			for b.Loop() {
				<-time.After(time.Second)
				seconds++
			}
			b.ReportMetric(float64(out.n.Load()-before)/float64(seconds)/10, "B/frame")
			stop()
			<-done
		})
	}
}

// flooded is ten keys with 200 requests a second each, of which the limits admit most.
func flooded() []tuitest.Personality {
	people := tuitest.Crowd(10)
	for i := range people {
		people[i].Limit = limiter.Limit{Count: 1800, Window: 10 * time.Second}
		people[i].Rate = func(float64, *rand.Rand) int { return 40 }
	}
	return people
}

func wait(tb testing.TB, until func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(5 * time.Second); !until(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatal("after five seconds there is no frame")
		}
	}
}

// blind is an input without keys.
type blind struct{ ctx context.Context }

func (b blind) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, io.EOF }
