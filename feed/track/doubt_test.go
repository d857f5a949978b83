package track

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/model"
)

// TestBetweenTwoWrites looks at limiters of two keys while their program stands still between its writes: it has
// counted a request, and has not yet set the expiry of the other key. They are said to be unreadable only where two
// looks of different moments say so, however many looks there are within one moment.
func TestBetweenTwoWrites(t *testing.T) {
	const window = time.Minute
	second := strconv.FormatInt(int64(noon/1e6), 10)
	whole := []decode.Sample{
		{Key: "10.0.0.1/api/hits", Type: "string", Text: "3", TTL: 2 * window},
		{Key: "10.0.0.1/api/ts", Type: "string", Text: second, TTL: 2 * window},
	}
	matches := library.Recognizer().Matches(&whole[0], noon, "gin-rate-limit")
	if len(matches) != 1 || !matches[0].Confirmed(whole) {
		t.Fatal("the keys of gin-rate-limit are not recognized")
	}
	l := New("10.0.0.1/api/hits", nil, false, nil)
	l.Attach(decode.Found{Key: l.Name, Name: l.Name, Type: "string", Kind: decode.OfLibrary, Match: matches[0]})
	look := func(after, twin time.Duration) (model.Reading, Outcome) {
		t.Helper()
		client := redis.NewClient(&redis.Options{}) // which connects when a pipeline is sent, and none is
		defer client.Close()
		p, now := client.Pipeline(), noon.Add(after)
		l.Ask(&Query{Ctx: t.Context(), Pipe: p, Now: now})
		texts, lives := []string{"3", second}, []time.Duration{2*window - after, twin}
		for _, c := range p.Cmds() {
			switch c := c.(type) {
			case *redis.StringCmd:
				c.SetVal(texts[0])
				texts = texts[1:]
			case *redis.DurationCmd:
				c.SetVal(lives[0])
				lives = lives[1:]
			}
		}
		r, outcome, err := l.Take(now, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		return r, outcome
	}
	const forever = time.Duration(-1)
	for _, c := range []struct {
		after, twin time.Duration
		outcome     Outcome
		sick        bool
	}{
		{0, 2 * window, Ready, false},
		{100 * time.Millisecond, forever, Nothing, false},
		{101 * time.Millisecond, forever, Nothing, false},
		{110 * time.Millisecond, forever, Nothing, false},
		{200 * time.Millisecond, forever, Nothing, false},
		{300 * time.Millisecond, 2*window - 300*time.Millisecond, Ready, false},
		{900 * time.Millisecond, forever, Nothing, false}, // it begins anew
		{1100 * time.Millisecond, forever, Nothing, false},
		{1150 * time.Millisecond, forever, Ready, true},
		{1200 * time.Millisecond, 2*window - 1200*time.Millisecond, Ready, false},
	} {
		if r, got := look(c.after, c.twin); got != c.outcome || got == Ready && (r.Err != "") != c.sick {
			t.Errorf("after %v: outcome %d, %q; want %d, unreadable %v", c.after, got, r.Err, c.outcome, c.sick)
		}
	}
}
