package library

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// state is a layout of libraries.yaml: keys of one limiter that are read together. Numbers stand in fields of the leading key, a hash
// or JSON, or are strings, which are called by their places among the keys: "0", "1".
type state struct {
	Keys   []string       // their names, the leading one first; * stands for who is limited
	Fields []string       // of the leading key; JSON has no others
	Hash   bool           // it is a hash
	Text   *regexp.Regexp // what it is like where it is none, unless a rule names the library; none is anything
	Only   bool           // which has no other fields
	Named  bool           // a rule has to name the library
	Shared bool           // as decode.Match.Shared
	Who    *regexp.Regexp // what * stands for; a group is what differs between limiters of a kind, an empty one where that begins
	Client string         // "is", "ends": that is the address of a client, or ends in one
	Like   *regexp.Regexp // the same where a rule names the library; none is anything
	Not    *regexp.Regexp // names that are none
	But    *regexp.Regexp // names that are none unless a rule names the library
	Kind   string         // "begins": what stands around * is of all limiters of a kind; "alone": none is; else as form.PrefixOf says
	Why    []string       // the evidence, for a person
	Holds  string         // as form.Reader.Holds

	Count, Left, Tokens, Level string        // where what was used stands, or is left; one of them
	Limit, Window              string        // where the limit stands, and the milliseconds of a window that begins at At; "" nowhere
	At                         string        // where it stands when that was true
	Until                      string        // where it stands when a count ends; "" with its key
	Unit                       time.Duration // of these times, whole ones below a second; 0 are dates
	Recent                     time.Duration // how long ago At may be; 0 is any time

	Per    float64           // parts that a unit of Level has; 0 is 1
	Plus   string            // where it stands what is in Level beside and does not drain
	Serves bool              // a request that is served is neither in Level nor in the burst
	Lives  bool              // the window is how long the key of At lives from then on, in whole seconds
	Waits  time.Duration     // for which a request may wait for a token, or that part of the time between two of them
	Steps  bool              // what comes back comes at whole seconds
	Usual  map[string]string // what else the fields hold; else it is not known how much is used

	Block          int  // the place of a key that denies everything until it expires; 0 none
	Blocks         bool // that holds 1 and may be there alone
	Forever        bool // the keys may be without an expiry
	Charged, Hides bool // as in form.Reader
	Prolongs       bool // the expiry of a counter that is over its limit may be prolonged
	Renewed        bool // a counter without an expiry counts for nothing: the next request begins a window
	Partial        bool // how much is used now is not known
	Batches, Burst bool // tokens come at the end of an interval; the limit needs a burst

	Fills, Derives bool // two strings are the bucket of form.LeftBucket, which may derive its rate

	TAT         time.Duration // the unit of a theoretical arrival time in a string; 0 is none
	Since       int64         // the second since 1970 from which it counts
	Early, Late time.Duration // by how much sooner or later than then the key may expire

	Spans    int64 // for how many windows the key of a counter, or of a log, lives after its last request
	counters `yaml:",inline"`
	logs     `yaml:",inline"`
}

// recognize returns the match of a key that is one of the layout's.
func (k *state) recognize(s *decode.Sample, c decode.Context) *decode.Match {
	begins := func(name string) bool {
		before, _, _ := strings.Cut(name, "*")
		return strings.HasPrefix(s.Key, before)
	}
	switch { // what takes least time first, for this is asked of each key of a server
	case k.Named && !c.Named, k.Hash != (s.Type == "hash") && !k.Blocks, (k.Log > 0) != (s.Type == "zset"), s.TTL <= 0 && !k.Forever,
		k.Hash && s.Type == "hash" && s.Fields[k.Fields[0]] == "", !c.Named && !slices.ContainsFunc(k.Keys, begins),
		k.TAT > 0 && !k.arrival(&decode.Decoded{}, c.Now, s, decode.Settings{}),
		strings.HasPrefix(s.Text, "-") && !k.Forever && k.Left == "", k.Not != nil && k.Not.MatchString(s.Key),
		!c.Named && (k.Text != nil && !k.Text.MatchString(s.Text) || k.But != nil && k.But.MatchString(s.Key)):
		return nil
	case k.Index != "":
		return k.window(s, c)
	case k.Log > 0:
		return k.log(s, c)
	}
	m, i, keys := k.named(s.Key, c)
	if m == nil {
		return nil
	}
	r, d := k.reader(keys), decode.Decoded{}
	if i == 0 && k.Count != "" && k.Until == "" && !k.Partial && (!k.Prolongs || s.Text == "1") {
		m.Span = s.TTL
	}
	switch m.Limiter, m.Algorithm = r, r.Settings.Algorithm; {
	case k.Hash && i > 0 != (s.Type == "string"):
	case !k.Blocks:
		return r.Match(s, c, *m)
	case i > 0 && s.Text == "1", i == 0 && r.Read(&d, c.Now, []decode.Sample{*s}, decode.Settings{}):
		return m
	}
	return nil
}

// named returns the match of a name that is one of the layout's, which of them it is, and all of them; nil where it is none.
func (k *state) named(key string, c decode.Context) (m *decode.Match, i int, keys []string) {
	for i, name := range slices.Backward(k.Keys) {
		before, after, _ := strings.Cut(name, "*")
		who, begins := strings.CutPrefix(key, before)
		who, ends := strings.CutSuffix(who, after)
		if begins = begins && ends && who != ""; !begins && (!c.Named || len(k.Keys) > 1) {
			continue
		}
		keys = make([]string, len(k.Keys))
		for n, name := range k.Keys {
			if keys[n] = key; begins {
				keys[n] = strings.Replace(name, "*", who, 1)
			}
		}
		m = &decode.Match{Name: keys[0], Why: k.Why, Shared: k.Shared && !c.Named}
		if !k.kind(m, who, begins, c.Named) {
			return nil, 0, nil
		}
		return m, i, keys
	}
	return nil, 0, nil
}

// kind sets what limiters of m's kind have in common, and reports whether who, which stands for * where the name begins so, is
// one that is limited.
func (k *state) kind(m *decode.Match, who string, begins, named bool) bool {
	before, after, _ := strings.Cut(k.Keys[0], "*")
	switch prefix := form.PrefixOf(m.Name); {
	case k.Kind == "begins":
		m.Prefix, m.Suffix = before, after
	case k.Kind == "" && (prefix != "" || !begins):
		m.Prefix = prefix
	case k.Kind == "":
		m.Prefix = before
	}
	is := begins
	if k.Who != nil {
		found := k.Who.FindStringSubmatchIndex(who)
		if is = found != nil; !is && named && k.Like != nil {
			found, named = k.Like.FindStringSubmatchIndex(who), false
			is = found != nil
		}
		for n := 2; n+1 < len(found); n += 2 {
			if found[n] >= 0 {
				m.Prefix = before + who[:found[n]]
			}
			if found[n+1] > found[n] {
				m.Suffix = who[found[n+1]:] + after
			}
		}
	}
	switch k.Client {
	case "is":
		is = is && form.IsAddress(who)
	case "ends":
		is = is && form.IsAddress(who[len(form.PrefixOf(who)):])
	}
	return is || named
}

// reader returns the limiter of keys.
func (k *state) reader(keys []string) *form.Reader {
	if k.Fills {
		return form.LeftBucket(keys[0], keys[1], k.Derives)
	}
	r := &form.Reader{Keys: form.Texts(keys...), Settings: form.FromFirst, Charged: k.Charged, Hides: k.Hides,
		Holds: cmp.Or(k.Holds, "count"), Read: k.read, Block: k.Block}
	switch {
	case k.Hash:
		r.Keys[0].Type, r.Keys[0].Fields = "hash", k.Fields
	case k.Fields != nil:
		r.Keys[0].Bytes = 128 // more than the JSON of a limiter has
	}
	if k.TAT > 0 {
		r.Settings, r.Holds = decode.Settings{Algorithm: limiter.GCRA}, "theoretical arrival time (TAT) of its library"
	}
	if k.Tokens != "" || k.Level != "" {
		r.Settings = decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: k.Burst}
	}
	if k.Level != "" {
		r.Settings.Algorithm = limiter.LeakyBucket
	}
	if k.Serves {
		r.Limit = func(d *decode.Decoded, given decode.Settings) {
			given.Limit.Burst, given.Limit.Window = min(given.Limit.Burst, limiter.MaxCount-1)+1, given.Window
			form.Translate(d, given, given.Limit)
		}
	}
	if k.Batches {
		r.Settings.Convention.Refill = convention.Interval
	}
	return r
}

// held returns what the keys hold, by the names of fields or by places.
func (k *state) held(got []decode.Sample) (values map[string]string, ok bool) {
	switch lead := &got[0]; {
	case k.Hash:
		return lead.Fields, !k.Only || lead.Length == int64(len(k.Fields))
	case k.Fields != nil:
		var object map[string]json.RawMessage // a number in quotes is none
		ok = json.Unmarshal([]byte(lead.Text), &object) == nil && len(object) == len(k.Fields)
		values = make(map[string]string)
		for name, v := range object {
			values[name] = string(v)
			ok = ok && slices.Contains(k.Fields, name)
		}
		return values, ok
	}
	values = make(map[string]string)
	for i := range got {
		values[strconv.Itoa(i)] = got[i].Text
	}
	return values, true
}

// facts are what keys hold, by the names of fields or by places; ok is false where something is not what it should be.
type facts struct {
	values map[string]string
	ok     bool
}

func (f *facts) number(name string) float64 {
	v, is := form.Number(f.values[name])
	f.ok = f.ok && is && v <= limiter.MaxCount
	return v
}

func (f *facts) instant(name string, unit time.Duration, now limiter.Instant) (at limiter.Instant) {
	is := true
	switch v, isNumber := form.Number(f.values[name]); {
	case name == "":
	case unit == 0:
		at, is = decode.TimeText(strings.Trim(f.values[name], `"`))
	default:
		whole := unit == time.Second || v == math.Trunc(v)
		at, is = decode.InstantIn(v, unit), isNumber && whole && decode.UnitOf(v, now) == unit
	}
	f.ok = f.ok && is
	return at
}

// read puts what the keys hold into d.
func (k *state) read(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
	if k.TAT > 0 {
		return k.arrival(d, now, &got[0], given)
	}
	f := &facts{}
	f.values, f.ok = k.held(got)
	at, until := f.instant(k.At, k.Unit, now), f.instant(k.Until, k.Unit, now)
	age := now.Sub(at)
	f.ok = f.ok && (k.Until == "" || until >= at) && (k.Recent == 0 || age > -clientAhead && age < k.Recent+clientAhead)
	if len(got) > 1 && !k.Blocks && !k.Forever { // what says until when something counts ends then, too
		f.ok = f.ok && got[1].TTL > 0 && (k.Until == "" || got[1].Expiry(now).Sub(until).Abs() <= form.Latency)
	}
	if k.Limit != "" {
		d.Limit.Count, d.LimitFrom = int64(f.number(k.Limit)), model.LimitOfKey
		f.ok = f.ok && d.Limit.Count > 0
	}
	if k.Window != "" {
		d.Window = form.Milliseconds(int64(f.number(k.Window)))
		until = at.Add(d.Window - k.Unit)
	}
	if k.Lives {
		lives := got[1].Expiry(now).Sub(at)
		d.Window = lives.Round(time.Second)
		given.Window = d.Window
		f.ok = f.ok && (got[0].TTL-got[1].TTL).Abs() <= 2*form.Latency && (lives-d.Window).Abs() <= 2*form.Latency
	}
	if k.Window != "" || k.Lives {
		f.ok = f.ok && d.Window > 0 && d.Window <= limiter.MaxWindow
	}
	for name, usual := range k.Usual {
		f.number(name)
		d.Partial = d.Partial || f.values[name] != usual
	}
	if k.Tokens != "" || k.Level != "" {
		return k.bucket(d, now, f, at, form.Emission(given), given.Limit.Burst)
	}
	return k.count(d, now, f, until, got[0].TTL, given.Limit.Count)
}

// bucket puts what is in a bucket into d, of which a unit comes or goes every step microseconds. A burst of 0 is not known.
func (k *state) bucket(d *decode.Decoded, now limiter.Instant, f *facts, at limiter.Instant, step float64, burst int64) bool {
	amount := f.number(cmp.Or(k.Tokens, k.Level))
	if k.Steps && step > 0 {
		amount, at = stepped(amount, at, now, step, k.Level != "", burst)
	}
	switch {
	case k.Partial:
		d.Partial = true
	case k.Tokens != "":
		f.ok = f.ok && (!k.Batches || amount >= 0 && amount == math.Trunc(amount))
		if form.SetTokens(d, amount, at, step); k.Waits > 0 && step > 0 {
			d.State.Filled -= limiter.Instant(float64(k.Waits.Microseconds()) / math.Max(math.Floor(1e6/step), 1))
		}
	default:
		f.ok = f.ok && amount >= 0
		if amount /= cmp.Or(k.Per, 1); k.Serves {
			amount++
		}
		if more, _ := form.Number(f.values[k.Plus]); more > 0 {
			amount, at = form.Added(amount, more, at, now, step)
		}
		form.SetWater(d, amount, at, step)
	}
	return f.ok
}

// stepped brings an amount of whole units to now, and returns the instant from which on the next one comes back in the whole second
// in which it does: floor(seconds × rate) have come since the second of at.
func stepped(amount float64, at, now limiter.Instant, step float64, leaks bool, burst int64) (float64, limiter.Instant) {
	back := math.Floor(math.Max(float64((now.Floor(time.Second)-at)), 0) / step)
	at += limiter.Instant(math.Ceil((back+1)*step/1e6)*1e6 - step)
	if back = math.Min(back, limiter.MaxCount); leaks {
		return math.Max(amount-back, 0), at
	}
	return math.Min(math.Max(amount+back, 0), float64(cmp.Or(burst, limiter.MaxCount))), at
}

// count puts what was used until an instant, or until the key expires, into d.
func (k *state) count(d *decode.Decoded, now limiter.Instant, f *facts, until limiter.Instant, ttl time.Duration, given int64) bool {
	used, whole := form.Signed(f.values[cmp.Or(k.Count, k.Left)])
	limit := max(d.Limit.Count, given)
	if k.Left != "" {
		if !k.Charged { // what is below zero is no use
			used = max(used, 0)
		}
		used = limit - used
		if d.Partial = limit == 0 || used < 0; k.Hash {
			used = max(used, 0) // more is left than it is filled to
		}
	}
	switch {
	case !f.ok || !whole || k.Limit != "" && used < 0:
		return false
	case k.Partial:
		d.Partial, d.Window = true, 0
	case until != 0: // it is over after that millisecond
		d.Ends, d.State.Start = until.Add(k.Unit), now
		if d.Window > 0 {
			d.State.Start = d.Ends.Add(-d.Window)
		}
		if now < d.Ends {
			d.State.Current = used
		}
		if d.Span = ttl; ttl == model.Forever {
			d.Span = d.Ends.Sub(now)
		}
	default:
		if d.State.Current = max(used, 0); ttl == model.Forever && k.Renewed {
			d.State.Current = 0
		}
		form.Until(d, now, ttl, k.Prolongs && !(limit > 0 && used <= limit))
	}
	return true
}

// counted returns the match of a counter whose name is prefix and something.
func counted(s *decode.Sample, charged bool, prefix string, why ...string) *decode.Match {
	k := &state{Count: "0", Charged: charged}
	return &decode.Match{Settings: decode.Settings{Algorithm: limiter.FixedWindow}, Prefix: prefix, Span: s.TTL,
		Why: append(why, "an integer that expires"), Limiter: k.reader([]string{s.Key})}
}
