package replay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ratescope/feed/replay"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded records some time of a feed in memory. The server is away in part of it.
func recorded(t testing.TB, length time.Duration) ([]model.Batch, *record.File) {
	t.Helper()
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	f := tuitest.NewFeed(begin)
	var file bytes.Buffer
	w, err := record.NewWriter(&file, true, record.Header{By: "test", At: limiter.InstantOf(begin)})
	if err != nil {
		t.Fatal(err)
	}
	var all []model.Batch
	for passed := time.Duration(0); passed <= length; passed += tuitest.Refresh {
		local := begin.Add(passed)
		switch passed {
		case length / 2:
			f.Break(local, "it is away: wait")
		case length/2 + 4*time.Second:
			f.Mend()
		}
		b := f.Advance(local)
		all = append(all, b)
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	opened, err := record.Open(context.Background(), bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return all, opened
}

func play(t testing.TB, f *record.File, speed float64, linear bool) *replay.Player {
	t.Helper()
	p, err := replay.New(f, speed, linear)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// upTo is the board that was live at a moment of the recording.
func upTo(all []model.Batch, moment limiter.Instant) *model.Board {
	var b model.Board
	onTo(&b, all, moment)
	return &b
}

// onTo has a board see what came after its latest batch, up to a moment.
func onTo(b *model.Board, all []model.Batch, moment limiter.Instant) {
	seen := b.Local
	for _, batch := range all {
		if batch.Local.After(seen) && limiter.InstantOf(batch.Local) <= moment {
			b.Apply(batch)
		}
	}
}

// live are the boards that were live after each batch of a recording. What they show is that of upTo, and how they keep it is not.
type live []*model.Board

func boards(all []model.Batch) (l live) {
	var b model.Board
	for _, batch := range all {
		b.Apply(batch)
		l = append(l, b.Freeze(b.At))
	}
	return l
}

// upTo is the one that was live at a moment of the recording, which is not before its first batch.
func (l live) upTo(moment limiter.Instant) *model.Board {
	return l[sort.Search(len(l), func(i int) bool { return limiter.InstantOf(l[i].Local) > moment })-1]
}

// same fails unless two boards show the same at a moment.
func same(t *testing.T, what string, got, want *model.Board) {
	t.Helper()
	got, want = got.Freeze(want.At), want.Freeze(want.At)
	got.Local, want.Local = time.Time{}, time.Time{}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: the board is of %v with %d keys and %d alerts, want %v, %d and %d, or its keys differ",
			what, got.At, got.Len(), len(got.Alerts()), want.At, want.Len(), len(want.Alerts()))
	}
}

// TestBatchesComeWhenTheyCame, at any speed, and the clock is the recording's.
func TestBatchesComeWhenTheyCame(t *testing.T) {
	t.Parallel()
	for _, speed := range []float64{0.5, 1, 4} {
		synctest.Test(t, func(t *testing.T) {
			all, f := recorded(t, 30*time.Second)
			p := play(t, f, speed, true)
			began := time.Now()
			for i, want := range all {
				got, err := p.Take(t.Context())
				if err != nil || !reflect.DeepEqual(got.Readings, want.Readings) || got.At != want.At || got.Server.Err != want.Server.Err {
					t.Fatalf("batch %d: %+v %v", i, got, err)
				}
				due := time.Duration(float64(i) * float64(tuitest.Refresh) / speed)
				if late := time.Since(began) - due; late < 0 || late > 5*time.Millisecond {
					t.Fatalf("speed %g: batch %d came %v after it was due", speed, i, late)
				}
				if now := p.Now(time.Now()); now.Sub(limiter.InstantOf(want.Local)) > 20*time.Millisecond {
					t.Fatalf("the clock says %v at batch %d of %v", now, i, want.Local)
				}
			}
			if _, err := p.Take(t.Context()); err != io.EOF {
				t.Errorf("after the last one comes %v", err)
			}
		})
	}
}

// TestAScreenSeesWhatWasThere, at speeds at which batches are joined.
func TestAScreenSeesWhatWasThere(t *testing.T) {
	t.Parallel()
	for _, speed := range []float64{1, 20, 1000} {
		synctest.Test(t, func(t *testing.T) {
			all, f := recorded(t, 70*time.Second)
			p := play(t, f, speed, false)
			var b model.Board
			taken := 0
			for !p.Playback(time.Now()).Ended {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				batch, err := p.Take(ctx)
				cancel()
				if errors.Is(err, context.DeadlineExceeded) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				b.Apply(batch)
				taken++
			}
			same(t, "at the end", &b, upTo(all, f.End))
			if most := int(70/speed*10) + 3; taken > most && speed > 1 {
				t.Errorf("%d batches at speed %g", taken, speed)
			}
			if end := p.Playback(time.Now()); end.At != f.End || end.At != end.End {
				t.Errorf("the end is at %v of %v", end.At.Sub(end.Begin), end.End.Sub(end.Begin))
			}
		})
	}
}

// TestGoingAnywhere leads to the board that was live then, back and forth, paused or not.
func TestGoingAnywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, f := recorded(t, 100*time.Second)
		p := play(t, f, 1, false)
		var b model.Board
		take := func() {
			batch, err := p.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.Apply(batch)
		}
		take()
		p.Pause()
		r, pinned := rand.New(rand.NewPCG(4, 4)), false
		for i := range 30 {
			to := f.Begin + limiter.Instant(r.Int64N(int64(f.End-f.Begin)+1))
			switch i {
			case 10:
				to = f.Begin
			case 20, 21:
				to = f.End
			}
			p.Seek(to)
			if now := p.Now(time.Now()); now != to {
				t.Fatalf("the clock is at %v at once, want %v", now, to)
			}
			take()
			if k := b.Key("webhook:github"); k != nil && k.Pinned { // pins are the receiver's
				b.Pin("webhook:github")
			} else if pinned {
				t.Fatal("the pin was lost")
			}
			pinned = false
			same(t, "after a seek", &b, upTo(all, to))
			if r.IntN(4) == 0 { // the one who shows it may change it
				b.Pin("webhook:github")
				pinned = b.Key("webhook:github") != nil
				b.Apply(all[r.IntN(len(all))])
			}
		}
		time.Sleep(time.Hour)
		if s := p.Playback(time.Now()); !s.Paused || s.At != p.Now(time.Now()) {
			t.Errorf("an hour later: %+v", s)
		}
		p.Restart()
		take()
		if s := p.Playback(time.Now()); s.Paused || s.At != f.Begin || s.Ended {
			t.Errorf("after a restart: %+v", s)
		}
		p.Faster(true)
		p.Faster(true)
		p.Faster(false)
		time.Sleep(time.Second)
		if s := p.Playback(time.Now()); s.Speed != 2 || s.At.Sub(s.Begin) != 2*time.Second {
			t.Errorf("after a second at twice the speed: %+v", s)
		}
		p.Seek(f.End + 1e9)
		take()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Take(ctx); !errors.Is(err, context.DeadlineExceeded) || !p.Playback(time.Now()).Ended {
			t.Errorf("beyond the end: %v %+v", err, p.Playback(time.Now()))
		}
	})
}

// TestLeaping shows at once where everything stood, and soon what came before it too.
func TestLeaping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, f := recorded(t, 200*time.Second)
		p := play(t, f, 1, false)
		p.Leap()
		var b model.Board
		take := func() {
			batch, err := p.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.Apply(batch)
		}
		take()
		p.Pause()
		r := rand.New(rand.NewPCG(5, 4))
		leaps := 0
		for range 30 {
			to := f.Begin + limiter.Instant(r.Int64N(int64(f.End-f.Begin)+1))
			p.Seek(to)
			take()
			want := upTo(all, to)
			for name, k := range want.Keys() {
				was := k.Reading
				got := b.Key(name)
				if got == nil {
					t.Fatalf("at %v there is no %s", to, name)
				}
				is := got.Reading
				was.Since, is.Since = 0, 0
				if !reflect.DeepEqual(was, is) {
					t.Fatalf("at %v %s is\n%+v, want\n%+v", to, name, is, was)
				}
			}
			if p.Playback(time.Now()).Past {
				leaps++
			}
			for p.Playback(time.Now()).Past {
				take()
			}
			same(t, "after a leap", &b, want)
			if to+3e6 < f.End {
				p.Pause()
				time.Sleep(2 * time.Second)
				take()
				p.Pause()
				onTo(want, all, p.Playback(time.Now()).At)
				same(t, "going on from there", &b, want)
			}
		}
		if leaps < 10 {
			t.Errorf("%d leaps", leaps)
		}
	})
}

func TestEveryBatchThenItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, f := recorded(t, 10*time.Second)
		n, p := 0, play(t, f, 1, true)
		_, err := p.Take(t.Context())
		for ; err == nil; _, err = p.Take(t.Context()) {
			n++
		}
		if err != io.EOF || n != len(all) {
			t.Errorf("%d batches of %d, %v", n, len(all), err)
		}
	})
	_, f := recorded(t, time.Second)
	for _, speed := range []float64{0, -1, 1e9} {
		if _, err := replay.New(f, speed, false); err == nil {
			t.Errorf("a speed of %g is taken", speed)
		}
	}
}

// TestRawControlByte: where a line has a raw control byte, which is no JSON, the replay says that a part of
// the recording cannot be read.
func TestRawControlByte(t *testing.T) {
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	f := tuitest.NewFeed(begin)
	var file bytes.Buffer
	w, err := record.NewWriter(&file, false, record.Header{By: "test", At: limiter.InstantOf(begin)})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := w.Write(f.Advance(begin.Add(time.Duration(n) * tuitest.Refresh))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{`"name":"`: false, "\"name\":\"\x01": true} {
		text := bytes.Replace(file.Bytes(), []byte(`"name":"`), []byte(raw), 1)
		opened, err := record.Open(t.Context(), bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := replay.New(opened, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Playback(begin).CutOff; (got != "") != want || (opened.LeftOut > 0) != want {
			t.Errorf("with %q: %d lines are left out, and the replay says %q", raw, opened.LeftOut, got)
		}
	}
}
