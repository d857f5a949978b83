package track

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
)

// TestSurveyWhileMembersLeave: a limiter that trims its log between the commands of a survey leaves no scores that are no times.
func TestSurveyWhileMembersLeave(t *testing.T) {
	for _, c := range []struct{ before, times, after, garbage int64 }{{5, 5, 5, 0}, {5, 4, 4, 0}, {4, 5, 5, 0}, {5, 3, 4, 1}, {5, 3, 5, 2}} {
		s := &survey{card: redis.NewIntResult(c.before, nil), end: redis.NewIntResult(c.after, nil)}
		for i := range decode.Units {
			s.in[i] = redis.NewIntResult(0, nil)
		}
		s.in[1] = redis.NewIntResult(c.times, nil)
		if unit, _, garbage, err := s.read(); err != nil || unit != decode.Units[1] || garbage != c.garbage {
			t.Errorf("%+v: %d in %v are no times, %v", c, garbage, unit, err)
		}
	}
}
