package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"ratescope/limiter"
)

// maxLine is the longest line of an access log that is read whole.
const maxLine = 1 << 20

// ReadAccessLog reads a log in the Common Log Format, or the Combined one, which begins
// alike: host ident user [02/Jan/2006:15:04:05 -0700] "request" status bytes. A host is a
// key. The format knows whole seconds only, so the requests of a second are spread over
// it evenly in their order. Lines that are not of the format are skipped and counted; a
// file without one that is gets an error.
func ReadAccessLog(r io.Reader) (Trace, error) {
	var t Trace
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		host, at, ok := readLine(lines.Text())
		if !ok {
			t.Skipped++
			continue
		}
		t.Arrivals = append(t.Arrivals, Arrival{At: limiter.InstantOf(at), Cost: 1, Key: t.number(TraceKey{Name: host, Denied: true})})
	}
	if err := lines.Err(); err != nil {
		return t, fmt.Errorf("the access log cannot be read on: %w", err)
	}
	if len(t.Arrivals) == 0 {
		return t, errors.New(`the file is neither a recording nor an access log: give what "ratescope record" wrote, or lines in the Common Log Format, host - - [02/Jan/2006:15:04:05 -0700] "GET / HTTP/1.1" 200 1`)
	}
	slices.SortStableFunc(t.Arrivals, func(a, b Arrival) int { return int(a.At - b.At) }) // servers log a request when it ends
	spread(t.Arrivals)
	return t, nil
}

// logLine finds the host and the time in a line.
var logLine = regexp.MustCompile(`^([^ ]+) [^\[]*\[([^\]]*)\]`)

// readLine takes the host and the time from one line.
func readLine(line string) (host string, at time.Time, ok bool) {
	m := logLine.FindStringSubmatch(line)
	if m == nil {
		return "", at, false
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
	year := at.Year()
	return m[1], at, err == nil && year >= 1970 && year < 2200
}

// spread gives the requests of each second their place in it.
func spread(list []Arrival) {
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].At == list[from].At {
			to++
		}
		for i := from; i < to; i++ {
			list[i].At += limiter.Instant(1_000_000 * (i - from) / (to - from))
		}
		from = to
	}
}
