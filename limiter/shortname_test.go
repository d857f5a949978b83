package limiter

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamesTellKeysApart gives keys that differ in a byte, in their length or in what is
// padding, their names: short ones must not share any, and a long one never has that of a
// short one.
func TestNamesTellKeysApart(t *testing.T) {
	s := newHashSecret()
	seen := map[shortName]string{}
	for length := range shortKey + 3 {
		base := strings.Repeat("\x00", length)
		keys := []string{base}
		for i := range length {
			for _, c := range []string{"\x01", "\x80", "\xff"} {
				keys = append(keys, base[:i]+c+base[i+1:])
			}
		}
		for _, key := range keys {
			var q request
			s.nameKey(&q, key)
			if q.key != key || q.name.tag == 0 {
				t.Fatalf("key %q has the name %+v of %q", key, q.name, q.key)
			}
			if got := q.name.long(); got != (length > shortKey) {
				t.Errorf("key %q of %d bytes: long %v", key, length, got)
			}
			if other, taken := seen[q.name]; taken && length <= shortKey {
				t.Errorf("keys %q and %q share a name", key, other)
			}
			seen[q.name] = key
		}
	}
}

// TestNamesSpread looks at where keys come that are as alike as keys are: no shard, and no
// home in a table, may take much more than its part. With a thousand keys in each, a part
// strays by 32, and a fifth is six times that.
func TestNamesSpread(t *testing.T) {
	for _, form := range []string{"user:%d", "%d", "10.0.%d.7", "tenant:%d:requests:per:minute"} {
		s := newHashSecret()
		var shards, homes [shardCount]int
		for i := range 1000 * shardCount {
			var q request
			shards[s.nameKey(&q, fmt.Sprintf(form, i))%shardCount]++
			homes[q.name.tag>>lenBits%shardCount]++
		}
		for i := range shards {
			if shards[i] < 800 || shards[i] > 1200 || homes[i] < 800 || homes[i] > 1200 {
				t.Errorf("form %q: %d keys in shard %d and %d at home there, want about 1000", form, shards[i], i, homes[i])
			}
		}
	}
}
