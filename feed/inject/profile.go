package inject

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// profile is one HOTKEYS session that was begun from here, on one node.
type profile struct {
	node  *redis.Client
	began int64 // collection-start-time-unix-ms, by which it is told from others
}

// Bounds of a profile.
const (
	profileKeys   = 32 // each of the two measures
	profileSample = 10 // one command of so many is measured
)

// Profile has Redis (8.6 and later) find out for d which keys take most of its time and of
// its bytes: HOTKEYS START changes the server's state, so that it is begun from here alone,
// when armed, and is a line in the audit file. It returns false where there is nothing to
// begin: the server has no such command, or somebody else's profile runs there or waits to be
// read, which is not thrown away. Close ends what is still running and takes the results
// away.
func (i *Injector) Profile(ctx context.Context, d time.Duration) (began bool, err error) {
	if err := i.Armed(); err != nil {
		return false, err
	}
	if err := i.audit.open(); err != nil {
		return false, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, i.o.Timeout)
	defer cancel()
	switch c := i.writer().(type) {
	case *redis.Client:
		return i.begin(ctx, c, d)
	case *redis.ClusterClient:
		var nodes []*redis.Client
		nodes, err = connect.Masters(ctx, c)
		for _, node := range nodes {
			here, e := i.begin(ctx, node, d)
			began, err = began || here, errors.Join(err, e)
		}
	}
	return began, err
}

// begin starts a profile on one node. i.mu is held.
func (i *Injector) begin(ctx context.Context, node *redis.Client, d time.Duration) (bool, error) {
	if was, err := node.HotKeysGet(ctx).Result(); err == nil && was != nil {
		if !i.mine(node, was) || was.TrackingActive {
			return false, nil
		}
	} else if err != nil && !errors.Is(err, redis.Nil) {
		return false, absent(err)
	}
	seconds := max(int64(d/time.Second), 1)
	text := fmt.Sprintf("HOTKEYS START METRICS 2 CPU NET COUNT %d DURATION %d SAMPLE %d", profileKeys, seconds, profileSample)
	err := i.audit.command(i.endpoint.Shown, text, func() error {
		return node.HotKeysStart(ctx, &redis.HotKeysStartArgs{
			Metrics: []redis.HotKeysMetric{redis.HotKeysMetricCPU, redis.HotKeysMetricNET},
			Count:   profileKeys, Duration: seconds, Sample: profileSample,
		}).Err()
	})
	if err != nil {
		return false, absent(err)
	}
	now, err := node.HotKeysGet(ctx).Result()
	if err != nil || now == nil {
		return true, err
	}
	i.profiles = append(i.profiles, profile{node, now.CollectionStartTime.UnixMilli()})
	return true, nil
}

// absent passes over what a server says that has no such command, or that somebody was
// faster.
func absent(err error) error {
	text := err.Error()
	if strings.Contains(text, "unknown command") || strings.Contains(text, "nknown subcommand") || strings.Contains(text, "already in progress") || strings.Contains(text, "disabled") {
		return nil
	}
	return fmt.Errorf("the server does not profile its keys: %w", err)
}

// mine says that what a node holds was begun from here.
func (i *Injector) mine(node *redis.Client, r *redis.HotKeysResult) bool {
	for _, p := range i.profiles {
		if p.node == node && p.began == r.CollectionStartTime.UnixMilli() {
			return true
		}
	}
	return false
}

// endProfiles leaves the servers as they were. i.mu is held.
func (i *Injector) endProfiles() error {
	if len(i.profiles) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), i.o.Timeout)
	defer cancel()
	var failed error
	for _, p := range i.profiles {
		r, err := p.node.HotKeysGet(ctx).Result()
		if err != nil || r == nil || p.began != r.CollectionStartTime.UnixMilli() {
			continue // gone, or another's
		}
		if err := p.node.HotKeysStop(ctx).Err(); err != nil && !errors.Is(err, redis.Nil) {
			failed = errors.Join(failed, err)
		}
		failed = errors.Join(failed, i.audit.command(i.endpoint.Shown, "HOTKEYS RESET", func() error { return p.node.HotKeysReset(ctx).Err() }))
	}
	i.profiles = nil
	return failed
}
