package limiter

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a text that a server can run by its digest. Scripts are compared by address:
// compile writes each one once.
type script struct {
	text, sha string
}

// terms are what a script is written for: the variant of the algorithm is in its text,
// so that the server does not decide about it on every request.
type terms struct {
	Given, Peek, Refund     bool
	Closed, Below, Charged  bool
	Exact, Round            bool
	Leaky, Interval         bool
	Denials, Block, Foreign bool
	Ahead                   bool // charge first, and take it back
	Lean                    bool // for a cost of 1, which is no argument then
	Slim                    bool // lean, and without a limit and a window either
	Brief                   bool // lean, and answered at once in the usual case
	Parts                   bool // the interval is not a whole number of microseconds

	DeniedKey, BlockKey, EndsKey int   // places in KEYS
	BlockArg, More, Rest         int   // places in ARGV: the block, what the algorithm adds, and in that the fractions
	Slack                        int64 // milliseconds that a key outlives its use, where time is given
	Window, Life, Lives          int64 // of a usual window: its microseconds, and the milliseconds for which a key counts for one and for two

	Seconds int64  // of a usual window
	Zeros   string // between a second and a step of a counter's name

	NameUnit            int64 // microseconds a step of a counter's name
	Unit                int64 // microseconds a step of a score
	Digits, ScoreDigits int   // decimals of a bound and of a score in that unit
	WholeScores         bool
	Field               string // of a bucket's hash
	Unlimited           int64  // more than any sum
	MostUnits           int64  // entries of a stream of units
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

// scriptArgs is how many arguments every script has before those of its options, unless
// it is lean: cost, limit, window, and the instant where it is given.
const scriptArgs = 4

func termsOf(a Algorithm, s settings, act action) terms {
	c := s.convention
	t := terms{
		Given: s.clock != nil, Peek: act == looks, Refund: act == givesBack, Unlimited: unlimited, MostUnits: mostUnits,
		Closed: c.Edge == Closed, Below: c.Rule == Below, Charged: c.Denied == Charged,
		Exact: c.Rounding == Exact, Round: c.Rounding == Round,
		Leaky: a == LeakyBucket, Field: "tokens", Interval: a == TokenBucket && c.Refill == Interval, Parts: true,
		Denials: s.denials && (act == charges || act == chargesAll), Block: c.Block > 0,
		NameUnit: s.layout.counterUnit(), Unit: 1, Foreign: s.layout.Unit != 0,
		BlockArg: scriptArgs + 1, More: scriptArgs + 1, Rest: 2,
	}
	if t.Leaky {
		t.Field = "level"
	}
	if t.Interval {
		t.Rest++
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
	t.Ahead = a == FixedWindow && act == charges && s.convention.Alignment == Epoch && !t.Given && !t.Block && !t.Charged
	if act == chargesAll {
		t.Stride, t.Charged = scriptArgs+rateArgCount(a, c), false
	}
	switch s.layout.Unit {
	case time.Second:
		t.Unit, t.Digits, t.ScoreDigits = 1_000_000, 6, 6
	case time.Millisecond:
		t.Unit, t.Digits, t.WholeScores = 1000, 3, true
	}
	return t
}

// usualWindows have lean scripts of their own. They are few, because a server keeps every
// script that it has seen.
var usualWindows = []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}

// leanTerms are those of the usual request, of cost 1, under a limit. There are none where
// a script needs the instant or a block as an argument.
func leanTerms(a Algorithm, s settings, b *boxed) (terms, bool) {
	t := termsOf(a, s, charges)
	if t.Given || t.Block || s.layout.Untotalled || b.limit.Count == 0 && a.bursts() {
		return t, false
	}
	t.Lean, t.Parts = true, b.den > 1
	t.Slim = a == GCRA && !t.Denials
	switch {
	case t.Slim:
		t.More = 1
	case a.bursts() && !t.Denials:
		t.More = 2 // the window is in what they add
	case slices.Contains(usualWindows, b.limit.Window):
		t.More = 2
		t.Window = b.limit.micros()
		t.Life = t.Window / 1000
		if t.Closed {
			t.Life++
		}
		t.Lives = t.Window / 500
		t.Brief = t.Ahead && !t.Denials
		t.Seconds = t.Window / 1_000_000
		t.Zeros = strings.TrimPrefix(strconv.FormatInt(1_000_000/t.NameUnit, 10), "1")
	default:
		t.More = 3
	}
	return t, true
}

var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{"arg": arg}).ParseFS(luaFiles, "lua/decision.lua", "lua/together.lua", "lua/clock.lua", "lua/append.lua", "lua/moment.lua", "lua/denied.lua")
})

// arg is an argument of a script by its place, counted from another one.
func arg(places ...int) string {
	sum := 0
	for _, p := range places {
		sum += p
	}
	return fmt.Sprintf("ARGV[%d]", sum)
}

// compiled are the scripts that this process has written, by scriptName.
var compiled sync.Map

type scriptName struct {
	file string
	terms
}

// compile writes the script that decides with one algorithm on the given terms, about
// one limit or about several together.
func compile(file string, t terms) (*script, error) {
	name := scriptName{file, t}
	if known, ok := compiled.Load(name); ok {
		return known.(*script), nil
	}
	frame := "decision.lua"
	if t.Stride > 0 {
		frame = "together.lua"
	}
	common, err := templates()
	if err != nil {
		return nil, err
	}
	one, err := common.Clone()
	if err != nil {
		return nil, err
	}
	if one, err = one.ParseFS(luaFiles, "lua/"+file); err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := one.ExecuteTemplate(&text, frame, t); err != nil {
		return nil, err
	}
	lua := indented(text.String())
	sum := sha1.Sum([]byte(lua))
	known, _ := compiled.LoadOrStore(name, &script{text: lua, sha: hex.EncodeToString(sum[:])})
	return known.(*script), nil
}

var (
	luaQuoted = regexp.MustCompile(`'[^']*'|--.*`)
	luaWords  = regexp.MustCompile(`\b(function|if|do|repeat|else|elseif|end|until)\b`)
)

// indented sets a script as if it had been written in one go: its parts come from several
// files and know nothing of the blocks around them, and people read and copy the whole.
func indented(lua string) string {
	var b strings.Builder
	depth := 0
	for line := range strings.Lines(lua) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		at := depth
		for i, word := range luaWords.FindAllString(luaQuoted.ReplaceAllString(line, ""), -1) {
			switch word {
			case "end", "until":
				depth--
			case "else", "elseif":
				if i == 0 {
					at--
				}
			default:
				depth++
			}
		}
		b.WriteString(strings.Repeat("  ", min(at, depth)) + line + "\n")
	}
	return b.String()
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
	case a == StreamCounter && s.layout.Untotalled:
		return "stream_untotalled.lua", nil
	case a == StreamCounter && s.layout.Units:
		return "stream_units.lua", nil
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
func rateArgCount(a Algorithm, c Convention) int {
	switch {
	case a == GCRA:
		return 6
	case a == TokenBucket && c.Refill == Interval:
		return 5
	case a == TokenBucket || a == LeakyBucket:
		return 4
	}
	return 0
}
