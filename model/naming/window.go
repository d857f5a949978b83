// Package naming reads the names of keys: the part that is a window of now, the parts that are a
// subject, and the words that speak of limits. It generalizes the names of many keys to patterns.
package naming

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// Window is a part of a name that reads as a window.
type Window struct {
	From, To int             // the bytes of the name
	Form     string          // as a rule writes it: "%Y%m%d%H%M", "index", "start.s", "end.ms"
	Zone     time.Duration   // east of UTC, of a calendar form
	Length   time.Duration   // 0: the name does not tell it, as where it begins or ends
	Most     time.Duration   // the longest usual one that may begin or end there; 0 for none, and where Length is known
	Start    limiter.Instant // of the window; 0 not known
	End      limiter.Instant // 0 not known
}

// Lengths are the windows that people count in by their number, or align to the clock.
var Lengths = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// WindowOf returns the part of a name that reads as a window which contains now: a calendar, the
// number of a usual window since 1970, or the instant at which one begins or ends, which may be of no usual length. Of several the
// longest wins.
func WindowOf(name string, now limiter.Instant) (Window, bool) {
	var best Window
	for i := 0; i < len(name); {
		if !digit(name[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(name) && digit(name[end]) {
			end++
		}
		if i == 0 || !letter(name[i-1]) || end-i >= 8 && short(name[:i]) {
			for _, read := range readers {
				if w, ok := read(name, i, end, now); ok && w.To-w.From > best.To-best.From {
					best = w
					break
				}
			}
			if w, ok := round(name, i, end, now); ok && best.To == 0 {
				best = w
			}
		} else if w, ok := number(name, i, end, now); ok && w.Length > 0 && w.To-w.From > max(best.To-best.From, 6) {
			best = w
		}
		i = max(end, best.To)
	}
	if best.To == 0 {
		best = coded(name, now)
	}
	if best.To-best.From < len("202611260714") {
		if w, ok := written(name, now); ok && w.To-w.From > best.To-best.From {
			best = w
		}
	}
	if best.Length == day && hours(name[:best.From]+"|"+name[best.To:], now) { // its hour stands elsewhere, so that it is no day
		return Window{}, false
	}
	return best, best.To > 0
}

// bases are those in which programs write the numbers of windows, as forms name them.
var bases = [...]struct {
	form string
	base int
}{{"index.hex", 16}, {"index.b36", 36}}

// coded reads the number of a usual window since 1970 that is written with letters; the zero value is none.
func coded(name string, now limiter.Instant) Window {
	for end, i := 0, 0; i < len(name); i = end + 1 {
		digits := 0
		for end = i; end < len(name) && alphanumeric(name[end]); end++ {
			if digit(name[end]) {
				digits++
			}
		}
		if end-i < 5 || end-i > 8 || digits == 0 || digits == end-i { // digits alone are to the base ten
			continue
		}
		for _, of := range bases {
			if n, err := strconv.ParseInt(name[i:end], of.base, 64); err == nil {
				if length := Numbered(n, now); length > 0 && name[i:end] == strconv.FormatInt(n, of.base) {
					start := now.Floor(length)
					return Window{From: i, To: end, Form: of.form, Length: length, Start: start, End: start.Add(length)}
				}
			}
		}
	}
	return Window{}
}

// readers read a window that begins at byte i of a name, whose digits end at byte end.
var readers = [...]func(name string, i, end int, now limiter.Instant) (Window, bool){calendar, week, clock, number}

func digit(b byte) bool { return b >= '0' && b <= '9' }

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80 }

// field is a field of a calendar: its letter in a form, its range, and what may stand before it.
type field struct {
	form        string
	least, most int
	before      string // separators, of which one may stand before it
	length      time.Duration
}

var fields = [...]field{
	{"%m", 1, 12, "-/._:", 0},
	{"%d", 1, 31, "-/._:", 24 * time.Hour},
	{"%H", 0, 23, "-/._:T ", time.Hour},
	{"%M", 0, 59, "-/._:h", time.Minute},
	{"%S", 0, 59, "-/._:", time.Second},
}

// calendar reads a calendar that begins at byte i of a name: the longest that contains now. An hour behind a date that is not the hour
// of now is no window of that day: it is over, or, where it is hours ago, perhaps that of a zone west of Greenwich, which the name
// does not tell.
func calendar(name string, i, _ int, now limiter.Instant) (best Window, ok bool) {
	date := [6]int{0, 1, 1, 0, 0, 0}
	bare := false // of the zeros before numbers below ten
	at, form, least := i, "%Y", 0
	if n, fits := digits(name, i, 4); fits && (n-now.Time().UTC().Year() <= 1 && now.Time().UTC().Year()-n <= 1) {
		date[0], at = n, i+4
	} else if n, fits := digits(name, i, 2); fits && 2000+n == now.Time().UTC().Year() {
		date[0], at, form, least = 2000+n, i+2, "%y", 2 // two digits of a year need an hour to be told
	}
	if date[0] == 0 || addressIn(name[i:]) > 0 {
		return best, false
	}
	for j, f := range fields {
		next := at
		if next < len(name) && strings.IndexByte(f.before, name[next]) >= 0 {
			next++
		}
		if next > at && f.form == "%H" && next < len(name) && name[next] == 'h' { // 2026-11-26:h20
			next++
		}
		long := 2
		n, fits := digits(name, next, long)
		if !fits && next > at {
			long = 1
			n, fits = digits(name, next, long)
		}
		if !fits || n < f.least || n > f.most || next+long < len(name) && name[next+long] == '.' && addressIn(name[next:]) > 0 {
			break
		}
		date[j+1] = n
		bare = bare || long == 1
		form += name[at:next] + f.form
		at = next + long
		if half := name[at:min(at+2, len(name))]; f.form == "%H" && (strings.EqualFold(half, "AM") || strings.EqualFold(half, "PM")) {
			return Window{}, false // it is no day either
		}
		if j < least || at < len(name) && (digit(name[at]) || letter(name[at]) && name[at] != 'T' && name[at] != 'Z') {
			continue
		}
		written := form
		if bare {
			written = form[:2] + strings.ReplaceAll(form[2:], "%", "%-")
		}
		start := time.Date(date[0], time.Month(date[1]), date[2], date[3], date[4], date[5], 0, time.UTC)
		end := start.Add(f.length)
		if f.length == 0 {
			end = start.AddDate(0, 1, 0)
		}
		zone, in, sure := zoneOf(start, end, now.Time(), f.length)
		if in && start.Day() == date[2] && !(bare && zone != 0) {
			from, to := limiter.InstantOf(start.Add(-zone)), limiter.InstantOf(end.Add(-zone))
			if best, ok = (Window{From: i, To: at, Form: written, Zone: zone}), true; sure {
				best.Length, best.Start, best.End = to.Sub(from), from, to
			}
		} else if from := limiter.InstantOf(start); f.length > 0 && f.length < time.Hour && begins(from, now) {
			best, ok = Window{From: i, To: at, Form: written, Start: from}, true
		} else if between := name[at-long-1 : at-long]; f.length == time.Hour && (strings.Contains("T ", between) || between == name[i+4:i+5]) {
			zone := start.Sub(now.Time().Truncate(time.Hour)) // if it is the hour of now
			best, ok = Window{From: i, To: at, Form: written, Zone: zone}, zone <= -4*time.Hour && zone >= -12*time.Hour
		} else if f.length > 0 && f.length < time.Hour && (next-best.To <= 1 || strings.IndexByte("T_", name[best.To]) >= 0) ||
			f.length == time.Hour && name[next-1] == 'h' || f.length == day && (next == best.To || name[next-1:next] == name[i+4:i+5]) {
			ok = false // its minute is over, so that it is no hour either, or its day, so that it is no month
		}
	}
	if !ok {
		return Window{}, false
	}
	for _, zone := range [...]string{"Z", ".000Z", " UTC", " +0000 UTC", "+00:00"} {
		if strings.HasPrefix(name[best.To:], zone) && strings.HasSuffix(best.Form, "%S") {
			return Window{From: i, To: best.To + len(zone), Form: best.Form + zone, Length: best.Length, Start: best.Start, End: best.End}, true
		}
	}
	return best, ok
}

// begins reports whether a window of a day, or of a usual length of at most an hour, that contains now may begin at an instant.
func begins(at, now limiter.Instant) bool {
	return slices.ContainsFunc(Lengths[:], func(length time.Duration) bool {
		return (length <= time.Hour || length == day) && at.Floor(length) == at && now.Floor(length) == at
	})
}

// week reads a week of ISO 8601 with its year, in UTC, that begins at byte i of a name.
func week(name string, i, _ int, now limiter.Instant) (w Window, ok bool) {
	const aWeek = 7 * 24 * time.Hour
	year, number := now.Time().UTC().ISOWeek()
	if n, fits := digits(name, i, 4); !fits || n != year {
		return w, false
	}
	week := fmt.Sprintf("%02d", number)
	for _, between := range [...]string{"-W", "W", "-w", "w", "_W", "_w", "-", "_"} {
		after, found := strings.CutPrefix(name[i+4:], between+week)
		if found && (after == "" || !digit(after[0])) {
			monday := now.Floor(24 * time.Hour).Add(-time.Duration(now.Time().UTC().Weekday()+6) % 7 * 24 * time.Hour)
			form := "%G" + between + "%V"
			return Window{From: i, To: len(name) - len(after), Form: form, Length: aWeek, Start: monday, End: monday.Add(aWeek)}, true
		}
	}
	return w, false
}

// dateForms are dates that calendar does not read, as Go and as rules write them, the longest first. Any separator may stand in
// the place of a dash.
var dateForms = [...][2]string{
	{"Mon-Jan-02-2006", "%a-%b-%d-%Y"}, {"02-Jan-2006", "%d-%b-%Y"}, {"Jan-02-2006", "%b-%d-%Y"}, {"2006-Jan-02", "%Y-%b-%d"},
	{"January-2006", "%B-%Y"}, {"2006-January", "%Y-%B"}, {"Jan-2006", "%b-%Y"}, {"2006-Jan", "%Y-%b"},
	{"02-01-2006", "%d-%m-%Y"}, {"01-02-2006", "%m-%d-%Y"}, {"2006-002", "%Y-%j"},
	{"2006年01月02日", "%Y年%m月%d日"}, {"2006年01月", "%Y年%m月"}, {"02.01.06", "%d.%m.%y"}, {"02/01/06", "%d/%m/%y"},
}

// written reads the day or the month of now, in UTC, as dateForms have it.
func written(name string, now limiter.Instant) (w Window, ok bool) {
	t := now.Time().UTC()
	year := strconv.Itoa(t.Year())
	if !strings.Contains(name, year) && !strings.Contains(name, "."+year[2:]) && !strings.Contains(name, "/"+year[2:]) {
		return w, false
	}
	worded := strings.Contains(name, t.Format("Jan"))
	for _, form := range dateForms {
		for _, between := range [...]string{"-", " ", "_", "/", ".", ""} {
			if strings.Contains(form[0], "Jan") && !worded || !strings.Contains(name, between) && strings.Contains(form[0], "-") {
				continue
			}
			date := t.Format(strings.ReplaceAll(form[0], "-", between))
			i := strings.Index(name, date)
			end := i + len(date)
			if i < 0 || i > 0 && alphanumeric(name[i-1]) || end < len(name) && alphanumeric(name[end]) || addressIn(name[i:]) > 0 {
				if !strings.Contains(form[0], "-") {
					break
				}
				continue
			}
			monthly := !strings.ContainsAny(form[1], "dj")
			if monthly && between != "" && (i > 1 && name[i-1:i] == between && digit(name[i-2]) ||
				end+1 < len(name) && name[end:end+1] == between && digit(name[end+1])) {
				break // it is a part of the date of another day
			}
			w = Window{From: i, To: end, Form: strings.ReplaceAll(form[1], "-", between), Start: now.Floor(day)}
			w.End = w.Start.Add(day)
			if monthly {
				w.Start = limiter.InstantOf(time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC))
				w.End = limiter.InstantOf(time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC))
			}
			w.Length = w.End.Sub(w.Start)
			if next := min(end+1, len(name)); !monthly && next > end && strings.IndexByte("-_:T ", name[end]) >= 0 {
				if minute, is := clock(name, next, 0, now); is { // of that day
					minute.From, minute.Form = i, w.Form+name[end:next]+minute.Form
					return minute, true
				}
			}
			return w, true
		}
	}
	return w, false
}

// halves are minutes before and after noon, as Go and as rules write them.
var halves = [...][2]string{{"03:04PM", "%I:%M%p"}, {"0304PM", "%I%M%p"}, {"03:04 PM", "%I:%M %p"}}

// clock reads the hour and the minute of the day, in UTC, that begin at byte i of a name, or the day of the year with its hour.
func clock(name string, i, ends int, now limiter.Instant) (w Window, ok bool) {
	local, start := now.Time().UTC(), now.Floor(time.Hour)
	if ends-i == 5 && (ends == len(name) || !letter(name[ends])) && name[i:ends] == local.Format("00215") {
		return Window{From: i, To: ends, Form: "%j%H", Length: time.Hour, Start: start, End: start.Add(time.Hour)}, true
	}
	for _, half := range halves {
		if after, found := strings.CutPrefix(name[i:], local.Format(half[0])); found && (after == "" || !alphanumeric(after[0])) {
			start = now.Floor(time.Minute)
			return Window{From: i, To: len(name) - len(after), Form: half[1], Length: time.Minute, Start: start, End: start.Add(time.Minute)}, true
		}
	}
	hour, fits := digits(name, i, 2)
	at := i + 2
	if at < len(name) && strings.IndexByte("-.:h", name[at]) >= 0 {
		at++
	}
	minute, also := digits(name, at, 2)
	if !fits || !also || at+2 < len(name) && (digit(name[at+2]) || letter(name[at+2])) || hour != local.Hour() || minute != local.Minute() {
		return w, false
	}
	start = now.Floor(time.Minute)
	return Window{From: i, To: at + 2, Form: "%H" + name[i+2:at] + "%M", Length: time.Minute, Start: start, End: start.Add(time.Minute)}, true
}

// round reads the minute of the hour, or the hour of the day in UTC, behind the word for it.
func round(name string, i, end int, now limiter.Instant) (w Window, ok bool) {
	word := strings.TrimRight(name[:i], separators)
	length := periods[strings.ToLower(word[strings.LastIndexAny(word, separators)+1:])]
	w, ok = ringed(name, i, end, length, now)
	return w, ok && w.Form != "index%1440"
}

// Rounds returns the part of a name that is the number of the window at an instant as it comes round: the second of the minute, the
// minute of the hour or of the day, the day of the week, of the month or of the year, or the month, in UTC.
func Rounds(name string, length time.Duration, at limiter.Instant) (w Window, ok bool) {
	for end, i := 0, 0; i < len(name) && !ok; i = end + 1 {
		if end = strings.IndexAny(name[i:], separators); end < 0 {
			end = len(name) - i
		}
		end += i
		if from := i + 1; end-from > 2 && letter(name[i]) && digit(name[from]) { // d330
			i = from
		}
		w, ok = ringed(name, i, end, length, at)
	}
	return w, ok
}

// ringed reads the bytes of a name from i to end as Rounds does.
func ringed(name string, i, end int, length time.Duration, at limiter.Instant) (w Window, ok bool) {
	n, ok := digits(name, i, end-i)
	if !ok || length <= 0 || end == i || end-i > 4 {
		return w, false
	}
	t, start := at.Time().UTC(), at.Floor(length)
	w = Window{From: i, To: end, Length: length, Start: start, End: start.Add(length)}
	is := func(form string, number int) bool {
		w.Form = form
		return n == number
	}
	for _, cycle := range [...]time.Duration{time.Minute, time.Hour, day} {
		const least = 24 // smaller numbers are versions and ids
		ring := int64(cycle / length)
		if ring >= least && cycle%length == 0 && is(fmt.Sprintf("index%%%d", ring), int(int64(at)/length.Microseconds()%ring)) {
			return w, true
		}
	}
	switch {
	case length >= 28*day:
		return w, is("%m", int(t.Month()))
	case length != day:
		return w, false
	}
	return w, is("%d", t.Day()) || is("%w", int(t.Weekday())) || is("%u", int(t.Weekday()+6)%7+1) || is("%j", t.YearDay())
}

// digits reads exactly n digits at byte i, unless that is beyond the name.
func digits(name string, i, n int) (v int, ok bool) {
	if i+n > len(name) {
		return 0, false
	}
	for ; n > 0 && digit(name[i]); n, i = n-1, i+1 {
		v = 10*v + int(name[i]-'0')
	}
	return v, n == 0
}

// zoneOf returns the zone in which a window of a calendar contains now. It is UTC where that fits; sure is false where it fits other
// zones, too, as hours do. Of days no other zone is told from a day that is over, and of hours none west of Greenwich.
func zoneOf(start, end, now time.Time, length time.Duration) (zone time.Duration, ok, sure bool) {
	if !now.Before(start) && now.Before(end) {
		return 0, true, true
	}
	if length == 0 || length > time.Hour {
		return 0, false, false
	}
	zone = start.Sub(now.Truncate(length)).Round(quarter)
	local := now.Add(zone)
	ok = zone <= 14*time.Hour && zone >= -12*time.Hour && real(zone) && !local.Before(start) && local.Before(end)
	if length == time.Hour {
		return zone, ok && zone > 0, len(Zones(zone, now)) == 1
	}
	return zone, ok, true
}

const quarter = 15 * time.Minute

// Zones returns the zones in use whose hour at an instant is that of a zone of whole hours, which comes first.
func Zones(whole time.Duration, now time.Time) (all []time.Duration) {
	for _, near := range [...]time.Duration{0, -2 * quarter, 2 * quarter, -quarter, quarter, -3 * quarter, 3 * quarter} {
		if zone := whole + near; real(zone) && now.UTC().Add(zone).Truncate(time.Hour).Equal(now.UTC().Add(whole).Truncate(time.Hour)) {
			all = append(all, zone)
		}
	}
	return all
}

// real says whether a zone is in use: a whole hour, or one of the few others.
func real(zone time.Duration) bool {
	switch minutes := zone / time.Minute; minutes % 60 {
	case 0:
		return true
	case 30, -30:
		return minutes >= 210 || minutes == -210 || minutes == -570
	case 45:
		return minutes == 345 || minutes == 525 || minutes == 765
	}
	return false
}

// Numbered returns how long the windows are of which the one of now has a number, counted since 1970; 0 where that is
// none of a usual length.
func Numbered(n int64, now limiter.Instant) time.Duration {
	for _, length := range Lengths {
		if n >= 10_000 && n == int64(now)/length.Microseconds() {
			return length
		}
	}
	return 0
}

// Recent reports whether a number is that of one of the last windows of a usual length, counted since 1970, or of the next one.
func Recent(n int64, now limiter.Instant) bool {
	return n >= 10_000 && slices.ContainsFunc(Lengths[:], func(length time.Duration) bool {
		return numberOf(n, length, now, 120) || numberOf(n, length, now+SinceYear1, 120)
	})
}

// SinceYear1 is how many microseconds .NET had counted in 1970.
const SinceYear1 = 62_135_596_800_000_000

// eras are the forms of the numbers of windows, and the microseconds from where they are counted to 1970.
var eras = [...]struct {
	form  string
	since limiter.Instant
}{{"index", 0}, {"ticks", SinceYear1}}

// number reads the digits of a name from byte i to end as the number of a window, or as the
// instant of its beginning or end.
func number(name string, i, end int, now limiter.Instant) (w Window, ok bool) {
	if end-i < 5 || end-i > 19 || name[i] == '0' || end < len(name) && letter(name[end]) {
		return w, false
	}
	n, err := strconv.ParseInt(name[i:end], 10, 64)
	if err != nil {
		return w, false
	}
	w = Window{From: i, To: end}
	decimal := ""
	if rest, ok := strings.CutPrefix(name[end:], ".0"); ok && (rest == "" || !digit(rest[0])) { // as a division writes it that keeps fractions
		decimal, w.To = ".0", end+2
	}
	for _, era := range eras {
		if length := Numbered(n, now+era.since); length > 0 {
			w.Form, w.Length, w.Start = era.form+decimal, length, now.Floor(length)
			w.End = w.Start.Add(length)
			return w, true
		}
	}
	unit, at := "s", limiter.Instant(n)*1e6
	switch {
	case end-i > 16:
		unit, at = "ns", limiter.Instant(n)/1e3
	case end-i > 13:
		unit, at = "us", limiter.Instant(n)
	case end-i > 10:
		unit, at = "ms", limiter.Instant(n)*1e3
	}
	if now >= at {
		w.Form, w.Start = "start."+unit+decimal, at
	} else {
		w.Form, w.End = "end."+unit+decimal, at
	}
	for _, length := range Lengths {
		if now.Sub(at).Abs() < length && at.Floor(length) == at {
			w.Most = length
		}
	}
	return w, w.Most > 0 || now.Sub(at).Abs() < time.Hour && at.Floor(leastUnusual) == at
}

// leastUnusual is what people count windows of no usual length in.
const leastUnusual = 5 * time.Second
