package decode

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
)

// TestSamplesAreReadable holds that the connection, which lets nothing pass but commands that are
// known to read, knows each command that a sample takes. One that it refuses refuses the pipeline.
func TestSamplesAreReadable(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	for _, typ := range []string{"string", "hash", "zset", "list", "set", "stream"} {
		p := client.Pipeline()
		f := Fetch{Key: "k", Type: typ, Fields: []string{"f"}, Pairs: 5, Ends: 1, Index: []int64{3}, Counts: []Range{{"-inf", "+inf"}}, Scores: []string{"m"}}
		Ask(t.Context(), p, f)
		f.Head = 5
		Ask(t.Context(), p, f)
		if p.Len() < 2 {
			t.Errorf("%s: nothing is read", typ)
		}
		for _, c := range p.Cmds() {
			if !connect.IsReadCommand(c.Name()) {
				t.Errorf("%s: %s is not known to read", typ, c.Name())
			}
		}
	}
}

// TestAKeyThatExpiresIsGone: a key in its last millisecond, and one that expires between the two
// commands that read it, hold no wrong value: they are not there any more.
func TestAKeyThatExpiresIsGone(t *testing.T) {
	for _, c := range []struct {
		ttl  time.Duration
		text string
		want string
	}{
		{0, "313059876.25", "none"},
		{time.Millisecond, "", "none"},
		{time.Millisecond, "313059876.25", "string"},
		{time.Minute, "", "string"}, // it holds nothing, which no limiter writes
		{-2, "", "none"},
		{-1, "7", "string"},
	} {
		p := Pending{fetch: Fetch{Key: "rate:a", Type: "string"}, ttl: redis.NewDurationResult(c.ttl, nil)}
		then(&p, redis.NewStringResult(c.text, nil), func(s *Sample, text string) { s.Text = text })
		if s, err := p.Sample(); err != nil || s.Type != c.want {
			t.Errorf("a string %q that expires in %v is %q, %v; want %q", c.text, c.ttl, s.Type, err, c.want)
		}
	}
}

// TestAListThatChangesMeanwhile: of a list whose beginning was asked for while it was empty, and whose end later, nothing is said.
func TestAListThatChangesMeanwhile(t *testing.T) {
	s := Sample{Key: "l", Type: "list", TTL: time.Minute, Length: 2, Last: []Element{{Member: "x"}}}
	if f := FormOf(&s, limiter.Instant(1_795_000_000_000_000)); f.Sure {
		t.Errorf("%+v", f)
	}
}
