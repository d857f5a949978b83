package track

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// survey counts the members of a sorted set by the unit in which their scores are times.
type survey struct {
	now  limiter.Instant
	card *redis.IntCmd
	in   [len(decode.Units)]*redis.IntCmd
}

func askSurvey(q *Query, key string) *survey {
	s := &survey{now: q.Now, card: q.Pipe.ZCard(q.Ctx, key)}
	seconds := float64(q.Now) / 1e6
	for i, u := range decode.Units {
		lo, hi := decode.Plausible(u, seconds)
		s.in[i] = q.Pipe.ZCount(q.Ctx, key, decode.Score(lo), decode.Score(hi))
	}
	return s
}

// read returns the unit of most members, 0 if no score is a time; the number of members in
// other units; and the number of members whose scores are no times.
func (s *survey) read() (unit time.Duration, mixed, garbage int64, err error) {
	left, err := s.card.Result()
	if err != nil {
		return 0, 0, 0, err
	}
	var best, all int64
	for i, c := range s.in {
		n, err := c.Result()
		if err != nil {
			return 0, 0, 0, err
		}
		all += n
		if n > best {
			best, unit = n, decode.Units[i]
		}
	}
	// The commands are not a transaction: members may come in between.
	return unit, all - best, max(left-all, 0), nil
}
