package track

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// refusal is an error as a server answers it.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// TestABlockIsLookedForBesideANamedKey: no rule speaks of blocks and no discovery comes by, and still
// a key that a person named is not said to be free while it is blocked. It is asked for now and
// then, at every reading while there is one, and never again where the server refuses it.
func TestABlockIsLookedForBesideANamedKey(t *testing.T) {
	client := redis.NewClient(&redis.Options{}) // which connects when a pipeline is sent, and none is
	defer client.Close()
	now := noon
	read := func(l *Tracker, until limiter.Instant, err error) (blocked limiter.Instant, asked bool) {
		t.Helper()
		now = now.Add(time.Second)
		p := client.Pipeline()
		l.Ask(&Query{Ctx: t.Context(), Pipe: p, Now: now})
		for _, c := range p.Cmds() {
			switch c := c.(type) {
			case *redis.StringCmd:
				if c.Args()[1] != layout.BlockedKey("k") {
					c.SetVal("1")
					continue
				}
				if asked = true; err != nil {
					c.SetErr(err)
				}
				c.SetVal(strconv.FormatInt(int64(until), 10))
			case *redis.DurationCmd:
				c.SetVal(time.Minute)
			}
		}
		r, _, err := l.Take(now, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r.State.BlockedUntil, asked
	}
	begin := func(named bool) *Tracker {
		l := New("k", nil, false, nil)
		l.Named = named
		l.Attach(decode.Found{Key: "k", Name: "k", Type: "string", Kind: decode.Single})
		return l
	}

	l, until := begin(true), noon.Add(time.Hour)
	for range 3 {
		if got, asked := read(l, until, nil); got != until || !asked {
			t.Fatalf("blocked until %v, asked %v; want %v at every reading while it lasts", got, asked, until)
		}
	}
	if got, asked := read(l, 0, redis.Nil); got != 0 || !asked {
		t.Errorf("a block that has ended lasts until %v, asked %v", got, asked)
	}
	questions := 0
	for range 2 * absentEvery {
		if _, asked := read(l, 0, redis.Nil); asked {
			questions++
		}
	}
	if questions != 2 {
		t.Errorf("%d questions in %d readings without a block, want 2", questions, 2*absentEvery)
	}

	l = begin(true)
	questions = 0
	for range 3 * absentEvery {
		if _, asked := read(l, 0, refusal("NOPERM no permissions to access one of the keys")); asked {
			questions++
		}
	}
	if questions != 1 {
		t.Errorf("%d questions to a server that refuses them, want 1", questions)
	}
	if _, asked := read(begin(false), until, nil); asked {
		t.Error("a key that was discovered is asked for its block")
	}
}

// TestNothingIsLostToAnotherLook: what came is told although the stream of denials, of which a full page came, takes another look; and
// denials that may not be read any more are not known.
func TestNothingIsLostToAnotherLook(t *testing.T) {
	client := redis.NewClient(&redis.Options{}) // which connects when a pipeline is sent, and none is
	defer client.Close()
	l, now, total := toldByMatch("rl:1"), noon, 0
	look := func(n string, entries int, refused error) (r model.Reading, o Outcome) {
		t.Helper()
		now = now.Add(time.Second)
		p := client.Pipeline()
		l.Ask(&Query{Ctx: t.Context(), Pipe: p, Now: now, Entries: mostEntries})
		for _, c := range p.Cmds() {
			switch c := c.(type) {
			case *redis.StringCmd:
				c.SetVal(n)
			case *redis.DurationCmd:
				c.SetVal(10 * time.Minute)
			case *redis.XMessageSliceCmd:
				var page []redis.XMessage
				for range entries {
					total++
					page = append(page, redis.XMessage{ID: fmt.Sprintf("%d-%d", now.Millis()-1, total),
						Values: map[string]any{"count": "1", "total": strconv.Itoa(total)}})
				}
				if c.SetVal(page); refused != nil {
					c.SetErr(refused)
				}
			}
		}
		r, o, err := l.Take(now, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r, o
	}
	if r, o := look("10", 1, nil); o != Ready || !r.Denied.Known {
		t.Fatalf("%v, denied %+v", o, r.Denied)
	}
	if _, o := look("15", pageSize, nil); o != Again {
		t.Fatalf("a full page: %v", o)
	}
	r, o := look("15", 0, nil)
	var admitted, denied int64
	for _, a := range r.Arrivals {
		if a.Denied {
			denied += a.N
		} else {
			admitted += a.N
		}
	}
	if o != Ready || admitted != 5 || denied != int64(pageSize) {
		t.Errorf("%v: %d admitted and %d denied are told, want 5 and %d", o, admitted, denied, pageSize)
	}
	if r, o := look("16", 0, refusal("NOPERM no permissions to access one of the keys")); o != Ready || r.Denied.Known {
		t.Errorf("%v: of denials that may not be read it tells %+v", o, r.Denied)
	}
}

// TestABlockIsToldAfterAnotherLook: a reading that takes two looks, as that of a counter which waits for what another may see, tells
// the block beside a key that a person named.
func TestABlockIsToldAfterAnotherLook(t *testing.T) {
	client := redis.NewClient(&redis.Options{}) // which connects when a pipeline is sent, and none is
	defer client.Close()
	until, access := noon.Add(time.Hour), &Access{}
	ask := func(l *Tracker) {
		p := client.Pipeline()
		l.Ask(&Query{Ctx: t.Context(), Pipe: p, Now: noon, Beside: access})
		for _, c := range p.Cmds() {
			switch c := c.(type) {
			case *redis.StringCmd:
				if c.SetVal("3"); c.Args()[1] == layout.BlockedKey(l.Name) {
					c.SetVal(strconv.FormatInt(int64(until), 10))
				}
			case *redis.DurationCmd:
				c.SetVal(10 * time.Second)
			}
		}
	}
	first, second := toldByMatch("rl:1"), toldByMatch("rl:2")
	second.Named = true
	ask(first)
	ask(second)
	if _, _, err := first.Take(noon, 0); err != nil {
		t.Fatal(err)
	}
	if _, got, err := second.Take(noon, 0); got != Again || err != nil {
		t.Fatal(got, err)
	}
	ask(second)
	if r, got, err := second.Take(noon, 0); got != Ready || err != nil || r.State.BlockedUntil != until {
		t.Errorf("%v, %v: blocked until %v, want %v", got, err, r.State.BlockedUntil, until)
	}
}
