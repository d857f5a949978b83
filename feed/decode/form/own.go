package form

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model"
)

// Own is a limiter of an application's own, read as its layout says.
type Own struct {
	layout *Layout
	match  Match

	typ    string            // of the leading key
	starts []limiter.Instant // of the windows that were fetched, the current one first
	end    limiter.Instant   // of the current one
	beside map[*Template]int // where the samples of other keys are
	keys   int               // how many keys Fetch asked for
	last   limiter.Algorithm // that the data showed
}

// Limiter returns the limiter of a match. typ is the Redis type of its leading key, "" where that is not known.
func (l *Layout) Limiter(m Match, typ string) *Own {
	if types := l.types(); typ == "" || m.Member {
		if typ = "string"; types != nil {
			typ = types[0]
		}
	}
	return &Own{layout: l, match: m, typ: typ, last: l.settings().Algorithm}
}

// Row returns what the limiter's keys have in common, which may be the name of other limiters' rows, too.
func (o *Own) Row() string { return o.layout.Row.render(o.match.Parts, "") }

// Name returns the name of the limiter's row: what its keys have in common, with a label where others have that, too.
func (o *Own) Name() string {
	if o.layout.Label != "" {
		return o.Row() + ":" + o.layout.Label
	}
	return o.Row()
}

// BlockKey returns the key that denies everything while it exists, "" for none.
func (o *Own) BlockKey() string {
	return o.layout.Block.Key.render(o.match.Parts, "")
}

// Settings returns how the limiter limits, as far as its rule says.
func (o *Own) Settings() decode.Settings { return o.layout.settings() }

// Same reports whether another find is of the limiter that o reads, and not of one whose windows begin
// elsewhere.
func (o *Own) Same(other decode.Limiter) bool {
	with, ok := other.(*Own)
	return ok && with.layout == o.layout && (with.match.Member || with.match.origin == o.match.origin && with.match.window == o.match.window)
}

// Fetch reads the leading key, or those of the windows that count, and the keys beside.
func (o *Own) Fetch(now limiter.Instant) (all []decode.Fetch) {
	l := o.layout
	lead := decode.Fetch{Type: o.typ}
	switch o.typ {
	case "hash":
		more := []*Source{{Kind: "field", Name: l.Plus}, {Kind: "field", Name: l.Capacity}}
		for _, s := range append(more, &l.Read, &l.Ends, &l.Amount, &l.At, &l.Rate, &l.Block) {
			if s.Kind == "field" && s.Name != "" {
				lead.Fields = append(lead.Fields, s.Name)
			}
		}
		if l.Read.Kind == "hash" || l.Read.Kind == "fields" {
			lead.Pairs = mostEntries
		}
	case "zset", "list":
		if l.Read.Kind != "present" && l.Read.Kind != "length" {
			lead.Ends = mostEntries / 2
		}
	case "string":
		if l.Read.Kind == "json" || l.Amount.Kind == "json" || l.At.Kind == "json" {
			lead.Bytes = wholeString
		}
	}
	o.starts = o.starts[:0]
	text := ""
	if form := l.Name.window; form != nil {
		start, end := form.bounds(now, o.match.window, o.match.origin, l.Zone)
		o.end, text = end, form.format(start, end, l.Zone)
		for range l.counted() {
			lead.Key = l.Name.render(o.match.Parts, form.format(start, end, l.Zone))
			all = append(all, lead)
			o.starts = append(o.starts, start)
			start, end = form.bounds(start-1, o.match.window, o.match.origin, l.Zone)
		}
	} else {
		lead.Key = l.Name.render(o.match.Parts, "")
		all = append(all, lead)
	}
	o.beside = make(map[*Template]int)
	for _, t := range l.beside() {
		if !t.Blank() {
			o.beside[t] = len(all)
			all = append(all, decode.Fetch{Key: t.render(o.match.Parts, text), Type: "string"})
		}
	}
	o.keys = len(all)
	return all
}

// mostEntries is how many entries of a log, or fields of a hash, are read; of one with more nothing is known
// but how many there are.
const mostEntries = 2000

// Decode returns what the keys mean. What is not known is Partial, never 0.
func (o *Own) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	l := o.layout
	d := decode.Decoded{Settings: l.settings(), Type: "none", Charged: l.Charged, Members: Members(got)}
	leads := got[:max(len(o.starts), 1)]
	for i := len(leads) - 1; i >= 0; i-- {
		if leads[i].Exists() {
			d.Type, d.TTL = leads[i].Type, leads[i].TTL
		}
	}
	fault := ""
	switch {
	case l.Read.Kind == "bucket" || l.Read.Kind == "level":
		fault = o.bucket(&d, now, got)
	case !leads[0].Exists() && len(leads) == 1:
		if d.Algorithm = o.last; describe.KindOf(d.Algorithm) == describe.Log {
			d.State.Log = []limiter.Entry{}
		}
	case l.Read.Kind == "tat":
		at, ok := l.At.instant(&leads[0], o.sample(&l.At.Key, got), l.Unit, now)
		if d.State.TAT = at; !ok {
			fault = "no theoretical arrival time (TAT)"
		}
	case l.Read.Kind == "fields":
		fault = o.slices(&d, now, &leads[0])
	case d.Algorithm == limiter.SlidingLog && l.Sum < 2:
		fault = o.log(&d, now, &leads[0])
	default:
		fault = o.count(&d, now, got)
	}
	if fault != "" {
		d.Err = "holds " + fault + ": correct its rule, or remove the key"
	}
	if n, ok := o.beside[&l.Block.Key]; ok && got[n].Exists() {
		o.block(&d, now, &got[n])
	} else if l.Block.Kind == "field" {
		until, timed := l.Block.instant(&leads[0], nil, l.Unit, now) // 0, which blocks nothing, where it holds no time
		n, _ := l.Block.number(&leads[0], nil)
		d.State.BlockedUntil = until
		d.Partial = d.Partial || until > 0 && until <= now && d.TTL == model.Forever || // the next request may begin anew after a block
			!timed && n >= 1e9 // a number that is no time of these years may mean a block without end
	}
	o.last, d.Span = d.Algorithm, 0
	return d
}

func (o *Own) sample(t *Template, got []decode.Sample) *decode.Sample {
	if n, ok := o.beside[t]; ok {
		return &got[n]
	}
	return &decode.Sample{Type: "none"}
}

// block takes the key that denies everything: until it expires, or until the time that it holds.
func (o *Own) block(d *decode.Decoded, now limiter.Instant, s *decode.Sample) {
	switch until, ok := (&Source{}).instant(s, nil, o.layout.Unit, now); {
	case s.TTL > 0:
		d.State.BlockedUntil = Expiry(now, s.TTL)
	case !ok:
		d.Partial = true
	case until <= now:
		return
	default:
		d.State.BlockedUntil = until
	}
	if d.Type == "none" {
		d.Type, d.TTL = s.Type, s.TTL
	}
}

// count reads one number a window: what was used, or what is left.
func (o *Own) count(d *decode.Decoded, now limiter.Instant, got []decode.Sample) (fault string) {
	l := o.layout
	leads := got[:max(len(o.starts), 1)]
	counts := make([]int64, len(leads))
	for i := range leads {
		n, ok := l.number(&leads[i])
		if !ok || n < 0 && !l.Left {
			if value, found := jsonAt(leads[i].Text, l.Read.Name); l.Read.Kind == "json" && found {
				if _, isList := value.([]any); isList {
					d.Algorithm, d.Convention.Alignment = limiter.SlidingLog, convention.Epoch
					return o.log(d, now, &leads[i])
				}
			}
			return "no number where its rule says that it counts"
		}
		if l.Weight == "" && n > 0 && l.Read.Kind != "length" && l.Read.Kind != "present" {
			d.Counts = append(d.Counts, n)
		}
		if l.Left && leads[i].Exists() {
			n = d.Limit.Count - n
			if d.Partial = d.Partial || d.LimitFrom == model.NoLimit || n < 0; n < 0 {
				d.Notes = append(d.Notes, model.LeftAbove)
			}
		}
		if counts[i] = max(n, 0); decode.Serialized(leads[i].Text) != "" {
			d.Notes = append(d.Notes, model.Serialized)
		}
	}
	lead := &leads[0]
	switch l.Ends.Kind {
	case "name":
		o.windowed(d, counts)
		return ""
	case "expiry":
		d.State.Current = counts[0]
		Until(d, now, lead.TTL, false)
		if l.Read.Kind == "present" && d.Window == 0 {
			d.State.Start = now
		}
		return ""
	}
	if l.Ends.Kind == "field" && l.Ends.Unit == 0 {
		index, ok := l.Ends.number(lead, nil)
		if !ok {
			return "no number of a window in " + l.Ends.Name
		}
		if d.State.Start = now.Floor(d.Window); int64(index) == int64(now)/d.Window.Microseconds() {
			d.State.Current = counts[0]
		}
		d.Convention.Alignment = convention.Epoch
		return ""
	}
	beside := o.sample(&l.Ends.Key, got)
	ends, ok := l.Ends.instant(lead, beside, l.Unit, now)
	switch {
	case !ok && l.Ends.Kind == "key" && !beside.Exists():
		d.Partial = true // whether what is read still counts is not known
	case !ok:
		return "no time where its rule says that it ends"
	case ends > now:
		d.State.Current, d.Ends = counts[0], ends
		d.State.Start = ends.Add(-d.Window)
	default:
		d.State.Start = now
	}
	return ""
}

// number reads what was used, or is left, in one window; 0 of a key that does not exist.
func (l *Layout) number(s *decode.Sample) (n int64, ok bool) {
	switch {
	case !s.Exists():
		return 0, !s.Mismatch
	case l.Read.Kind == "length":
		return s.Length, true
	case l.Read.Kind == "present":
		return max(l.Limit.Count, 1), true
	}
	text, held := l.Read.text(s, nil)
	if !held && l.Read.Kind == "field" {
		return 0, s.Type == "hash"
	}
	v, ok := (&Source{}).number(&decode.Sample{Type: "string", Text: text}, nil)
	if math.Abs(v) > limiter.MaxCount {
		return 0, false
	}
	if v /= l.each(); l.Left {
		return int64(math.Floor(v)), ok
	}
	return int64(math.Ceil(v)), ok
}

// each returns how much one request counts.
func (l *Layout) each() float64 {
	n, _ := strconv.ParseUint(l.Weight, 10, 32)
	return float64(max(n, 1))
}

// windowed places counters whose names hold their windows.
func (o *Own) windowed(d *decode.Decoded, counts []int64) {
	l, start := o.layout, o.starts[0]
	w := o.end.Sub(start)
	d.State.Start, d.State.Current = start, counts[0]
	if d.Window = w; int64(start)%w.Microseconds() == 0 {
		d.Convention.Alignment = convention.Epoch
	} else if l.Weigh == "" && l.Sum < 2 {
		d.Ends = o.end
	}
	switch {
	case l.Sum > 1:
		d.State.Log, d.State.Current = []limiter.Entry{}, 0
		d.Window = o.end.Sub(o.starts[len(o.starts)-1])
		for i := len(counts) - 1; i >= 0; i-- {
			if counts[i] > 0 {
				d.State.Log = append(d.State.Log, limiter.Entry{At: o.starts[i], Count: counts[i]})
			}
		}
	case l.Weigh != "":
		d.State.PreviousStart, d.State.Previous, d.PreviousKnown = o.starts[1], counts[1], true
	}
	d.Limit.Window = d.Window
}

// bucket reads what is in a bucket, and when it was.
func (o *Own) bucket(d *decode.Decoded, now limiter.Instant, got []decode.Sample) (fault string) {
	l, lead := o.layout, &got[0]
	amount, known := l.Amount.number(lead, o.sample(&l.Amount.Key, got))
	at, timed := l.At.instant(lead, o.sample(&l.At.Key, got), l.Unit, now)
	switch {
	case !known && !timed && !lead.Exists(), len(d.Members) == 1 && o.sample(&l.Block.Key, got).Exists():
		return ""
	case !known:
		return "no number where its rule says that the amount stands"
	case !timed:
		return "no time where its rule says that the time of its amount stands"
	}
	if fault = l.ownRate(d, lead); fault != "" {
		return fault
	}
	if at > now.Add(decode.ClientAhead) {
		d.Partial, d.Notes = true, append(d.Notes, model.ClockAhead)
	}
	if amount /= l.each(); l.Read.Kind == "level" && l.Weight == "" && amount > 0 && amount < limiter.MaxCount {
		d.Counts = append(d.Counts, int64(math.Ceil(amount)))
	}
	if d.Algorithm == limiter.FixedWindow { // a level that drains at once
		ends := at.Add(d.Window)
		if d.State.Start = at; d.Window > 0 && ends > now {
			d.State.Current, d.Ends = int64(math.Ceil(min(max(amount, 0), limiter.MaxCount))), ends
		} else {
			d.State.Start, d.Partial = now, d.Partial || d.Window == 0
		}
		return ""
	}
	step := Emission(d.Settings)
	if l.Read.Kind == "bucket" {
		if d.LimitFrom != model.NoLimit && amount > float64(max(d.Limit.Count, d.Limit.Burst))+0.5 { // it counts in parts, or holds a burst
			d.Partial, d.Notes = true, append(d.Notes, model.LeftAbove)
		}
		if l.Refill != "" {
			step = 0 // what came is whole, so that a rest of a token stays one
		}
		SetTokens(d, amount, at, step)
		return ""
	}
	if l.Plus != "" {
		more, ok := (&Source{Kind: "field", Name: l.Plus}).number(lead, nil)
		if !ok && lead.Fields[l.Plus] != "" {
			return "no number in " + l.Plus
		}
		amount, at = Added(amount, max(more, 0), at, now, step)
	}
	SetWater(d, amount, at, step)
	return ""
}

// ownRate takes rate and capacity of a bucket that holds them.
func (l *Layout) ownRate(d *decode.Decoded, lead *decode.Sample) (fault string) {
	capacity, full := (&Source{Kind: "field", Name: l.Capacity}).number(lead, nil)
	rate, drips := l.Rate.number(lead, nil)
	switch {
	case l.Capacity != "" && (!full || capacity < 1 || capacity > limiter.MaxCount):
		return "no capacity in " + l.Capacity
	case l.Rate.Kind != "" && (!drips || rate <= 0):
		return "no rate in " + l.Rate.Name
	case l.Capacity != "":
		d.Limit.Burst = int64(capacity)
	}
	if l.Rate.Kind != "" {
		per := cmp.Or(l.Rate.Unit, time.Second)
		count := max(d.Limit.Burst, 1)
		w := time.Duration(math.Round(float64(count)/rate*float64(per)/1e3)) * time.Microsecond
		if w < limiter.MinWindow || w > limiter.MaxWindow {
			return "a rate that is out of range in " + l.Rate.Name
		}
		d.Limit.Count, d.Limit.Window, d.Window, d.LimitFrom = count, w, w, model.LimitOfKey
	}
	return ""
}
