package feed

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
)

// classify asks for the types of keys, and for a little of their data, to tell which of
// them look like limiters. Two pipelines, whatever the number of keys.
func classify(ctx context.Context, node redis.Cmdable, keys []string, now limiter.Instant) ([]found, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	types := make([]*redis.StatusCmd, len(keys))
	_, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			types[i] = p.Type(ctx, k)
		}
		return nil
	})
	if away(err) || code(err) == "NOPERM" {
		return nil, err
	}
	probes := make([]probe, 0, len(keys))
	_, err = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			if typ := types[i].Val(); typ != "none" && typ != "" {
				probes = append(probes, askProbe(ctx, p, k, typ))
			}
		}
		return nil
	})
	if away(err) {
		return nil, err
	}
	finds := make([]found, 0, len(probes))
	for i := range probes {
		if f, ok := probes[i].read(now); ok {
			finds = append(finds, f)
		}
	}
	return finds, nil
}

// probe is a first look at a key of a known type.
type probe struct {
	key, typ string
	edges    [2]*redis.ZSliceCmd // the lowest and the highest score
	last     *redis.XMessageSliceCmd
	value    *redis.StringCmd
	ttl      *redis.DurationCmd
	fields   *redis.SliceCmd
}

// longestNumber is the most of a string's value that is fetched.
const longestNumber = 64

func askProbe(ctx context.Context, p redis.Pipeliner, key, typ string) probe {
	pr := probe{key: key, typ: typ}
	switch typ {
	case "zset":
		pr.edges[0] = p.ZRangeWithScores(ctx, key, 0, 0)
		pr.edges[1] = p.ZRangeWithScores(ctx, key, -1, -1)
	case "stream":
		pr.last = p.XRevRangeN(ctx, key, "+", "-", 1)
	case "string":
		pr.value = p.GetRange(ctx, key, 0, longestNumber)
		pr.ttl = p.PTTL(ctx, key)
	case "hash":
		pr.fields = p.HMGet(ctx, key, hashFields...)
		pr.ttl = p.PTTL(ctx, key)
	}
	return pr
}

// read tells what the key looks like. A key of no known shape comes back as kindWrong, so
// that a rule that names it can complain.
func (p *probe) read(now limiter.Instant) (found, bool) {
	f := found{key: p.key, typ: p.typ, name: p.key, kind: kindWrong}
	switch p.typ {
	case "zset":
		f.kind = kindLog
		for _, e := range p.edges {
			z, err := e.Result()
			f.sure = f.sure || err == nil && len(z) > 0 && unitOf(z[0].Score, now) != 0
		}
	case "stream":
		f.kind = kindStream
		got, err := p.last.Result()
		if err == nil && len(got) > 0 {
			_, _, f.sure, _ = countOf(got[0].Values)
		}
	case "string":
		p.readString(now, &f)
	case "hash":
		values, err := p.fields.Result()
		if err != nil {
			break
		}
		if f.field, f.sure = bucketField(values); f.sure {
			f.kind = kindBucket
		}
	}
	return f, true
}

// readString tells counters and TATs from other strings.
func (p *probe) readString(now limiter.Instant, f *found) {
	text, err := p.value.Result()
	ttl, terr := p.ttl.Result()
	if err != nil || terr != nil {
		return
	}
	if base, start, unit, ok := splitStart(p.key, now); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			f.kind, f.name, f.start, f.unit, f.sure = kindCounter, base, start, unit, true
			return
		}
	}
	if _, _, ok := readTAT(text, now, ttl); ok {
		f.kind, f.sure = kindTAT, true
		return
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n < 1e9 {
		f.kind = kindSingle
		// An integer that expires is what INCR and EXPIRE leave; without an expiry it is
		// just a number.
		f.sure = ttl > 0 && ttl <= startPast
	}
}

// wants says what Redis type an algorithm lives in, for the sentence about a wrong one.
func wants(a limiter.Algorithm) string {
	switch a {
	case limiter.SlidingLog:
		return "zset"
	case limiter.StreamCounter:
		return "stream"
	case limiter.TokenBucket, limiter.LeakyBucket:
		return "hash"
	}
	return "string"
}

// article puts a or an before a type.
func article(typ string) string {
	if strings.ContainsRune("aeiou", rune(typ[0])) {
		return "an " + typ
	}
	return "a " + typ
}

// suits says whether data of a kind can be what the algorithm keeps.
func suits(k kind, a limiter.Algorithm) bool {
	switch a {
	case limiter.Unknown:
		return k != kindWrong
	case limiter.SlidingLog:
		return k == kindLog
	case limiter.StreamCounter:
		return k == kindStream
	case limiter.FixedWindow:
		return k == kindCounter || k == kindSingle
	case limiter.SlidingWindow:
		return k == kindCounter
	case limiter.GCRA:
		return k == kindTAT
	case limiter.TokenBucket, limiter.LeakyBucket:
		return k == kindBucket
	}
	return false
}

// newBody returns what reads a find, nil for what cannot be read.
func newBody(f found) body {
	switch f.kind {
	case kindLog:
		return &logBody{key: f.key}
	case kindStream:
		return &streamBody{key: f.key}
	case kindCounter:
		b := &counterBody{base: f.name, own: f.own, unit: f.unit}
		b.meet(f.start)
		return b
	case kindSingle:
		return &singleBody{key: f.key}
	case kindTAT:
		return &valueBody{key: f.key}
	case kindBucket:
		return &valueBody{key: f.key, field: f.field}
	}
	return nil
}
