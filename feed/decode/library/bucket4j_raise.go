package library

import (
	"encoding/binary"
	"errors"
	"math/big"

	"ratescope/limiter"
	"ratescope/model"
)

// errSeveralLimits is the error of a bucket with several limits.
var errSeveralLimits = errors.New("the bucket has several limits, of which ratescope changes none: call replaceConfiguration in its " +
	"application")

// RaiseBucket4j returns the value of a bucket whose limit is raised by so many units, and that limit
// before; below 0 it is lowered. It does what replaceConfiguration with TokensInheritanceStrategy.ADDITIVE
// does: what has come back until now comes at the rate until now, then the bucket gets as many tokens more. What
// else the value holds stays byte by byte. Where the whole capacity comes back in a period, so
// does what is added.
func RaiseBucket4j(text string, units int64, now limiter.Instant) (raised string, was limiter.Limit, err error) {
	limits, ok := readBucket4j(text, now)
	switch {
	case !ok:
		return "", was, errors.New("the key holds no state of Bucket4j: look at it with ratescope peek")
	case len(limits) > 1:
		return "", was, errSeveralLimits
	}
	one := limits[0]
	was = one.limit()
	one.refillTo(int64(now) * 1000)
	b := []byte(text)
	put := func(at int, n int64) { binary.BigEndian.PutUint64(b[at:], uint64(n)) }
	if one.refill == one.capacity {
		put(model.Bucket4jRefill, one.refill+units)
	}
	put(model.Bucket4jCapacity, one.capacity+units)
	put(one.sizeAt-8, one.Last)
	put(one.sizeAt, one.Size+units)
	put(one.sizeAt+8, one.RoundingError)
	return string(b), was, nil
}

// refillTo adds the tokens that have come back until an instant in nanoseconds, as Bucket4j does: the
// rest of a token is kept in parts of the period.
func (b *bandwidth) refillTo(now int64) {
	elapsed := now - b.Last
	if b.intervally && elapsed > 0 {
		elapsed -= elapsed % b.period
	}
	if elapsed <= 0 {
		return
	}
	parts := new(big.Int).Mul(big.NewInt(elapsed), big.NewInt(b.refill))
	parts.Add(parts, big.NewInt(b.RoundingError))
	tokens, rest := parts.QuoRem(parts, big.NewInt(b.period), new(big.Int))
	tokens.Add(tokens, big.NewInt(b.Size))
	b.Last += elapsed
	if tokens.Cmp(big.NewInt(b.capacity)) >= 0 {
		b.Size, b.RoundingError = b.capacity, 0
		return
	}
	b.Size, b.RoundingError = tokens.Int64(), rest.Int64()
}
