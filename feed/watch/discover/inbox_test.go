package discover

import (
	"strconv"
	"testing"
)

// TestNames: keys of a form of which none was a limiter are passed over but for a few, and
// those of a form of which one was are all looked at.
func TestNames(t *testing.T) {
	for key, want := range map[string]string{
		"": "*", "plain": "*", "app:session:7f3a:x": "app:session:#:*", "rl:{user}:9": "rl:{user}:*", "a1:b": "#:*", "x:y:": "x:y:*",
	} {
		if got := formOf(key); got != want {
			t.Errorf("%q is of the form %q, want %q", key, got, want)
		}
	}
	n := names{}
	looked := map[string]int{}
	for i := range 10_000 {
		for _, prefix := range []string{"session:", "rl:", "other:", "mine:"} {
			key := prefix + strconv.Itoa(i)
			look, likely := n.worth(key)
			if look {
				looked[prefix]++
				n.learn(key, "string", prefix == "rl:" && i == 100, prefix == "other:" && i == 0 || prefix == "mine:" && i%10 == 0)
			}
			if likely != ((prefix == "other:" || prefix == "mine:") && i > 0) {
				t.Fatalf("%s after %d keys: the form is likely one of limiters: %v", key, i, likely)
			}
		}
	}
	const most = enough + 10_000/fewMore*2
	if looked["rl:"] != 10_000 || looked["mine:"] != 10_000 || looked["other:"] > most || looked["session:"] > most ||
		looked["session:"] < enough+100 {
		t.Errorf("looked at %v of 10,000 each", looked)
	}
	for i := range 2 * mostForms {
		n.learn(formName(i)+":y", "string", false, false)
	}
	if len(n) > mostForms {
		t.Errorf("%d forms are told apart", len(n))
	}
}

// TestLimitersOfAnotherType: beside a limiter a key of the same form is alike only where it is of the
// same type.
func TestLimitersOfAnotherType(t *testing.T) {
	n := names{}
	n.learn("bull:mail:limiter", "string", true, false)
	n.learn("bull:mail:completed", "zset", false, false)
	if n.hasLimiter("bull:mail:delayed", "zset") || !n.hasLimiter("bull:mail:other", "string") || n.hasLimiter("7f3a", "string") {
		t.Errorf("of %q, a sorted set is alike: %v, a string: %v", formOf("bull:mail:x"), n.hasLimiter("bull:mail:delayed", "zset"),
			n.hasLimiter("bull:mail:other", "string"))
	}
}

// formName spells a number in letters.
func formName(i int) string {
	name := ""
	for ; i > 0; i /= 26 {
		name += string(rune('a' + i%26))
	}
	return name
}

// TestLooked: a page of SCAN without a pattern has looked at what it returned and at no more, so that
// a small server is not said to hold a page of keys.
func TestLooked(t *testing.T) {
	for _, c := range []struct {
		match string
		want  int64
	}{{"", 7}, {"*", 7}, {"rl:*", 500}} {
		if got := (&filter{match: c.match}).looked(7, 500); got != c.want {
			t.Errorf("%q: looked at %d keys, want %d", c.match, got, c.want)
		}
	}
}
