package form

import (
	"ratescope/feed/decode"
	"ratescope/limiter"
)

// Reader is a limiter whose keys one function reads whenever it is looked at, with the head and the
// errors that all of them share.
type Reader struct {
	Keys     []decode.Fetch  // the leading one first
	Settings decode.Settings // a Window of 0 is the one that is given
	Charged  bool            // as decode.Decoded.Charged
	Hides    bool            // as decode.Decoded.Hides
	Block    int             // the place in Keys of one that denies everything until it expires; 0 for none
	Either   bool            // Read is called where the leading key does not exist, too
	Holds    string          // what is expected, for the error: "token bucket of Traefik"
	// Read puts what the keys hold into d, while the leading one exists. It returns false where that is
	// nothing of its library.
	Read func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool
	// Limit translates the limit that is given; nil leaves it.
	Limit func(d *decode.Decoded, given decode.Settings)
}

// Texts returns the fetches of strings.
func Texts(keys ...string) (all []decode.Fetch) {
	for _, key := range keys {
		all = append(all, decode.Fetch{Key: key, Type: "string"})
	}
	return all
}

// Hash returns the fetch of the fields of a hash.
func Hash(key string, fields ...string) []decode.Fetch {
	return []decode.Fetch{{Key: key, Type: "hash", Fields: fields}}
}

// Fetch returns the keys.
func (r *Reader) Fetch(limiter.Instant) []decode.Fetch { return r.Keys }

// Decode reads the keys.
func (r *Reader) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Settings: r.Settings, Charged: r.Charged, Hides: r.Hides, Type: "none", Members: Members(got)}
	if d.Window == 0 {
		d.Window, d.Guessed = given.Window, given.Guessed
	}
	for i := range got {
		if got[i].Exists() {
			d.Type, d.TTL = got[i].Type, got[i].TTL
			break
		}
	}
	if r.Block > 0 && got[r.Block].TTL > 0 {
		d.State.BlockedUntil = Expiry(now, got[r.Block].TTL)
	}
	if r.Limit != nil {
		r.Limit(&d, given)
	}
	if d.Algorithm.Kind() == limiter.KindLog {
		d.State.Log = []limiter.Entry{}
	}
	if (got[0].Exists() || r.Either) && !r.Read(&d, now, got, given) {
		d.Err = "holds no " + r.Holds + ": correct its rule"
	}
	return d
}

// Match returns m with r as its limiter, nil where s holds nothing of its library. Several keys have to agree.
func (r *Reader) Match(s *decode.Sample, c decode.Context, m decode.Match) *decode.Match {
	if match := r.MatchWhole(c, m); len(r.Keys) > 1 || match.Confirm([]decode.Sample{*s}) {
		if len(r.Keys) == 1 {
			match.Siblings, match.Confirm = nil, nil
		}
		return match
	}
	return nil
}

// MatchWhole returns m with r as its limiter, for which all keys are to be read whole: what is known of the leading one does
// not tell enough.
func (r *Reader) MatchWhole(c decode.Context, m decode.Match) *decode.Match {
	m.Limiter, m.Siblings, m.Algorithm, m.Convention = r, r.Keys, r.Settings.Algorithm, r.Settings.Convention
	m.Confirm = func(got []decode.Sample) bool {
		d := decode.Decoded{Settings: r.Settings}
		return got[0].Exists() && r.Read(&d, c.Now, got, decode.Settings{})
	}
	return &m
}
