package connect

import (
	"fmt"
	"testing"

	"ratescope/model"
)

// TestHashSlot holds slots to what CLUSTER KEYSLOT of Redis 7.0 answers.
func TestHashSlot(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "123456789": 12739, "foo": 12182, "{user1000}.following": 3443, "{user1000}.followers": 3443, "foo{}{bar}": 8363, "foo{{bar}}zap": 4015, "foo{bar}{zap}": 5061,
	} {
		if got := model.HashSlot(key); got != want {
			t.Errorf("%q is in slot %d, want %d", key, got, want)
		}
	}
}

// TestShards: the parts of one number cover every slot once.
func TestShards(t *testing.T) {
	for _, of := range []int{1, 2, 3, 4, 7, 100, AllSlots} {
		next := 0
		for n := 1; n <= of; n++ {
			s, err := ParseShard(fmt.Sprintf("%d/%d", n, of))
			if err != nil || s.First != next || s.Past <= s.First {
				t.Fatalf("part %d of %d is %+v, %v", n, of, s, err)
			}
			again, err := ParseSlots(s.String())
			if err != nil || again != s {
				t.Errorf("%v is read as %v, %v", s, again, err)
			}
			next = s.Past
		}
		if next != AllSlots {
			t.Errorf("%d parts end at %d", of, next)
		}
	}
	for _, bad := range []string{"", "1", "0/4", "5/4", "1/0", "-1/4", "1/99999", "a/b", "1/2/3"} {
		if _, err := ParseShard(bad); err == nil {
			t.Errorf("%q is a part", bad)
		}
	}
	for _, bad := range []string{"", "7", "9-3", "0-16384", "-1-4", "a-b", "1-2-3"} {
		if _, err := ParseSlots(bad); err == nil {
			t.Errorf("%q is a range", bad)
		}
	}
	if all := (Slots{}); !all.All() || !all.Has("foo") || (Slots{0, 5}).Has("foo") || !(Slots{12182, 12183}).Has("{foo}:fw:7") {
		t.Error("names are in the wrong ranges")
	}
}
