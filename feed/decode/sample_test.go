package decode

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
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
			if !connect.Reads(c.Name()) {
				t.Errorf("%s: %s is not known to read", typ, c.Name())
			}
		}
	}
}
