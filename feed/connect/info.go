package connect

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// ParseInfo reads the lines name:value of INFO.
func ParseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			fields[name] = value
		}
	}
	return fields
}

const valkey = "valkey "

// VersionOf returns the version that the fields of INFO tell: "7.0.15", "valkey 8.1.1"; ""
// is unknown.
func VersionOf(fields map[string]string) string {
	if v := fields["valkey_version"]; v != "" {
		return valkey + v
	}
	return fields["redis_version"]
}

// HasNoTouch says whether connections to a server of that version read without counting as
// use of the keys: by CLIENT NO-TOUCH, which Redis has from 7.2 on. Where a connection
// has asked for it, Redis 8.0 to 8.2 and Valkey before 9 may crash: while a slot migrates,
// or when another client that blocks is woken (redis/redis#14415, valkey-io/valkey#2347;
// seen on Redis 8.0.6 and Valkey 8.1.1). Some of these are mended in later patches, but
// no server is watched at that risk.
func HasNoTouch(version string) bool {
	number, isValkey := strings.CutPrefix(version, valkey)
	major, rest, _ := strings.Cut(number, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	switch {
	case isValkey:
		return a >= 9
	case a == 7:
		return b >= 2 && b < 9 // 7.9 is what 8.0 was before its release
	}
	return a > 8 || a == 8 && b >= 4
}

// introduce says on each new connection who is there. go-redis would give up a connection
// whose user must not say so, and dial again at once.
func introduce(name string, watching bool) func(context.Context, *redis.Conn) error {
	var refused atomic.Bool // INFO, on an earlier connection
	return func(ctx context.Context, cn *redis.Conn) error {
		pipe := cn.Pipeline() // one round trip for both: the server may be far away
		_ = pipe.Process(ctx, redis.NewStatusCmd(ctx, "client", "setname", name))
		var info *redis.StringCmd
		if watching && !refused.Load() {
			info = pipe.Info(ctx, "server")
		}
		_, _ = pipe.Exec(ctx)
		// The server is told not to count this connection's reads as use of the keys, so that
		// watching neither keeps keys from being evicted nor makes them look hot: where that is
		// known to be safe, and where the user may ask.
		if info == nil {
			return nil
		}
		if Code(info.Err()) == "NOPERM" {
			refused.Store(true)
		}
		if info.Err() == nil && HasNoTouch(VersionOf(ParseInfo(info.Val()))) {
			_ = cn.Process(ctx, redis.NewStatusCmd(ctx, "client", "no-touch", "on"))
		}
		return nil
	}
}
