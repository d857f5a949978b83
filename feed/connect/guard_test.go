package connect

import (
	"context"
	"errors"
	"testing"

	"ratescope/internal/servertest"
)

// TestGuardRefusesWrites calls writing commands on the observing client itself.
func TestGuardRefusesWrites(t *testing.T) {
	s := servertest.Start(t)
	e, err := Parse([]string{s.URL()}, TLSFiles{})
	if err != nil {
		t.Fatal(err)
	}
	client := e.Open("guarded", 1, &Guard{})
	defer client.Close()
	ctx := context.Background()
	if err := client.Set(ctx, "a", "b", 0).Err(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("SET: %v", err)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("CONFIG SET: %v", err)
	}
	p := client.Pipeline()
	get := p.Get(ctx, "a")
	p.Eval(ctx, "redis.call('SET', KEYS[1], 1)", []string{"a"})
	if _, err := p.Exec(ctx); !errors.Is(err, ErrReadOnly) || !errors.Is(get.Err(), ErrReadOnly) {
		t.Errorf("a pipeline with EVAL: %v, its GET: %v", err, get.Err())
	}
	tx := client.TxPipeline()
	tx.Del(ctx, "a")
	if _, err := tx.Exec(ctx); !errors.Is(err, ErrReadOnly) {
		t.Errorf("MULTI with DEL: %v", err)
	}
	if n := s.CLI("DBSIZE"); n != "0" {
		t.Errorf("the server holds %s keys", n)
	}
}
