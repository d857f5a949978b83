package form

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/format"
)

// readWords say what a word of Reads reads, for a person.
var readWords = map[string]string{
	"value": "the number in a string", "field": "the number in the field %s of a hash", "length": "how many elements a list or a set has",
	"present": "whether the key is there, which denies", "fields": "the counters in a hash, one for every %s",
	"zset": "the scores of a sorted set", "list": "the elements of a list", "hash": "the values of a hash", "json": "%s in JSON",
	"bucket": "a bucket of tokens: %s", "level": "a bucket that leaks: %s", "tat": "the theoretical arrival time (TAT) in %s",
}

// Explain says in words what a layout reads, until when it counts, and what it is held to.
func (l *Layout) Explain() string {
	read := readWords[l.Read.Kind]
	switch l.Read.Kind {
	case "field":
		read = fmt.Sprintf(read, l.Read.Name)
	case "json":
		read = fmt.Sprintf(read, cmp.Or(l.Read.Name, "a list of times"))
	case "fields":
		read = fmt.Sprintf(read, l.Slice)
	case "bucket", "level":
		read = fmt.Sprintf(read, "how much in "+l.Amount.words()+", and when that was true in "+l.At.words())
		if l.settings().Algorithm == limiter.FixedWindow {
			read = "a count in " + l.Amount.words() + ", and when its window began in " + l.At.words()
		}
	}
	if l.Read.Kind == "tat" {
		at := l.At
		at.Kind = cmp.Or(at.Kind, "value")
		read = fmt.Sprintf(read, at.words())
	}
	how := l.settings()
	parts := []string{"reads " + read}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	log := how.Algorithm == limiter.SlidingLog && l.Sum < 2 && l.Read.Kind != "fields"
	add(log && !l.Stamped, "each the time of a request")
	add(log && l.Stamped, "each the time at which a lease ends")
	add(l.Unit != 0, "times in %s", map[time.Duration]string{
		time.Second: "seconds", time.Millisecond: "milliseconds", time.Microsecond: "microseconds", time.Nanosecond: "nanoseconds"}[l.Unit])
	add(l.Refill == "whole window" && l.Read.Kind == "bucket", "filled at once, a window later")
	add(l.Left, "which is what is left of the limit")
	counts := l.Read.Kind != "bucket" && l.Read.Kind != "level" && l.Read.Kind != "tat" && !log && l.Read.Kind != "fields"
	switch {
	case !counts:
	case l.Ends.Kind == "name":
		add(l.Name.window.pieces == nil, "in the window that the name says as %s", l.Name.window.text)
		add(l.Name.window.pieces != nil, "in the window that the name says as %s in %s", l.Name.window.text, l.Zone)
		add(l.Sum > 1, "%d windows together", l.Sum)
		add(l.Weigh != "", "and in the window before, as far as the sliding window covers it")
	case l.Ends.Kind == "expiry":
		add(true, "until the key expires")
	case l.Ends.Unit == 0:
		add(true, "in the window whose number is in %s", l.Ends.words())
	default:
		add(true, "until the time in %s", l.Ends.words())
	}
	add(l.Charged, "denied requests included")
	add(!l.Block.Blank(), "and denies everything while %s is there", l.Block.text)
	text := strings.Join(parts, ", ")
	text += fmt.Sprintf("; %v", how.Algorithm)
	switch {
	case !l.LimitKnown:
		return text + ", of which the rule does not say the limit"
	case l.Limit.Burst > 0:
		return text + fmt.Sprintf(", %d in %s and %d at once", l.Limit.Count, format.Length(l.Limit.Window), l.Limit.Burst)
	}
	return text + fmt.Sprintf(", %d in %s", l.Limit.Count, format.Length(l.Limit.Window))
}

// words says where a value stands.
func (s *Source) words() string {
	switch s.Kind {
	case "key":
		return "the key " + s.Key.text
	case "value":
		return "the string"
	case "json":
		return s.Name + " in JSON"
	}
	return "the field " + s.Name
}
