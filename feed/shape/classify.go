package shape

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
)

// Classify asks for the types of keys, and for a little of their data, to tell which of
// them look like limiters. Two pipelines, whatever the number of keys. With an error NOPERM,
// which is about some of the keys or one of the commands, come those that could be told.
// It returns the commands that this took.
func Classify(ctx context.Context, node redis.Cmdable, keys []string, now limiter.Instant) (finds []Found, cmds []redis.Cmder, err error) {
	if len(keys) == 0 {
		return nil, nil, nil
	}
	types := make([]*redis.StatusCmd, len(keys))
	cmds, err = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			types[i] = p.Type(ctx, k)
		}
		return nil
	})
	if connect.Away(err) {
		return nil, cmds, err
	}
	refused := refusal(err)
	probes := make([]Probe, 0, len(keys))
	more, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			if typ := types[i].Val(); typ != "none" && typ != "" {
				probes = append(probes, AskProbe(ctx, p, k, typ))
			}
		}
		return nil
	})
	cmds = append(cmds, more...)
	if connect.Away(err) {
		return nil, cmds, err
	}
	if refused == nil {
		refused = refusal(err)
	}
	finds = make([]Found, 0, len(probes))
	for i := range probes {
		if f, ok := probes[i].Read(now); ok {
			finds = append(finds, f)
		}
	}
	return finds, cmds, refused
}

// refusal returns the error of a pipeline when it is about a missing permission.
func refusal(err error) error {
	if connect.Code(err) == "NOPERM" {
		return err
	}
	return nil
}

// Probe is a first look at a key of a known type.
type Probe struct {
	key, typ string
	edges    [2]*redis.ZSliceCmd // the lowest and the highest score
	card     *redis.IntCmd
	last     *redis.XMessageSliceCmd
	value    *redis.StringCmd
	ttl      *redis.DurationCmd
	fields   *redis.SliceCmd
}

// LongestNumber is how many bytes of a string's value are fetched: a number has no more.
const LongestNumber = 64

func AskProbe(ctx context.Context, p redis.Pipeliner, key, typ string) Probe {
	pr := Probe{key: key, typ: typ}
	switch typ {
	case "zset":
		pr.edges[0] = p.ZRangeWithScores(ctx, key, 0, 0)
		pr.edges[1] = p.ZRangeWithScores(ctx, key, -1, -1)
		pr.card = p.ZCard(ctx, key)
	case "stream":
		pr.last = p.XRevRangeN(ctx, key, "+", "-", 1)
	case "string":
		pr.value = p.GetRange(ctx, key, 0, LongestNumber-1)
		pr.ttl = p.PTTL(ctx, key)
	case "hash":
		pr.fields = p.HMGet(ctx, key, hashFields...)
		pr.ttl = p.PTTL(ctx, key)
	}
	return pr
}

// Read tells what the key looks like. A key of no known shape comes back as kindWrong, so
// that a rule that names it can complain.
func (p *Probe) Read(now limiter.Instant) (Found, bool) {
	f := Found{Key: p.key, Type: p.typ, Name: p.key, Kind: Wrong, Used: -1}
	switch p.typ {
	case "zset":
		f.Kind = Log
		for _, e := range p.edges {
			z, err := e.Result()
			f.Sure = f.Sure || err == nil && len(z) > 0 && UnitOf(z[0].Score, now) != 0
		}
		if n, err := p.card.Result(); err == nil {
			f.Used = n // some of them may be older than the window
		}
	case "stream":
		f.Kind = Stream
		got, err := p.last.Result()
		if err == nil && len(got) > 0 {
			_, _, f.Sure, _ = CountOf(got[0].Values)
		}
	case "string":
		p.readString(now, &f)
	case "hash":
		values, err := p.fields.Result()
		if err != nil {
			break
		}
		if f.Field, f.Sure = bucketField(values); f.Sure {
			f.Kind = Bucket
		}
	}
	return f, true
}

// readString tells counters and TATs from other strings.
func (p *Probe) readString(now limiter.Instant, f *Found) {
	text, err := p.value.Result()
	ttl, terr := p.ttl.Result()
	if err != nil || terr != nil {
		return
	}
	if base, start, unit, ok := splitStart(p.key, now); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			f.Kind, f.Name, f.Start, f.Unit, f.Sure, f.Used = Counter, base, start, unit, true, n
			return
		}
	}
	if _, _, ok := ReadTAT(text, now, ttl); ok {
		f.Kind, f.Sure = TAT, true
		return
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n < 1e9 {
		f.Kind, f.Used = Single, n
		// An integer that expires is what INCR and EXPIRE leave; without an expiry it is
		// just a number.
		f.Sure = ttl > 0 && ttl <= startPast
	}
}
