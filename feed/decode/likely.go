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
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// Points of evidence that a key is a limiter. None of them is enough by itself: names lie, and so
// do values. Reason is a clause for a person.
type evidence struct {
	points  int
	reasons []string
	bare    bool // what the key holds says nothing, but that it is there or how much it is
}

func (e *evidence) add(points int, reason string, args ...any) {
	e.points += points
	if reason != "" {
		e.reasons = append(e.reasons, fmt.Sprintf(reason, args...))
	}
}

// addBare adds a point for a key that expires, of which nothing else is said.
func (e *evidence) addBare(s *Sample, reason string) {
	if e.bare = s.TTL > 0; e.bare {
		e.add(1, "%s", reason)
	}
}

// enough is how many points make a limiter likely, and briefly how long at most an address is hardly kept for anything else.
const (
	enough  = 3
	briefly = 10 * time.Minute
)

// weigh says whether a key that no library knows is likely to be a limiter, by its value, its expiry
// and its name together, and why.
func (f *Found) weigh(s *Sample, now limiter.Instant) {
	var e evidence
	switch f.Kind {
	case Single, Counter:
		f.weighCounter(s, now, &e)
	case TAT:
		e.add(2, "it holds the instant at which it expires")
	case Log:
		weighLog(s, now, &e)
	case Bucket, Opaque:
		switch s.Type {
		case "list":
			weighList(s, now, &e)
		case "set":
			e.bare = true
			e.add(1, "it is a set that expires")
		default:
			weighState(s, now, &e)
		}
	case Stream:
		if e.add(1, "its value has the form of %s", f.Kind); s.TTL > 0 {
			e.add(1, "it expires")
		}
	}
	if e.points == 0 {
		return
	}
	byForm := e.points
	sense := weighName(s.Key, &e)
	counts := (f.Used < leastCode || f.Used%100 == 0) && !timeOfNow(s.Text, now) // 1500 may be bytes
	if counts && s.TTL > 0 && s.TTL <= briefly && !e.bare && !sense.Other && naming.HasAddress(s.Key) && !naming.Speaks("blocks", s.Key) {
		e.add(1, "what is kept of an address for minutes alone is hardly anything else")
	}
	if (f.Kind == Log || f.Kind == Opaque) && byForm >= enough && !sense.Settings { // no word takes all of that away
		e.points = max(e.points, enough-1)
	}
	limited := sense.Limits != "" || sense.Attempts != ""
	stays := s.TTL <= 0 && (f.Kind == Single || f.Kind == Log && !limited && sense.Requests == "" && !naming.HasAddress(s.Key))
	if stays || e.bare && !limited {
		e.points = min(e.points, enough-1) // what stays, or says nothing by what it holds, is hardly that of a limiter
	}
	f.Telling = f.Telling || e.points >= enough
	f.Candidate = e.points == enough-1
	f.Faint = e.points == 1 && f.Kind == Single && counts
	if f.Kind == Single && f.Window.To == 0 && (f.Telling || f.Candidate) {
		if _, over := naming.Over(s.Key, now); over {
			f.Telling, f.Candidate, f.Sure = false, false, false // it counts nothing any more
		}
	}
	f.reasons = e.reasons
}

// weighCounter weighs a counter: where its window is one of now in its name, and it expires soon after
// that, or that it expires at all.
func (f *Found) weighCounter(s *Sample, now limiter.Instant, e *evidence) {
	if s.TTL <= 0 {
		if sense := naming.SenseOf(s.Key); !sense.Other && (sense.Limits != "" || sense.Attempts != "" || sense.Requests != "") {
			e.add(1, "it is a count without an expiry, so that another key would say when its window ends")
		}
		return
	}
	if !f.Sure {
		return
	}
	if f.Used >= leastCode && naming.SenseOf(s.Key).Requests == "otp" {
		return // a code that was sent, and no count
	}
	e.add(1, "it is a counter that expires")
	w, ok := naming.WindowOf(s.Key, now)
	if !ok {
		switch word, longest := naming.Period(s.Key); {
		case longest > time.Hour:
		case s.TTL <= longest && word != "" && word[0] <= '9': // 60s
			e.add(2, "its name says how long its window is, and it expires within that: %s", word)
		case s.TTL <= 2*longest:
			e.add(1, "its name speaks of a window: %s", word)
		}
		return
	}
	f.Window = w
	part := s.Key[w.From:w.To]
	word, _ := naming.Period(s.Key)
	switch length := w.Length; {
	case w.Zone != 0 && length == 0:
		e.add(1, "%s in its name is the hour of now in another zone, or an hour that is over", part)
	case length == 0 && s.TTL <= 3*w.Most+10*time.Minute:
		e.add(1, "%s in its name is where a window of now begins or ends", part)
	case length <= 30*time.Minute && s.TTL <= 3*length+10*time.Minute:
		e.add(2, "%s in its name is the window of now, %s long, and it expires soon after", part, length)
	case length <= time.Hour && s.TTL <= 3*length+5*time.Minute:
		e.add(1, "%s in its name is the window of now, %s long, and it expires soon after", part, length)
	case naming.HasAddress(s.Key) && s.TTL <= 3*length:
		e.add(1, "%s in its name is the window of now, and it counts what came from an address", part)
	case word != "" && s.TTL <= 3*length:
		e.add(1, "%s in its name is the window of now, and %s speaks of it", part, word)
	default:
		e.add(0, "%s in its name is the window of now", part)
	}
}

// leastCode is the least number that may be a code of four digits or more.
const leastCode = 1000

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
	switch {
	case s.TTL > 0:
		e.add(1, "it expires")
	case now.Sub(from) < time.Hour && s.Length > 1:
		e.add(1, "all of them are of the last hour")
	}
	if seconds := strconv.FormatInt(int64(from)/1e6, 10); strings.Contains(oldest.Member, seconds) {
		e.add(1, "its members repeat their times")
	}
}

// weighList weighs a list: of times, the oldest not long ago, or of so few elements that it may be counted by
// its length until it expires.
func weighList(s *Sample, now limiter.Instant, e *evidence) {
	times, same := true, s.Length > 1
	for _, one := range slices.Concat(s.First, s.Last) {
		times = times && timeOfNow(one.Member, now)
		same = same && len(s.First) > 0 && one.Member == s.First[0].Member
	}
	switch {
	case len(s.First) == 0:
		return
	case times:
		e.add(1, "its elements are times of now")
	case same:
		e.add(1, "its elements are all the same, so that only how many they are says something")
	default:
		e.bare = true
	}
	if s.TTL > 0 {
		e.add(1, "it is a list that expires")
	}
}

// timeOfNow says whether a text is a number that is a time not long ago.
func timeOfNow(text string, now limiter.Instant) bool {
	v, ok := NumberOrTime(text)
	unit := UnitOf(v, now)
	return ok && unit != 0 && now.Sub(InstantIn(v, unit)).Abs() <= longestWindow
}

// NumberOrTime returns a number, and a date as seconds.
func NumberOrTime(text string) (v float64, ok bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v, true
	}
	if number, ok := LeadingTime(text); ok {
		return NumberOrTime(number)
	}
	at, ok := TimeText(text)
	return NumberIn(at, time.Second), ok
}

// weighState weighs a hash or a JSON object: a few numbers, of which one is a time of now, or counters
// whose fields are windows of now.
func weighState(s *Sample, now limiter.Instant, e *evidence) {
	fields := s.Fields
	if s.Type == "string" {
		if fields = weighText(s, now, e); e.points > 0 {
			return
		}
	}
	if len(fields) == 0 || len(fields) > mostSlices || s.Type == "hash" && s.Length > int64(len(fields)) {
		return
	}
	if isRing(fields) {
		e.add(1, "its fields are numbered, and count")
		if s.TTL > 0 {
			e.add(1, "it expires")
		}
		return
	}
	if len(fields) > fewFields {
		return
	}
	t := tallyOf(fields, now)
	switch {
	case t.others > 0 && (t.holds == "" || t.times == 0 && s.TTL <= 0):
		e.addBare(s, "it is small and expires, and not all that it holds are numbers and times of now")
		return
	case t.others > 0:
		e.bare = true // as a session may
		e.add(1, "%s in it is a count, beside texts (%d)", t.holds, t.others)
	case t.windows > 0 && t.times == 0:
		e.add(2, "its fields are windows of the last minutes or hours")
	case t.times > 0 && t.amounts > 0:
		e.add(1, "it holds amounts (%d) beside times of now (%d)", t.amounts, t.times)
		if t.said != "" {
			e.add(1, "one of them is called %s", t.said)
		} else if t.period && t.holds != "" {
			e.add(1, "%s stands beside the window that it is of", t.holds)
		}
		if t.counted != "" && naming.Holds(naming.Times, t.said) {
			e.add(1, "%s is a count of what came since or until then", t.counted)
		}
	case t.times > 0:
		if e.add(1, "its fields hold times of now"); t.ends == t.times {
			e.add(1, "all of these are still to come, as the ends of leases")
		}
	case t.said != "" && s.TTL > 0:
		e.add(1, "a field of it is called %s", t.said)
	default:
		e.addBare(s, "it expires, and what it holds are small numbers")
		return
	}
	if s.TTL > 0 {
		e.add(1, "it expires")
	}
}

// tally is what the fields of a hash or of an object in JSON are.
type tally struct {
	times, amounts, windows, ends, others int    // numbers by what they may be, fields called after windows, times to come, and texts
	said, counted, holds                  string // fields called as limiters call them
	period                                bool   // one of the times is that of a window
}

// tallyOf tells what fields are.
func tallyOf(fields map[string]string, now limiter.Instant) (t tally) {
	for name, text := range fields {
		v, ok := NumberOrTime(text)
		name = name[strings.LastIndexByte(name, '.')+1:]
		if _, windowed := naming.WindowOf(text, now); windowed && UnitOf(v, now) == 0 {
			t.times, t.period = t.times+1, true
			continue
		}
		if !ok || v < 0 || v >= 1e9 && UnitOf(v, now) == 0 {
			t.others++
			continue
		}
		n, err := strconv.ParseInt(name, 10, 64)
		if _, windowed := naming.WindowOf(name, now); windowed || timeOfNow(name, now) || err == nil && naming.Recent(n, now) {
			t.windows++ // the field is called after a window not long ago
		}
		switch unit := UnitOf(v, now); {
		case unit != 0 && now.Sub(InstantIn(v, unit)).Abs() <= 24*time.Hour:
			t.times++
			if InstantIn(v, unit) > now {
				t.ends++
			}
			if naming.Holds(naming.Times, name) {
				t.said = name
			}
		case naming.Recent(int64(v), now):
			t.times, t.period = t.times+1, true
		default:
			t.amounts++
			if naming.Holds(naming.Counts, name) {
				t.counted, t.holds = name, name
			} else if naming.Holds(naming.Tokens, name) {
				t.holds = name
			}
			if naming.Holds(naming.State, name) && t.said == "" {
				t.said = name
			}
		}
	}
	return t
}

// weighText weighs a string that is no count. It returns the numbers of an object in JSON, which are yet to be weighed.
func weighText(s *Sample, now limiter.Instant, e *evidence) (fields map[string]string) {
	fields, list := numbersOf(s.Text)
	v, _ := NumberOrTime(s.Text)
	switch {
	case timeOfNow(s.Text, now):
		e.add(1, "it holds a time of now and expires")
		if at := InstantIn(v, UnitOf(v, now)); at > now && at <= now.Add(s.TTL+time.Second) {
			e.add(1, "its time is to come, and it expires no sooner")
		}
	case isFraction(s.Text):
		e.add(1, "it holds a fraction and expires")
	case Serialized(s.Text) != "":
		e.add(1, "it is a count as programs write one with its type, and expires")
	case len(list) > 0 && !slices.ContainsFunc(list, func(text string) bool { return !timeOfNow(text, now) }):
		if e.add(1, "its JSON lists times of now"); s.TTL > 0 {
			e.add(1, "it expires")
		}
	case fields == nil && list == nil && !strings.ContainsAny(s.Text, "{["):
		e.bare = true
		e.add(1, "it is there for a while, whatever it holds")
	}
	return fields
}

// isRing says whether fields are numbers from 0 on, each with a count: a counter for each slice of a window.
func isRing(fields map[string]string) bool {
	for name, text := range fields {
		at, err := strconv.ParseUint(name, 10, 8)
		n, counts := strconv.ParseUint(text, 10, 24)
		if err != nil || at >= mostSlices || counts != nil || n == 0 && len(fields) == 1 {
			return false
		}
	}
	return true
}

// mostSlices is how many slices of a window a hash may count.
const mostSlices = 120

// numbersOf returns the numbers, and dates as seconds, of JSON, or of the beginning of one that is longer: those of an object by their
// names, and those of an array, which is alone or beside numbers. Both are nil where the text holds anything else.
func numbersOf(text string) (fields map[string]string, list []string) {
	if strings.Contains(text, ",") && strings.Trim(text, "0123456789., ") == "" {
		if len(text) >= sampleBytes { // the last number may be cut off
			text = text[:strings.LastIndexByte(text, ',')]
		}
		text = "[" + text + "]" // an array without its brackets
	}
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil, nil
	}
	if len(text) >= sampleBytes {
		text = closed(text)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if n := (numbers{}); d.Decode(&value) == nil && !d.More() && n.add(value, "", 0) {
		return n.fields, n.list
	}
	return nil, nil
}

// closed returns the beginning of JSON up to its last comma, with the brackets that are open there closed.
func closed(text string) string {
	text = text[:max(strings.LastIndexByte(text, ','), 0)]
	ends := ""
	for _, c := range text {
		switch c {
		case '{', '[':
			ends = string(c+2) + ends // in ASCII
		case '}', ']':
			ends = ends[min(1, len(ends)):]
		}
	}
	return text + ends
}

// numbers are those of JSON.
type numbers struct {
	fields map[string]string
	list   []string
	arrays int
}

// add takes the numbers of a value at a path, so many objects deep, and reports whether it holds nothing else, but one array at most.
func (n *numbers) add(value any, path string, depth int) bool {
	switch v := value.(type) {
	case json.Number:
		if depth < inArray {
			collect.Put(&n.fields, strings.TrimSuffix(path, "."), v.String())
		} else if depth == inArray || len(v) >= 10 { // of objects in arrays the times alone
			n.list = append(n.list, v.String())
		}
		return true
	case string:
		f, ok := NumberOrTime(v)
		if !ok && depth < inArray && !strings.HasSuffix(path, "@class.") { // of Jackson
			collect.Put(&n.fields, strings.TrimSuffix(path, "."), v)
		}
		return ok && n.add(json.Number(strconv.FormatFloat(f, 'f', -1, 64)), path, depth) || depth < inArray
	case []any:
		n.arrays++
		return n.arrays == 1 && depth < 2 && !slices.ContainsFunc(v, func(of any) bool { return !n.add(of, path, inArray) })
	case map[string]any:
		for name, of := range v {
			if !n.add(of, path+name+".", depth+1) {
				return false
			}
		}
		return depth%inArray < 3
	}
	return false
}

// inArray is added to the depth of what is in an array.
const inArray = 100

// isFraction says whether a text is a number of a bucket's size that is no whole one.
func isFraction(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && v >= 0 && v < 1e7 && v != math.Trunc(v)
}

// weighName weighs the words of a name, and returns what they speak of.
func weighName(key string, e *evidence) naming.Sense {
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
	case s.Other && (s.Limits != "" || naming.HasAddress(key)):
		e.add(-1, "")
	case s.Other:
		e.add(-2, "")
	}
	return s
}
