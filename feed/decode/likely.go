package decode

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/naming"
)

// Points of evidence that a key is a limiter. None of them is enough by itself: names lie, and so
// do values. Reason is a clause for a person.
type evidence struct {
	points  int
	reasons []string
}

func (e *evidence) add(points int, reason string, args ...any) {
	e.points += points
	if reason != "" {
		e.reasons = append(e.reasons, fmt.Sprintf(reason, args...))
	}
}

// enough is how many points make a limiter likely.
const enough = 3

// weigh says whether a key that no library knows is likely to be a limiter, by its value, its expiry
// and its name together, and why.
func (f *Found) weigh(s *Sample, now limiter.Instant) {
	if f.Kind == Wrong || !f.Sure && f.Kind != Log {
		return
	}
	var e evidence
	switch f.Kind {
	case Single, Counter:
		f.weighCounter(s, now, &e)
	case TAT:
		e.add(1, "it holds the instant at which it expires")
	case Log:
		weighLog(s, now, &e)
	case Bucket, Opaque:
		if s.Type == "list" {
			weighList(s, now, &e)
		} else {
			weighState(s, now, &e)
		}
	case Stream:
		e.add(1, "its value has the form of %s", f.Kind)
	}
	if e.points == 0 {
		return
	}
	weighName(s.Key, &e)
	f.Telling = f.Telling || e.points >= enough
	f.Candidate = e.points == enough-1
	f.reasons = e.reasons
}

// weighCounter weighs a counter: where its window is one of now in its name, and it expires soon after
// that, or that it expires at all.
func (f *Found) weighCounter(s *Sample, now limiter.Instant, e *evidence) {
	if s.TTL <= 0 {
		return
	}
	e.add(1, "it is a counter that expires")
	w, ok := naming.WindowOf(s.Key, now)
	if !ok {
		return
	}
	f.Window = w
	part := s.Key[w.From:w.To]
	switch length := w.Length; {
	case length == 0:
		e.add(1, "%s in its name is where a window of now begins or ends", part)
	case length <= 30*time.Minute && s.TTL <= 3*length+10*time.Minute:
		e.add(2, "%s in its name is the window of now, %s long, and it expires soon after", part, length)
	case length <= time.Hour && s.TTL <= 3*length+5*time.Minute:
		e.add(1, "%s in its name is the window of now, %s long, and it expires soon after", part, length)
	case naming.HasAddress(s.Key) && s.TTL <= 3*length:
		e.add(1, "%s in its name is the window of now, and it counts what came from an address", part)
	default:
		e.add(0, "%s in its name is the window of now", part)
	}
}

// weighLog weighs a sorted set: the times of requests, the oldest not long ago, in members that repeat
// them.
func weighLog(s *Sample, now limiter.Instant, e *evidence) {
	if len(s.First) == 0 || len(s.Last) == 0 {
		return
	}
	oldest, newest := s.First[0], s.Last[len(s.Last)-1]
	unit := UnitOf(oldest.Score, now)
	if unit == 0 || UnitOf(newest.Score, now) != unit {
		return
	}
	from, to := InstantIn(oldest.Score, unit), InstantIn(newest.Score, unit)
	if now.Sub(from) > longestWindow || to.Sub(now) > 24*time.Hour || from.Sub(now) > time.Hour {
		return
	}
	e.add(1, "its scores are times of now")
	if s.TTL > 0 {
		e.add(1, "it expires")
	}
	if seconds := strconv.FormatInt(int64(from)/1e6, 10); strings.Contains(oldest.Member, seconds) {
		e.add(1, "its members repeat their times")
	}
}

// weighList weighs a list: of times, the oldest not long ago.
func weighList(s *Sample, now limiter.Instant, e *evidence) {
	for _, end := range [...][]Element{s.First, s.Last} {
		if len(end) == 0 || !timeOfNow(end[0].Member, now) {
			return
		}
	}
	e.add(1, "its elements are times of now")
	if s.TTL > 0 {
		e.add(1, "it expires")
	}
}

// timeOfNow says whether a text is a number that is a time not long ago.
func timeOfNow(text string, now limiter.Instant) bool {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	unit := UnitOf(v, now)
	return unit != 0 && now.Sub(InstantIn(v, unit)).Abs() <= longestWindow
}

// weighState weighs a hash or a JSON object: a few numbers, of which one is a time of now, or counters
// whose fields are windows of now.
func weighState(s *Sample, now limiter.Instant, e *evidence) {
	fields := s.Fields
	if s.Type == "string" {
		switch times := timesOf(s.Text); {
		case timeOfNow(s.Text, now):
			e.add(1, "it holds a time of now and expires")
			return
		case isFraction(s.Text):
			e.add(1, "it holds a fraction and expires")
			return
		case len(times) > 0 && !slices.ContainsFunc(times, func(text string) bool { return !timeOfNow(text, now) }):
			e.add(1, "its JSON lists times of now")
			if s.TTL > 0 {
				e.add(1, "it expires")
			}
			return
		}
		fields = numbersOf(s.Text)
	}
	if len(fields) == 0 || len(fields) > 8 || s.Type == "hash" && s.Length > int64(len(fields)) {
		return
	}
	times, amounts, said, windows, ends := 0, 0, "", 0, 0
	for name, text := range fields {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			return
		}
		if isSlice(name, now) {
			windows++
		}
		switch unit := UnitOf(v, now); {
		case unit != 0 && now.Sub(InstantIn(v, unit)).Abs() <= 24*time.Hour:
			times++
			if InstantIn(v, unit) > now {
				ends++
			}
		case v >= 10_000 && isIndex(int64(v), now):
			times++
		case v >= 0 && v < 1e7:
			amounts++
			if stateWords[strings.ToLower(name)] {
				said = name
			}
		default:
			return
		}
	}
	switch {
	case windows > 0 && times == 0:
		e.add(2, "its fields are windows of the last minutes or hours")
	case times > 0 && amounts > 0:
		e.add(1, "it holds amounts (%d) beside times of now (%d)", amounts, times)
		if said != "" {
			e.add(1, "one of them is called %s", said)
		}
	case times > 0:
		if e.add(1, "its fields hold times of now"); ends == times {
			e.add(1, "all of these are still to come, as the ends of leases")
		}
	case said != "" && s.TTL > 0:
		e.add(1, "a field of it is called %s", said)
	default:
		return
	}
	if s.TTL > 0 {
		e.add(1, "it expires")
	}
}

// isSlice says whether the name of a field is a window not long ago: its number, its beginning, or a
// calendar.
func isSlice(name string, now limiter.Instant) bool {
	if _, ok := naming.WindowOf(name, now); ok || timeOfNow(name, now) {
		return true
	}
	n, err := strconv.ParseInt(name, 10, 64)
	return err == nil && n >= 10_000 && isIndex(n, now)
}

// isIndex says whether a number is that of a usual window not long ago.
func isIndex(n int64, now limiter.Instant) bool {
	const most = 120
	return slices.ContainsFunc(naming.Lengths[:], func(length time.Duration) bool {
		age := int64(now)/length.Microseconds() - n
		return age >= 0 && age < most
	})
}

// stateWords are names of what a bucket or a window holds.
var stateWords = map[string]bool{
	"tokens": true, "token": true, "level": true, "allowance": true, "remaining": true,
	"water": true, "available": true, "points": true, "tat": true,
	"used": true, "limit": true, "capacity": true, "refill": true, "rate": true,
	"hits": true, "requests": true, "attempts": true, "burst": true,
}

// numbersOf returns the numbers of a JSON object, nil where the text is none or holds anything else.
func numbersOf(text string) map[string]string {
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	var all map[string]json.Number
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	out := make(map[string]string, len(all))
	for name, v := range all {
		out[name] = v.String()
	}
	return out
}

// timesOf returns the numbers of an array in JSON, alone or the only field of an object; nil where the text is none.
func timesOf(text string) (out []string) {
	var list []json.Number
	if strings.HasPrefix(text, "{") {
		var one map[string][]json.Number
		if json.Unmarshal([]byte(text), &one) != nil || len(one) != 1 {
			return nil
		}
		for _, list = range one {
		}
	} else if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

// isFraction says whether a text is a number of a bucket's size that is no whole one.
func isFraction(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && v >= 0 && v < 1e7 && v != math.Trunc(v)
}

// weighName weighs the words of a name.
func weighName(key string, e *evidence) {
	s := naming.SenseOf(key)
	switch {
	case s.Limits != "":
		e.add(2, "its name speaks of limits: %s", s.Limits)
	case s.Attempts != "":
		e.add(2, "its name speaks of what is limited: %s", s.Attempts)
	case s.Requests != "":
		e.add(1, "its name speaks of what is limited: %s", s.Requests)
	}
	switch {
	case s.Limits != "":
	case naming.HasAddress(key):
		e.add(1, "its name holds an address")
	case s.Subject:
		e.add(1, "its name says who is limited")
	}
	switch {
	case s.Settings:
		e.points = 0
	case s.Other:
		e.add(-2, "")
	}
}
