package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// wording follows a script of package limiter through one decision and lists the commands
// that it runs. A test holds every list to what MONITOR tells of a server.
type wording struct {
	explainer
	n      int64
	given  bool  // the script is given the instant
	slack  int64 // milliseconds that keys live longer then
	charge bool  // the request is recorded
	list   []Command
}

func (w *wording) run(answer string, words ...any) {
	text := make([]string, len(words))
	for i, word := range words {
		text[i] = fmt.Sprint(word)
	}
	w.list = append(w.list, Command{Text: strings.Join(text, " "), Answer: answer})
}

// expire lets a key go after a time, which is rounded up to milliseconds.
func (w *wording) expire(name string, life time.Duration) {
	w.run("", "PEXPIRE", name, int64((life+time.Millisecond-1)/time.Millisecond)+w.slack)
}

// count writes an answer that is a count, or nothing where there is no key.
func count(n int64) string {
	if n == 0 {
		return "nothing"
	}
	return strconv.FormatInt(n, 10)
}

// add raises a counter, which the script of a cost of 1 does with `one`.
func (w *wording) add(one, name string, before int64) {
	answer := strconv.FormatInt(before+w.n, 10)
	if one == "INCR" && w.n == 1 && !w.given {
		w.run(answer, one, name)
		return
	}
	w.run(answer, "INCRBY", name, w.n)
}

// starts are the start of the window on the clock that holds the instant, and of the one
// whose counter goes on: a later one, where the clock jumped back.
func (w *wording) starts() (own, kept limiter.Instant) {
	own = w.at.Floor(w.limit.Window)
	return own, max(own, w.look.Start)
}

// fixed counts first and takes it back when that was too much, which saves a command of
// most decisions; where the time is given, or denied requests are charged, it looks first.
func (w *wording) fixed() {
	if w.terms.Alignment == limiter.AlignFirstRequest {
		w.fixedFirst()
		return
	}
	own, kept := w.starts()
	name, later := w.counter(own), w.counter(own.Add(w.limit.Window))
	used, ahead := w.look.Current, false
	inOwn := used
	if kept > own {
		inOwn = 0
	}
	if !w.given && w.terms.Denied == limiter.DeniedFree {
		if ahead = w.n == 1 || w.s.Limit.Count == 0 || w.n <= w.s.Limit.Count; ahead {
			w.add("INCR", name, inOwn)
		} else {
			w.run(count(inOwn), "GET", name)
		}
		if inOwn == 0 {
			w.run(count(used-inOwn), "GET", later)
		}
		if inOwn == 0 && used > 0 {
			if ahead {
				w.run("", "DEL", name)
			}
			ahead = false
		}
	} else {
		w.run(count(inOwn), "GET", name)
		if w.given || inOwn == 0 {
			w.run(count(used-inOwn), "GET", later)
		}
	}
	name = w.counter(kept)
	switch {
	case w.charge && !ahead:
		w.add("INCRBY", name, used)
		fallthrough
	case w.charge:
		if used == 0 {
			w.expire(name, kept.Add(w.limit.Window).Sub(w.at))
		}
	case ahead:
		w.run(strconv.FormatInt(used, 10), "DECRBY", name, w.n)
	}
}

// fixedFirst is the window that begins with its first request: its end is the expiry of
// the key. A server expires nothing on a given clock, so the end is kept apart there.
func (w *wording) fixedFirst() {
	life := max((w.limit.Window+time.Millisecond-1).Truncate(time.Millisecond)-time.Millisecond+edgeOf(w.terms), time.Millisecond)
	endOf := func(start limiter.Instant) limiter.Instant {
		return start - start%1000 + limiter.Instant((life+time.Millisecond)/time.Microsecond)
	}
	held, kept := w.look.Current, w.look.Current
	if w.given { // nothing has expired
		kept = w.m.Before.Current
	}
	w.run(count(kept), "GET", key)
	switch {
	case kept > 0 && w.given:
		w.run(fmt.Sprint(int64(endOf(w.m.Before.Start))), "GET", "{"+key+"}:ends")
	case kept > 0:
		w.run(fmt.Sprint(endOf(w.look.Start).Millis()-w.at.Millis()-1), "PTTL", key)
	}
	if !w.charge {
		return
	}
	if held == 0 && w.given {
		w.run("", "DEL", key)
	}
	w.add("INCRBY", key, held)
	if held == 0 {
		w.expire(key, life)
		if w.given {
			w.run("", "SET", "{"+key+"}:ends", int64(endOf(w.at)), "PX", int64(life/time.Millisecond)+w.slack)
		}
	}
}

func (w *wording) sliding() {
	own, kept := w.starts()
	size := w.limit.Window
	answer := fmt.Sprintf("%s, %s, nothing", count(w.look.Current), count(w.look.Previous))
	if kept > own {
		answer = fmt.Sprintf("%s, nothing, %s", count(w.look.Previous), count(w.look.Current))
	}
	w.run(answer, "MGET", w.counter(own), w.counter(own.Add(-size)), w.counter(own.Add(size)))
	if !w.charge {
		return
	}
	w.add("INCR", w.counter(kept), w.look.Current)
	if w.look.Current == 0 {
		w.expire(w.counter(kept), 2*size)
	}
}

// counter is the name of the counter of the window that begins at an instant.
func (w *wording) counter(start limiter.Instant) string {
	return counterName(w.c, w.limit, w.s.Convention, start)
}

func (w *wording) gcra() {
	kept := "nothing"
	if w.m.Before.TAT != 0 {
		kept = w.instant(w.m.Before.TAT)
	}
	w.run(kept, "GET", key)
	if w.given && w.m.Before.TAT != 0 {
		w.run("", "PTTL", key)
	}
	if w.charge && w.m.Decision.Allowed {
		w.run("", "SET", key, w.after(w.m.After.TAT), "PX", rateLife(w.c, w.terms, w.limit)+w.slack)
	}
}

func (w *wording) bucket() {
	field, before, after := "tokens", w.m.Before, w.m.After
	if w.c.Algorithm.Fills() {
		field = "level"
	}
	life := time.Duration(rateLife(w.c, w.terms, w.limit)) * time.Millisecond
	// On the server's own clock a bucket that was full again for long enough has expired.
	held := before.Filled != 0 && (w.given || w.look.Used > 0 || w.at.Sub(before.Filled) < life)
	kept := "nothing, nothing"
	if held {
		kept = Number(before.Level) + ", " + w.instant(before.Filled)
	}
	w.run(kept, "HMGET", key, field, "at")
	switch {
	case !held:
		w.run("0", "EXISTS", key)
	case w.given:
		w.run("", "PTTL", key)
	}
	if w.charge && w.m.Decision.Allowed {
		w.run("", "HSET", key, field, Number(after.Level), "at", w.after(after.Filled))
		ahead := max(after.Filled.Sub(w.at), 0) // after a clock that jumped back
		w.expire(key, life+(ahead+time.Millisecond-1).Truncate(time.Millisecond))
	}
}

// instant and after write an instant of the state before and after.
func (w *wording) instant(at limiter.Instant) string {
	return instantText(at, w.m.Before.Part, w.m.Before.Parts, w.limit.Window)
}

func (w *wording) after(at limiter.Instant) string {
	return instantText(at, w.m.After.Part, w.m.After.Parts, w.limit.Window)
}
