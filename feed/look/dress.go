package look

import (
	"fmt"
	"strings"

	"ratescope/feed/shape"
	"ratescope/limiter"
	"ratescope/model"
)

// Dress gives the look the body that reads what was found.
func (l *Look) Dress(f shape.Found) {
	l.kind, l.typ, l.wrong = f.Kind, f.Type, ""
	a := limiter.Unknown
	layout := limiter.Layout{}
	switch f.Kind {
	case shape.Log:
		a = limiter.SlidingLog
	case shape.Stream:
		a = limiter.StreamCounter
	case shape.Counter:
		a = f.Own
		if a == limiter.Unknown {
			a, layout = limiter.FixedWindow, limiter.Layout{Unit: f.Unit, Suffixed: true}
		}
	case shape.Single:
		a = limiter.FixedWindow
	case shape.TAT:
		a = limiter.GCRA
	case shape.Bucket:
		a = limiter.TokenBucket
		if f.Field == "level" {
			a = limiter.LeakyBucket
		}
	}
	l.settle(a, layout, 0)
	if f.Kind == shape.Counter && f.Own != limiter.Unknown {
		l.target.Inferred = false
	}
	rule := limiter.Unknown
	if l.rule != nil {
		rule = l.rule.Algorithm
	}
	l.note(model.WrongType, false)
	if rule == limiter.GCRA && f.Type == "string" && f.Key == l.Name {
		f.Kind = shape.TAT // its reader says what is wrong with a value that is none
		l.kind = f.Kind
	}
	if f.Kind == shape.Wrong || !suits(f.Kind, rule) {
		l.misfit(f.Key, f.Type, rule)
		return
	}
	l.body = newBody(f)
	if l.past != nil {
		l.past.lay(l)
	}
}

// misfit makes the look say that the key holds another type than wanted.
func (l *Look) misfit(key, typ string, rule limiter.Algorithm) {
	l.kind = shape.Wrong
	l.note(model.WrongType, true)
	l.body = &wrongBody{key: key, rule: rule}
	if rule == limiter.Unknown {
		l.wrong = fmt.Sprintf("holds %s, which is not how a known rate limiter keeps its state", article(typ))
		return
	}
	l.wrong = fmt.Sprintf("holds %s, the rule says %s (%s)", article(typ), rule, wants(rule))
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
func suits(k shape.Kind, a limiter.Algorithm) bool {
	switch a {
	case limiter.Unknown:
		return k != shape.Wrong
	case limiter.SlidingLog:
		return k == shape.Log
	case limiter.StreamCounter:
		return k == shape.Stream
	case limiter.FixedWindow:
		return k == shape.Counter || k == shape.Single
	case limiter.SlidingWindow:
		return k == shape.Counter
	case limiter.GCRA:
		return k == shape.TAT
	case limiter.TokenBucket, limiter.LeakyBucket:
		return k == shape.Bucket
	}
	return false
}

// newBody returns what reads a find, nil for what cannot be read.
func newBody(f shape.Found) body {
	switch f.Kind {
	case shape.Log:
		return &logBody{key: f.Key}
	case shape.Stream:
		return &streamBody{key: f.Key}
	case shape.Counter:
		b := &counterBody{base: f.Name, own: f.Own, unit: f.Unit}
		b.meet(f.Start)
		return b
	case shape.Single:
		return &singleBody{key: f.Key}
	case shape.TAT:
		return &valueBody{key: f.Key}
	case shape.Bucket:
		return &valueBody{key: f.Key, field: f.Field}
	}
	return nil
}
