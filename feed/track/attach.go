package track

import (
	"fmt"
	"strings"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// Suggested returns the algorithm that values of a kind suggest.
func Suggested(k decode.Kind) limiter.Algorithm { return suggested[k] }

var suggested = map[decode.Kind]limiter.Algorithm{
	decode.Log: limiter.SlidingLog, decode.Stream: limiter.StreamCounter,
	decode.Single: limiter.FixedWindow, decode.Counter: limiter.FixedWindow,
	decode.TAT: limiter.GCRA, decode.Bucket: limiter.TokenBucket,
}

// Attach gives the tracker the decoder for a find.
func (l *Tracker) Attach(f decode.Found) {
	l.kind, l.typ, l.wrong = f.Kind, f.Type, ""
	l.library, l.evidence = f.Library, f.Evidence
	l.why, l.pattern = f.Why(), f.Pattern()
	l.general, l.found, l.form = f.General(), f.Type, f.Kind
	if f.Kind == decode.OfLibrary {
		if l.attachLibrary(f) {
			return
		}
		f = f.Form() // the rule names another algorithm, which overrides the library's
		l.kind, l.library = f.Kind, ""
	}
	if f.Kind == decode.Opaque && f.Evidence != model.Likely {
		f.Kind = decode.Wrong // the user named the key, so that an error explains what is wrong
		l.kind = f.Kind
	}
	a, form := suggested[f.Kind], layout.Layout{}
	switch {
	case f.Kind == decode.Counter && f.Own != limiter.Unknown:
		a = f.Own
	case f.Kind == decode.Counter:
		form = layout.Layout{Unit: f.Unit, Suffixed: true}
	case f.Kind == decode.Bucket && f.Field == "level":
		a = limiter.LeakyBucket
	}
	l.settle(a, form, 0)
	if f.Kind == decode.Single && f.Window.To > 0 {
		l.guess(f.Window.Length)
		l.windowKnown = true // an expiry is no more than an upper bound of it
	}
	if f.Match != nil {
		l.adopt(f.Match.Settings)
		l.block.life = f.Match.Blocks
		l.windowKnown = f.Match.Window > 0 && !f.Match.Guessed
	}
	if f.Kind == decode.Counter && f.Own != limiter.Unknown {
		l.target.Inferred = false
	}
	rule := limiter.Unknown
	if l.rule != nil {
		rule = l.rule.Algorithm
	}
	l.note(model.WrongType, false)
	if rule.Kind() == limiter.KindArrival && f.Type == "string" && f.Key == l.Name {
		f.Kind = decode.TAT // its decoder reports what is wrong with a value that is no TAT
		l.kind = f.Kind
	}
	if f.Kind == decode.Wrong || !suits(f.Kind, rule) {
		l.misfit(f.Key, f.Type, rule)
		return
	}
	l.decoder = newDecoder(f)
	if l.past != nil {
		l.past.lay(l)
	}
}

// attachLibrary gives the tracker the decoder of the library that was recognized. It returns
// false if a rule for the key names another algorithm.
func (l *Tracker) attachLibrary(f decode.Found) bool {
	r := l.rule
	if r.Narrow() && r.Algorithm != limiter.Unknown && r.Algorithm != f.Match.Algorithm {
		return false
	}
	l.settle(limiter.Unknown, layout.Layout{}, 0)
	l.adopt(f.Match.Settings)
	l.decoder = &libraryDecoder{match: f.Match}
	return true
}

// misfit makes the tracker report that the key does not hold what rule keeps, or, with
// limiter.Unknown, what any known limiter keeps.
func (l *Tracker) misfit(key, typ string, rule limiter.Algorithm) {
	l.kind = decode.Wrong
	l.note(model.WrongType, true)
	l.decoder = &wrongDecoder{key: key, rule: rule}
	if rule == limiter.Unknown {
		l.wrong = fmt.Sprintf("holds %s, which is not how a known rate limiter keeps its state: tell its layout by a rule with name, or "+
			"check its name", article(typ))
		return
	}
	if l.wrong = fmt.Sprintf("holds %s, the rule says %s (%s): correct --algorithm or its rule", article(typ), rule, wants(rule)); typ == wants(rule) {
		l.wrong = fmt.Sprintf("holds %s that is %s: correct --algorithm or its rule, or remove the key", article(typ), lacks(rule))
	}
}

// wants returns the Redis type in which an algorithm keeps its state.
func wants(a limiter.Algorithm) string {
	switch {
	case a == limiter.StreamCounter:
		return "stream"
	case a.Kind() == limiter.KindLog:
		return "zset"
	case a.Kind() == limiter.KindBucket:
		return "hash"
	}
	return "string"
}

// lacks returns what is missing in a key that has the right type and is not the algorithm's.
func lacks(a limiter.Algorithm) string {
	switch a.Kind() {
	case limiter.KindWeighted:
		return "no counter of a sliding window, of which there is one for each window, named after its start"
	case limiter.KindBucket:
		field := map[bool]string{true: "level", false: "tokens"}[a.Fills()]
		return fmt.Sprintf("no %s, which has the fields %s and at, a number and a time", a.Title(), field)
	}
	return "no count of requests, as a " + a.Title() + " keeps it"
}

func article(typ string) string {
	if strings.ContainsRune("aeiou", rune(typ[0])) {
		return "an " + typ
	}
	return "a " + typ
}

// suits reports whether data of a kind can be the state of an algorithm.
func suits(k decode.Kind, a limiter.Algorithm) bool {
	switch a.Kind() {
	case limiter.KindUnknown:
		return k != decode.Wrong
	case limiter.KindLog:
		return a == limiter.StreamCounter && k == decode.Stream || a != limiter.StreamCounter && k == decode.Log
	case limiter.KindWindow:
		return k == decode.Counter || k == decode.Single
	case limiter.KindWeighted:
		return k == decode.Counter
	case limiter.KindArrival:
		return k == decode.TAT
	case limiter.KindBucket:
		return k == decode.Bucket
	}
	return false
}

// newDecoder returns the decoder of a find; nil if there is none.
func newDecoder(f decode.Found) decoder {
	switch f.Kind {
	case decode.Log:
		return &logDecoder{key: f.Key}
	case decode.Stream:
		return &streamDecoder{key: f.Key}
	case decode.Counter:
		b := &counterDecoder{base: f.Name, own: f.Own, unit: f.Unit}
		b.meet(f.Start)
		return b
	case decode.Single:
		return &singleDecoder{key: f.Key, window: f.Window}
	case decode.TAT:
		return &valueDecoder{key: f.Key}
	case decode.Bucket:
		return &valueDecoder{key: f.Key, field: f.Field}
	case decode.Opaque:
		return &wrongDecoder{key: f.Key}
	}
	return nil
}
