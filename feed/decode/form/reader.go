package form

import (
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
)

// Reader is a limiter whose keys one function reads whenever it is looked at, with the head and the
// errors that all of them share.
type Reader struct {
	Keys []decode.Fetch // the leading one first
	// At returns the keys in the place of Keys, where they change with time; else nil.
	At       func(now limiter.Instant) []decode.Fetch
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
	return collect.Map(keys, func(key string) decode.Fetch { return decode.Fetch{Key: key, Type: "string"} })
}

// Hash returns the fetch of the fields of a hash.
func Hash(key string, fields ...string) []decode.Fetch {
	return []decode.Fetch{{Key: key, Type: "hash", Fields: fields}}
}

// Fetch returns the keys.
func (r *Reader) Fetch(now limiter.Instant) []decode.Fetch {
	if r.At != nil {
		return r.At(now)
	}
	return r.Keys
}

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
	if describe.KindOf(d.Algorithm) == describe.Log {
		d.State.Log = []limiter.Entry{}
	}
	if (got[0].Exists() || r.Either) && !r.Read(&d, now, got, given) {
		d.Err = lacks(r.Holds)
	}
	return d
}

// lacks returns the sentence about a key that holds something else than it should.
func lacks(what string) string { return "holds no " + what + ": correct its rule, or remove the key" }

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

// Beside is a limiter with keys beside it that say more.
type Beside struct {
	Of   decode.Limiter
	Keys func(now limiter.Instant) []decode.Fetch
	// Take puts what the keys beside the limiter's own hold into what these mean.
	Take func(d *decode.Decoded, now limiter.Instant, own, beside []decode.Sample, given decode.Settings)

	own int // how many keys of its own were fetched last
}

// Fetch reads the limiter's own keys, and those beside.
func (b *Beside) Fetch(now limiter.Instant) []decode.Fetch {
	own := b.Of.Fetch(now)
	b.own = len(own)
	return append(own[:b.own:b.own], b.Keys(now)...)
}

// Decode reads the limiter, and takes what the other keys say.
func (b *Beside) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := b.Of.Decode(now, got[:b.own], given)
	b.Take(&d, now, got[:b.own], got[b.own:], given)
	return d
}

// Members returns the keys of the samples that exist.
func Members(got []decode.Sample) []string {
	there := collect.Only(got, func(s decode.Sample) bool { return s.Exists() })
	return collect.Map(there, func(s decode.Sample) string { return s.Key })
}

// IsAddress says whether a name is that of a client: an IP address, or the network of one, by
// which clients of IPv6 are counted.
func IsAddress(name string) bool {
	if strings.IndexByte(name, '.') <= 0 && strings.IndexByte(name, ':') < 0 { // an error costs an allocation
		return false
	}
	if strings.IndexByte(name, '/') >= 0 {
		_, err := netip.ParsePrefix(name)
		return err == nil
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// IsHex says whether text is n lower-case hexadecimal digits.
func IsHex(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == ""
}

// Nanoseconds reads an instant of these years in nanoseconds, rounded down to the microsecond.
func Nanoseconds(text string, now limiter.Instant) (limiter.Instant, bool) {
	if len(text) != 19 {
		return 0, false
	}
	n, ok := Whole(text)
	at := limiter.Instant(n / 1000)
	return at, ok && at > now.Add(-366*24*time.Hour) && at < now.Add(2*366*24*time.Hour)
}

// IsNumber says whether text is a whole number of 0 or more.
func IsNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}

// Count reads a whole number of 0 or more, written as Redis writes one: no sign, no leading
// zero, below 2^53.
func Count(text string) (int64, bool) {
	n, ok := Whole(text)
	return n, ok && n < 1<<53
}

// Whole reads a whole number of 0 or more of any size that an int64 holds.
func Whole(text string) (int64, bool) {
	if text == "" || len(text) > 1 && text[0] == '0' || len(text) > 19 {
		return 0, false
	}
	for i := range len(text) { // an error of strconv costs two allocations, and most keys hold no number
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// Signed reads a whole number as Redis writes one, below zero, too: a counter from which more was
// given back than was taken.
func Signed(text string) (int64, bool) {
	if left, ok := strings.CutPrefix(text, "-"); ok {
		n, ok := Count(left)
		return -n, ok && n > 0
	}
	return Count(text)
}

// PrefixOf returns the part of a key that its kind shares: all up to the last address of a client
// in it, or up to the last colon; "" where there is neither.
func PrefixOf(key string) string {
	for i := 0; i < len(key); i++ {
		if (i == 0 || strings.IndexByte(":-/_|", key[i-1]) >= 0) && IsAddress(key[i:]) {
			return key[:i]
		}
	}
	return key[:strings.LastIndexByte(key, ':')+1]
}

// Number reads a finite decimal number.
func Number(text string) (float64, bool) {
	if text == "" || text[0] > '9' {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && !strings.ContainsAny(text, "xX_")
}

// LastPart splits a key at the last sep.
func LastPart(key string, sep byte) (before, last string, ok bool) {
	i := strings.LastIndexByte(key, sep)
	if i < 0 {
		return key, "", false
	}
	return key[:i], key[i+1:], true
}

// IsSecond says whether a score is a whole second of the last year or of the coming minutes.
func IsSecond(score float64, now limiter.Instant) bool {
	const year = 366 * 24 * 3600
	ahead := score - float64(now)/1e6
	return score == math.Trunc(score) && ahead > -year && ahead < 300
}

// Milliseconds returns n milliseconds as a duration.
func Milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Decimal writes a whole number.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }
