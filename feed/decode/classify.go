package decode

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// Clock is the clock of the servers that answer.
type Clock struct {
	// Now estimates it.
	Now func() limiter.Instant
	// Asked reports whether TIME tells it: one server answers, and is not known to forbid the command.
	// Nil is never.
	Asked func() bool
}

// A server carries out a pipeline as it comes, so that over a slow link, or where the server stalls, its
// commands are of different instants. TIME therefore stands after every datedKeys keys, and keys whose
// commands took longer than longestStall are Unsure.
const (
	datedKeys    = 4
	longestStall = 25 * time.Millisecond
)

// dated says when the commands of a key were carried out, and whether that was within longestStall.
type dated struct {
	at    limiter.Instant
	quiet bool
}

// pipelined sends commands that read n keys: ask adds those of key i. It returns when each was carried out:
// as TIME says or, where it is not asked, in the middle between sending and receiving. A time to live counts
// from there, which is far from the moment of sending where the server is. The error is of the commands
// alone: a server that forbids TIME is one that is not asked.
func (c Clock) pipelined(
	ctx context.Context, node redis.Cmdable, n int, ask func(p redis.Pipeliner, i int),
) (when func(i int) dated, cmds []redis.Cmder, err error) {
	asks := c.Asked != nil && c.Asked()
	var times []*redis.TimeCmd
	sent := c.Now()
	cmds, err = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range n {
			if asks && i%datedKeys == 0 {
				times = append(times, p.Time(ctx))
			}
			ask(p, i)
		}
		if asks {
			times = append(times, p.Time(ctx))
		}
		return nil
	})
	middle := dated{sent.Add(c.Now().Sub(sent) / 2), true}
	switch {
	case connect.Away(err):
		return func(int) dated { return middle }, cmds, err
	case !asks:
		return func(int) dated { return middle }, cmds, firstError(cmds)
	}
	own := slices.DeleteFunc(slices.Clone(cmds), func(cmd redis.Cmder) bool { return cmd.Name() == "time" })
	return func(i int) dated {
		begun, ended := times[i/datedKeys], times[i/datedKeys+1]
		if begun.Err() != nil || ended.Err() != nil {
			return middle
		}
		return dated{limiter.InstantOf(ended.Val()), ended.Val().Sub(begun.Val()).Abs() <= longestStall}
	}, cmds, firstError(own)
}

// firstError returns the error of the first command that has one, nil where all were answered. How large
// a key is need not be known.
func firstError(cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && cmd.Name() != "object" && cmd.Name() != "memory" {
			return err
		}
	}
	return nil
}

// Classify asks for the types of keys, and for a little of their data, to tell which of
// them are limiters, or look like one. It takes two pipelines, whatever the number of keys,
// and a third one where sibling keys have to agree. With refused, an error NOPERM, which is about some
// of the keys or one of the commands, come those that could be told. A find that is Unsure is to be
// looked at again. It returns the commands that this took. rules may be nil.
func Classify(
	ctx context.Context, node redis.Cmdable, r *Recognizer, keys []string, rules Rules, clock Clock,
) (finds []Found, cmds []redis.Cmder, refused error) {
	run := func(n int, ask func(p redis.Pipeliner, i int)) (when func(i int) dated, err error) {
		when, more, err := clock.pipelined(ctx, node, n, ask)
		cmds = append(cmds, more...)
		if connect.Away(err) {
			return nil, err
		}
		if refused == nil && connect.Code(err) == "NOPERM" {
			refused = err
		}
		return when, nil
	}
	types := make([]*redis.StatusCmd, len(keys))
	typed, err := run(len(keys), func(p redis.Pipeliner, i int) { types[i] = p.Type(ctx, keys[i]) })
	if err != nil {
		return nil, cmds, err
	}
	var probes []*Probe
	var held []int // the keys that exist, and that no rule claims
	libraries := map[int]string{}
	for i, key := range keys {
		typ := types[i].Val()
		if typ == "none" || typ == "" {
			continue
		}
		if rules != nil {
			if own, claimed := rules.Own(key, typ, typed(i).at); claimed {
				finds = append(finds, collect.Map(own, func(m *Match) Found { return m.Told(key, typ) })...)
				continue
			}
			libraries[i] = rules.Library(key)
		}
		held = append(held, i)
	}
	when, err := run(len(held), func(p redis.Pipeliner, i int) {
		probes = append(probes, AskProbe(ctx, p, r, keys[held[i]], types[held[i]].Val(), libraries[held[i]]))
	})
	if err != nil {
		return nil, cmds, err
	}
	more := false
	for i, p := range probes {
		more = p.Read(when(i).at) || more
	}
	beside := when
	if more {
		if beside, err = run(len(probes), func(pipe redis.Pipeliner, i int) { probes[i].AskSiblings(ctx, pipe) }); err != nil {
			return nil, cmds, err
		}
	}
	for i, p := range probes {
		if p.Gone() {
			continue
		}
		f := p.Found(beside(i).at)
		f.Unsure = f.Evidence != model.Known && !(when(i).quiet && beside(i).quiet)
		finds = append(finds, f)
	}
	return finds, cmds, refused
}

// Probe is a first look at a key of a known type: Read takes the answers of AskProbe, and, when
// it says so, AskSiblings has to be asked before Found.
type Probe struct {
	recognizer *Recognizer
	library    string // the one that a rule names; "" any
	fetch      Fetch
	pending    *Pending
	sample     Sample
	gone       bool            // the key had a type, and is not there any more
	at         limiter.Instant // of the sample
	matches    []*Match
	siblings   [][]*Pending // of each match

	encoding *redis.StringCmd // of a hash: whether it is small
	memory   *redis.IntCmd    // of a list, likewise
	whole    *Pending         // of what no library knows and is small: all of it
}

// LongestNumber is how many bytes of a string's value are fetched: a number has no more.
const LongestNumber = 64

// AskProbe adds the commands of a first look at a key to a pipeline. library is the one that a
// rule names for the key, or "".
func AskProbe(ctx context.Context, p redis.Pipeliner, r *Recognizer, key, typ, library string) *Probe {
	pr := &Probe{recognizer: r, library: library, sample: Sample{Key: key, Type: typ}}
	f, ok := r.Survey(key, typ)
	if pr.fetch = f; ok {
		pr.pending = Ask(ctx, p, f)
	}
	switch typ {
	case "hash":
		pr.encoding = p.ObjectEncoding(ctx, key)
	case "list":
		pr.memory = p.MemoryUsage(ctx, key)
	}
	return pr
}

// Bounds of what is read whole, though no library knows it: a few fields, none of them long, as an
// encoding for small hashes tells, and lists of a few pages.
const (
	fewFields  = 8
	fewMembers = 32 << 10 // bytes
)

// small says whether a key that no library knows is so small that all of it can be read.
func (p *Probe) small() bool {
	switch {
	case p.encoding != nil && p.sample.Length > 0 && p.sample.Length <= fewFields:
		return p.encoding.Val() == "listpack" || p.encoding.Val() == "ziplist" || isEmbedded(p.encoding.Err())
	case p.memory != nil:
		return p.memory.Val() > 0 && p.memory.Val() <= fewMembers || isEmbedded(p.memory.Err())
	}
	return false
}

// isEmbedded says whether a server does not know a command that every Redis has: it is one inside a program,
// whose keys are small.
func isEmbedded(err error) bool { return err != nil && strings.Contains(err.Error(), "unknown") }

// Read takes the answers, which are of the instant now. It returns true when siblings have to be
// asked, too.
func (p *Probe) Read(now limiter.Instant) (siblings bool) {
	p.at = now
	if p.pending == nil {
		return p.small()
	}
	typ := p.sample.Type
	s, err := p.pending.Sample()
	if p.gone = err == nil && !s.Exists() && !s.Mismatch; err != nil || !s.Exists() {
		p.sample = Sample{Key: s.Key, Type: typ, Mismatch: true}
		return false
	}
	p.sample = s
	p.matches = p.recognizer.Matches(&p.sample, now, p.library)
	if len(p.matches) == 0 {
		return p.small()
	}
	return len(p.matches[0].Siblings) > 0
}

// Gone reports whether the key ended between the question for its type and that for its value, as many do where the server is far:
// it is neither a limiter nor a faulty one.
func (p *Probe) Gone() bool { return p.gone }

// AskSiblings adds the commands for the keys that have to agree, none where there are none.
func (p *Probe) AskSiblings(ctx context.Context, pipe redis.Pipeliner) {
	p.siblings = make([][]*Pending, len(p.matches))
	for i, m := range p.matches {
		for _, f := range m.Siblings {
			p.siblings[i] = append(p.siblings[i], Ask(ctx, pipe, f))
		}
	}
	certain := slices.ContainsFunc(p.matches, func(m *Match) bool { return len(m.Siblings) == 0 }) // without siblings
	if p.small() && !certain {
		p.whole = Ask(ctx, pipe, Fetch{Key: p.sample.Key, Type: p.sample.Type, Pairs: 2 * fewFields, Ends: 1})
	}
}

// Found tells what the key looks like, by siblings as they were at the instant now. A key of no known form has the kind
// Wrong, so that a rule
// that names it can complain.
func (p *Probe) Found(now limiter.Instant) Found {
	for i, m := range p.matches {
		var got []Sample
		if i < len(p.siblings) {
			got = samples(p.siblings[i], now.Sub(p.at))
		}
		if m.Confirmed(got) {
			return m.found(&p.sample)
		}
	}
	s, at := &p.sample, p.at
	if p.whole != nil {
		if whole, err := p.whole.Sample(); err == nil && whole.Exists() {
			s, at = &whole, now
		}
	}
	f := FormOf(s, at)
	for _, m := range p.matches {
		if f.Refuted = f.Refuted || !m.Shared; m.Shared {
			f.reasons = append(f.reasons, "it may be of "+m.Library.Name+", whose name others use, too: a rule with this library would say so")
		}
	}
	f.Beside = slices.ContainsFunc(p.recognizer.beside, func(is *regexp.Regexp) bool { return is.MatchString(s.Key) })
	return f
}

// samples reads what was asked of siblings; one that cannot be read is as one that is not there.
// They were asked so much later than the key, from whose instant their times to live count, too.
func samples(pending []*Pending, later time.Duration) []Sample {
	got := make([]Sample, len(pending))
	for i, s := range pending {
		var err error
		if got[i], err = s.Sample(); err != nil {
			got[i] = Sample{Key: s.fetch.Key, Type: "none"}
		}
		if got[i].TTL > 0 {
			got[i].TTL += later
		}
	}
	return got
}

// found returns a match as a find.
func (m *Match) found(s *Sample) Found {
	f := Found{Key: s.Key, Type: s.Type, Name: m.Name, Kind: OfLibrary, Match: m}
	if m.Limiter == nil {
		f = m.form()
	}
	f.Sure, f.Used, f.Evidence, f.Library = true, -1, model.Known, m.Library.Name
	return f
}

// FormOf tells by its value alone what form of limiter a key could be; its kind is Wrong where
// it is none.
func FormOf(s *Sample, now limiter.Instant) (f Found) {
	f = Found{Key: s.Key, Type: s.Type, Name: s.Key, Kind: Wrong, Used: -1, Evidence: model.Likely}
	if s.Mismatch {
		return f
	}
	defer f.weigh(s, now)
	switch s.Type {
	case "zset":
		f.Kind, f.Used = Log, s.Length // some of them may be older than the window
		for _, ends := range [...][]Element{s.First, s.Last} {
			f.Sure = f.Sure || len(ends) > 0 && UnitOf(ends[0].Score, now) != 0
		}
	case "stream":
		f.Kind = Stream
		_, f.Sure = s.Entry["count"]
		if n, err := strconv.ParseInt(s.Entry["count"], 10, 64); err != nil || n < 0 {
			f.Sure = false
		}
	case "string":
		formOfString(s, now, &f)
	case "hash":
		if f.Field, f.Sure = bucketField(s.Fields); f.Sure {
			f.Kind = Bucket
		} else if s.TTL > 0 && s.Length <= mostFields || s.Whole && s.Length <= fewFields {
			f.Kind, f.Sure = Opaque, true
		}
	case "list":
		if f.Sure = len(s.First) > 0 && timeOfNow(s.First[0].Member, now); f.Sure || s.countable() {
			f.Kind = Opaque
		}
	case "set":
		if s.countable() {
			f.Kind = Opaque
		}
	}
	return f
}

// countable says whether a list or a set may be counted by its length until it expires.
func (s *Sample) countable() bool { return s.TTL > 0 && s.TTL <= longestWindow && s.Length <= 10_000 }

// mostFields bounds a hash that may be a limiter: one that holds a subject's windows or buckets is
// small, and expires.
const mostFields = 64

// longestWindow is the longest expiry of a counter that may be a limiter: a month.
const longestWindow = 32 * 24 * time.Hour

// formOfString tells counters and TATs from other strings.
func formOfString(s *Sample, now limiter.Instant, f *Found) {
	ttl := s.TTL
	if ttl == model.Forever {
		ttl = -1
	}
	if base, start, unit, ok := splitStart(s.Key, now); ok {
		if n, err := strconv.ParseInt(s.Text, 10, 64); err == nil && n >= 0 {
			f.Kind, f.Name, f.Start, f.Unit, f.Sure, f.Used = Counter, base, start, unit, true, n
			return
		}
	}
	if _, _, ok := ReadTAT(s.Text, now, ttl); ok && !isEnd[s.Key[strings.LastIndexAny(s.Key, ":._-")+1:]] {
		f.Kind, f.Sure = TAT, true
		return
	}
	if ttl > 0 && spansPeriod(s.Text, now, s.Expiry(now)) {
		f.Kind, f.Sure, f.Telling = Opaque, true, true
		return
	}
	if fields, list := numbersOf(s.Text); fields != nil || list != nil || ttl > 0 && (timeOfNow(s.Text, now) || isFraction(s.Text)) {
		f.Kind, f.Sure = Opaque, true
		return
	}
	if n, err := strconv.ParseInt(s.Text, 10, 64); err == nil && n > -1e9 && n < 1e9 {
		f.Kind, f.Used = Single, max(n, 0)
		// An integer that expires is what INCR and EXPIRE leave; without an expiry it is
		// just a number, and below 0 it is no count of what was used.
		f.Sure = ttl > 0 && ttl <= longestWindow && n >= 0
	} else if err != nil && ttl > 0 && ttl <= 24*time.Hour && s.Text != "" && (len(s.Text) <= shortText || strings.HasPrefix(s.Text, "HYLL")) {
		f.Kind = Opaque // it may deny by being there
	}
}

// shortText is how long a text may be that is written to be there: an id, or a word.
const shortText = 40
