package limiter

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a text that a server can run by its digest.
type script struct {
	text, sha string
}

// terms are what a script is written for: the variant of the algorithm is in its text,
// so that the server does not decide about it on every request.
type terms struct {
	Given, Peek, Refund     bool
	Closed, Below, Charged  bool
	Exact, Round            bool
	Leaky                   bool
	Denials, Block, Foreign bool
	Ahead                   bool // charge first, and take it back
	Slim                    bool // nothing but the cost is asked for

	DeniedKey, BlockKey, EndsKey int // places in KEYS
	BlockArg, More               int // places in ARGV: the block, and what the algorithm adds
	Edge                         int // milliseconds that a closed edge adds to a life
	Slack                        int // milliseconds that a key outlives its use, where time is given

	NameUnit            int64 // microseconds a step of a counter's name
	Unit                int64 // microseconds a step of a score
	Digits, ScoreDigits int   // decimals of a bound and of a score in that unit
	WholeScores         bool
	Field               string // of a bucket's hash
	Unlimited           int64  // more than any sum
	Stride              int    // arguments of each of several limits
}

// action is what a script does about a request.
type action uint8

const (
	charges action = iota // decides, and charges or records
	looks                 // decides and writes nothing
	givesBack
	chargesAll // several limits together
)

// slackMillis keeps keys whose clock is given alive: a server that counts real time would
// drop them while a lesson or a test stands still.
const slackMillis = 3_600_000

// scriptArgs is how many arguments every script has before those of its options: cost,
// limit, window, and the instant where it is given.
const scriptArgs = 4

func termsOf(a Algorithm, s settings, act action) terms {
	peek := act == looks
	c := s.convention
	t := terms{
		Given: s.clock != nil, Peek: peek, Refund: act == givesBack, Unlimited: unlimited,
		Closed: c.Edge == Closed, Below: c.Rule == Below, Charged: c.Denied == Charged,
		Exact: c.Rounding == Exact, Round: c.Rounding == Round,
		Leaky: a == LeakyBucket, Field: "tokens",
		Denials: s.denials && (act == charges || act == chargesAll), Block: c.Block > 0,
		NameUnit: s.layout.counterUnit(), Unit: 1, Foreign: s.layout.Unit != 0,
		BlockArg: scriptArgs + 1, More: scriptArgs + 1,
	}
	if t.Leaky {
		t.Field = "level"
	}
	if t.Closed {
		t.Edge = 1
	}
	if t.Given {
		t.Slack = slackMillis
	}
	places := 1
	if t.Denials {
		places++
		t.DeniedKey = places
	}
	if t.Block {
		places++
		t.BlockKey = places
		t.More++
	}
	t.EndsKey = places + 1
	if a.bursts() {
		t.Charged, t.Below = false, false // neither means anything to them
	}
	t.Slim = a == GCRA && act == charges && !t.Block && !t.Denials
	t.Ahead = a == FixedWindow && act == charges && s.convention.Alignment == Epoch && !t.Given && !t.Block && !t.Charged
	if act == chargesAll {
		t.Stride, t.Charged = scriptArgs+rateArgCount(a), false
	}
	switch s.layout.Unit {
	case time.Second:
		t.Unit, t.Digits, t.ScoreDigits = 1_000_000, 6, 6
	case time.Millisecond:
		t.Unit, t.Digits, t.WholeScores = 1000, 3, true
	}
	return t
}

// compile writes the script that decides with one algorithm on the given terms, about
// one limit or about several together.
func compile(file string, t terms) (script, error) {
	frame := "decision.lua"
	if t.Stride > 0 {
		frame = "together.lua"
	}
	parsed, err := template.ParseFS(luaFiles, "lua/decision.lua", "lua/together.lua", "lua/clock.lua", "lua/append.lua", "lua/moment.lua", "lua/denied.lua", "lua/"+file)
	if err != nil {
		return script{}, err
	}
	var text strings.Builder
	if err := parsed.ExecuteTemplate(&text, frame, t); err != nil {
		return script{}, err
	}
	sum := sha1.Sum([]byte(text.String()))
	return script{text: text.String(), sha: hex.EncodeToString(sum[:])}, nil
}

// scriptFile names the file of an algorithm, or says why it has none.
func scriptFile(a Algorithm, s settings) (string, error) {
	first := s.convention.Alignment == FirstRequest
	switch {
	case a == FixedWindow && first:
		return "fixed_first.lua", nil
	case a == FixedWindow:
		return "fixed.lua", nil
	case a == SlidingWindow && first:
		return "", fmt.Errorf("%w: a sliding window aligned to the first request would need where both windows began on the server: use the clock-aligned one, or memory", ErrNotOnStore)
	case a == SlidingWindow:
		return "sliding.lua", nil
	case a == SlidingLog:
		return "log.lua", nil
	case a == StreamCounter:
		return "stream.lua", nil
	case a == GCRA:
		return "gcra.lua", nil
	case a == TokenBucket || a == LeakyBucket:
		return "bucket.lua", nil
	}
	return "", fmt.Errorf("%w: %s is not available on Redis", ErrNotOnStore, a)
}

// rateArgCount is how many arguments an algorithm adds to the common ones.
func rateArgCount(a Algorithm) int {
	switch a {
	case GCRA:
		return 5
	case TokenBucket, LeakyBucket:
		return 4
	}
	return 0
}
