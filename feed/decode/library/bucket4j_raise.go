package library

import (
	"encoding/binary"
	"errors"

	"ratescope/limiter"
	"ratescope/model"
)

// errSeveralLimits is the error of a bucket with several limits.
var errSeveralLimits = errors.New("the bucket has several limits, of which ratescope changes none: call replaceConfiguration in its application")

// RaiseBucket4j returns the value of a bucket whose limit is raised by so many units, and that limit
// before; below 0 it is lowered. The bucket gets as many tokens more, as replaceConfiguration with
// TokensInheritanceStrategy.ADDITIVE gives it, and what else the value holds stays byte by byte. Where
// the whole capacity comes back in a period, so does what is added.
func RaiseBucket4j(text string, units int64, now limiter.Instant) (raised string, was limiter.Limit, err error) {
	limits, ok := readBucket4j(text, now)
	switch {
	case !ok:
		return "", was, errors.New("the key holds no state of Bucket4j: look at it with ratescope peek")
	case len(limits) > 1:
		return "", was, errSeveralLimits
	}
	b := []byte(text)
	add := func(at int) {
		binary.BigEndian.PutUint64(b[at:], binary.BigEndian.Uint64(b[at:])+uint64(units))
	}
	one := limits[0]
	if one.refill == one.capacity {
		add(model.Bucket4jRefill)
	}
	add(model.Bucket4jCapacity)
	add(one.sizeAt)
	return string(b), one.limit(), nil
}
