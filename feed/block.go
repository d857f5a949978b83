package feed

import (
	"strconv"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// block reads until when a key is blocked. There is something to read only while a block
// lasts, so that it is looked for where the rule speaks of blocks or discovery saw one.
type block struct {
	key  string // "" is not looked for
	till *redis.StringCmd
}

func (b *block) ask(q *query, l *look) {
	b.till = nil
	if b.key == "" && l.target.Convention.Block > 0 {
		b.key = limiter.BlockedKey(l.name)
	}
	if b.key != "" {
		b.till = q.pipe.Get(q.ctx, b.key)
	}
}

func (b *block) tell(r *model.Reading) {
	if b.till == nil {
		return
	}
	text, err := b.till.Result()
	if err != nil {
		return
	}
	if us, err := strconv.ParseInt(text, 10, 64); err == nil && us > 0 && us < 1<<53 {
		r.State.BlockedUntil = limiter.Instant(us)
	}
}
