package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// epoch is when the virtual time of these tests begins.
var epoch = time.Unix(1_700_000_000, 0)

// run drives a schedule on virtual time until end. The reader answers each order after
// takes, and events happen at their time. It returns what was ordered when, as in "0 full".
func run(s *schedule, end, takes time.Duration, answer func(s *schedule, now time.Time), events map[time.Duration]func(now time.Time)) string {
	var log []string
	var done time.Time
	for now := epoch; now.Sub(epoch) <= end; now = now.Add(time.Millisecond) {
		if !done.IsZero() && !now.Before(done) {
			done = time.Time{}
			answer(s, now)
		}
		if e := events[now.Sub(epoch)]; e != nil {
			e(now)
		}
		s.ticked(now)
		if k := s.next(now); k != orderNone {
			if k == orderWoken {
				s.tookNames()
			}
			log = append(log, fmt.Sprintf("%d %s", now.Sub(epoch).Milliseconds(), [...]string{"none", "woken", "quick", "full"}[k]))
			done = now.Add(takes)
		}
		if w := s.wake(); w.Before(now) && done.IsZero() {
			log = append(log, "wakes in the past")
		}
	}
	return strings.Join(log, ", ")
}

func TestSchedule(t *testing.T) {
	ok := func(s *schedule, now time.Time) { s.answered(now, false) }
	covered := func(s *schedule, now time.Time) { s.answered(now, true) }
	ms := time.Millisecond
	for _, c := range []struct {
		name    string
		refresh time.Duration
		takes   time.Duration
		end     time.Duration
		answer  func(*schedule, time.Time)
		events  func(s *schedule) map[time.Duration]func(time.Time)
		want    string
	}{
		{"between two refreshes what is on screen is read", 200 * ms, 2 * ms, 420 * ms, ok, nil,
			"0 full, 70 quick, 140 quick, 200 full, 270 quick, 340 quick, 400 full"},
		{"a short refresh needs no look in between", 50 * ms, 2 * ms, 120 * ms, ok, nil, "0 full, 50 full, 100 full"},
		{"nothing is read while the next write is announced", 200 * ms, 2 * ms, 420 * ms, covered, nil, "0 full, 200 full, 400 full"},
		{"a slow reader gets one order at a time, and no round is made up for", 100 * ms, 250 * ms, 620 * ms, ok, nil,
			"0 full, 250 full, 500 full"},
		{"news is read at once, then in its gap", 1000 * ms, 2 * ms, 60 * ms, covered, func(s *schedule) map[time.Duration]func(time.Time) {
			return map[time.Duration]func(time.Time){20 * ms: s.hasNews, 23 * ms: s.hasNews, 25 * ms: s.hasNews}
		}, "0 full, 20 woken, 30 woken"},
		{"finds are read soon, in one round", 200 * ms, 2 * ms, 190 * ms, covered, func(s *schedule) map[time.Duration]func(time.Time) {
			return map[time.Duration]func(time.Time){10 * ms: s.hasFinds, 30 * ms: s.hasFinds, 100 * ms: s.hasFinds}
		}, "0 full, 50 full, 100 full"},
		{"the first write after a silence is read at once", 200 * ms, 2 * ms, 120 * ms, covered, func(s *schedule) map[time.Duration]func(time.Time) {
			return map[time.Duration]func(time.Time){33 * ms: s.hasWrites}
		}, "0 full, 33 quick"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSchedule(c.refresh, wakeupGap, epoch)
			var events map[time.Duration]func(time.Time)
			if c.events != nil {
				events = c.events(s)
			}
			if got := run(s, c.end, c.takes, c.answer, events); got != c.want {
				t.Errorf("ordered %s\nwant    %s", got, c.want)
			}
		})
	}
}

// TestScheduleBacksOff: a server that is away is asked again after longer and longer waits,
// of at most a second, whatever else is wanted; once it answers the usual pace is back.
func TestScheduleBacksOff(t *testing.T) {
	s := newSchedule(50*time.Millisecond, wakeupGap, epoch)
	now, orders := epoch, 0
	for ; now.Sub(epoch) < 20*time.Second; now = now.Add(time.Millisecond) {
		s.ticked(now)
		s.hasNews(now)
		s.hasWrites(now)
		if s.next(now) != orderNone {
			orders++
			s.failed(now, false)
		}
	}
	if orders < 20 || orders > 40 {
		t.Errorf("%d attempts in 20 s: want about one a second", orders)
	}
	for s.next(now) == orderNone {
		now = now.Add(time.Millisecond)
	}
	s.failed(now, true)
	if s.next(now.Add(refusedUser-time.Millisecond)) != orderNone || s.next(now.Add(refusedUser)) == orderNone {
		t.Errorf("a user who was refused is not asked again after %v", refusedUser)
	}
	now = now.Add(refusedUser)
	s.answered(now, false)
	if s.wake().Sub(now) > s.refresh {
		t.Errorf("after an answer the next round is %v away", s.wake().Sub(now))
	}
}
