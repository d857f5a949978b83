package relay

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// TestEveryRequestIsToldOnce: a client that joins between two batches gets each of them once, in the state
// or after it.
func TestEveryRequestIsToldOnce(t *testing.T) {
	const batches, clients = 200, 20
	b := newBoard(clients, false)
	var all sync.WaitGroup
	all.Go(func() {
		for n := range batches {
			at := limiter.Instant(n+1) * 1000
			r := model.Reading{Key: "a", Type: "string", At: at, Arrivals: []model.Arrival{{At: at, N: 1}}}
			r.State.Current = int64(n + 1)
			b.put(model.Batch{At: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
		}
	})
	texts := make([]*bytes.Buffer, clients)
	joined := make([]*client, clients)
	for i := range clients {
		all.Go(func() {
			c, stood := b.hub.join(false)
			texts[i], joined[i] = bytes.NewBuffer(b.hub.state(&stood, false)), c
		})
	}
	all.Wait()
	for i, c := range joined {
		queue, _ := b.hub.take(c)
		for _, text := range queue {
			texts[i].Write(text)
		}
		r, err := record.NewReader(texts[i])
		if err != nil {
			t.Fatal(err)
		}
		came := int64(0)
		for first := true; ; {
			batch, err := r.Next()
			if err != nil {
				if came != batches || err == io.EOF {
					t.Errorf("client %d is told of %d requests, want %d: %v", i, came, batches, err)
				}
				break
			}
			for _, reading := range batch.Readings {
				for _, a := range reading.Arrivals {
					came += a.N
				}
				if first && len(reading.Arrivals) == 0 {
					came = reading.State.Current
				}
			}
			first = false
		}
	}
}
