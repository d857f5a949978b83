package track

import (
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// byName returns the finds among keys that are known by their names alone, and the other keys.
func byName(keys []string) (finds []decode.Found, others []string) {
	for _, k := range keys {
		if f, ok := decode.ByName(k); ok {
			finds = append(finds, f)
			continue
		}
		others = append(others, k)
	}
	return finds, others
}

// ownConventions are what a rule has to say of our own limiters where a scenario departs from the
// defaults.
var ownConventions = map[string]limiter.Convention{
	"fixed-window-anchored":      {Alignment: convention.FirstRequest},
	"fixed-window-block":         {Block: 6 * time.Second},
	"fixed-window-charged":       {Denied: convention.Charged},
	"sliding-log-closed-charged": {Edge: convention.Closed, Denied: convention.Charged},
	"token-bucket-interval":      {Refill: convention.Interval},
}

// ownForms are the scenarios whose keys have the form of many programs, so that a rule has to name
// them: the others are known.
var ownForms = map[string]bool{
	"fixed-window-anchored": true, "fixed-window-suffixed": true, "sliding-window-suffixed": true,
	"sliding-log": true, "sliding-log-closed-charged": true, "sliding-log-ms": true,
	"gcra": true, "gcra-burst": true, "stream-no-totals": true,
}

// meetOwn makes a tracker of a find of our own keys, as the watcher does: denials and blocks join
// the limiter that they stand beside.
func (f *fixture) meetOwn(t *testing.T, trackers map[string]*Tracker, found decode.Found) {
	l := trackers[found.Name]
	switch {
	case l != nil:
		l.Meet(found)
	case found.Denied, found.Blocked:
	case found.Evidence == model.Known && found.Library == model.OwnLibrary, ownForms[f.Scenario] && found.Sure:
		r := f.rule(found.Name)
		r.Match = found.Name // it names the key, so that what it says of the algorithm holds
		r.Convention = ownConventions[f.Scenario]
		r.Algorithm, _ = limiter.ParseAlgorithm(f.Algorithm)
		if found.Type == "stream" { // a log, as far as the fixture is concerned
			r.Algorithm = limiter.StreamCounter
		}
		l = New(found.Name, r, false, nil)
		l.Attach(found)
		trackers[found.Name] = l
	default:
		t.Errorf("%s: %q is not known to be one of our own", f.Scenario, found.Key)
	}
}
