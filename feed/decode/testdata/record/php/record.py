"""Records the PHP limiters that Debian packages, with the recorder of the Python ones."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from recorder import align, call, peek, record, sleep

FIVE_IN_4S = {"limit": 5, "window_ms": 4000}
HUNDRED_A_MINUTE = {"limit": 100, "window_ms": 60000}
PER_MINUTE = [call(), call(), call(96, record="last"), call(), call(), call(2)]
FIXED = [align(1000, 300), call(4), call(), call(2), peek(), call(2), sleep(2000), call(4), peek(), call()]


def laravel(scenario, config, story, configured, denied="free", in_redis=("window",), notes=()):
    return {
        "library": "laravel", "scenario": scenario, "algorithm": "fixed-window", "denied": denied, "story": story,
        "config": config, "configured": configured, "in_redis": list(in_redis), "notes": list(notes),
    }


def throttle(scenario, config, story, configured):
    return {
        "library": "laravel", "through": "laravel-redis-throttle", "scenario": f"redis-throttle-{scenario}", "algorithm": "fixed-window", "denied": "charged",
        "story": story, "config": config, "configured": configured, "in_redis": ["window"],
        "notes": ["start and end are whole seconds of the client's clock, compared as strings with a fraction: the end's own second is over"],
    }


def symfony(scenario, policy, story, algorithm, configured, in_redis, notes=(), **config):
    return {
        "library": "symfony-rate-limiter", "scenario": scenario, "algorithm": algorithm, "denied": "free", "story": story,
        "config": {"policy": policy, **config}, "configured": configured, "in_redis": in_redis, "notes": list(notes),
    }


DEFAULTS = {"connection_prefix": "shop_database_", "cache_prefix": "shop_cache"}
SHA1 = "ac3478d69a3c81fa62e60f5c3696165a4e5e6ac4"  # a user's id, hashed as the middleware does
MD5 = "5d41402abc4b2a76b9719d911017c592"
TIMER = "the timer holds the second in which the window ends; the TTL of both keys is the decay and ends up to one second later"
SLIDING = [call(4), sleep(2500), call(), call(2), peek(), call(), sleep(2600), call(), call(3), peek(), sleep(2000), call(2), sleep(9000), call()]

WINDOW = {"id": "api", "policy": "fixed_window", "limit": 5, "interval": "4 seconds"}
WEIGHTED = {"id": "api", "policy": "sliding_window", "limit": 5, "interval": "4 seconds"}
BUCKET = {"id": "api", "policy": "token_bucket", "limit": 5, "rate": {"interval": "1 second", "amount": 2}}
BUCKET_CONFIGURED = {"limit": 5, "window_ms": 2500, "burst": 5}
EVERYTHING = ["limit", "window", "burst"]
WINDOWED = [call(4), call(), call(3), peek(), call(2), sleep(2500), call(4), sleep(1600), call(), peek()]
REFILLED = [call(4), call(2), peek(), call(2), sleep(1200), call(3), peek(), sleep(4000), call()]
IGBINARY = "with PHP's igbinary extension the pool stores igbinary, not serialize()"

SCENARIOS = [
    laravel("middleware", {**DEFAULTS, "key": SHA1, "limit": 5, "decay": 4}, FIXED, FIVE_IN_4S, notes=[TIMER]),
    laravel("named-limiter", {**DEFAULTS, "key": MD5, "limit": 5, "decay": 4}, FIXED, FIVE_IN_4S, notes=[TIMER]),
    laravel("minute", {**DEFAULTS, "key": SHA1, "limit": 100, "decay": 60}, PER_MINUTE, HUNDRED_A_MINUTE, notes=[TIMER]),
    laravel("plain-name", {"key": "login|198.51.100.7", "limit": 5, "decay": 4}, FIXED, FIVE_IN_4S, notes=[TIMER]),
    laravel("always-hit", {**DEFAULTS, "key": "send-message:42", "limit": 5, "decay": 4},
            [call(4, always_hit=True), call(always_hit=True), call(3, always_hit=True), peek(always_hit=True), call(2, always_hit=True)],
            FIVE_IN_4S, denied="charged", notes=["an application that calls hit() without asking first charges refused calls", TIMER]),
    laravel("cleared", {**DEFAULTS, "key": "login:42", "limit": 5, "decay": 4}, [call(6), call(cost=0, clear=True), call(2)], FIVE_IN_4S,
            notes=[TIMER]),
    throttle("duration", {"key": "reports", "limit": 5, "decay": 4}, FIXED, FIVE_IN_4S),
    throttle("prefixed", {"connection_prefix": "shop_database_", "key": "reports", "limit": 5, "decay": 4}, FIXED, FIVE_IN_4S),
    throttle("minute", {"connection_prefix": "shop_database_", "key": SHA1, "limit": 100, "decay": 60}, PER_MINUTE, HUNDRED_A_MINUTE),
    symfony("fixed-window", WINDOW, WINDOWED, "fixed-window", FIVE_IN_4S, ["limit", "window"], key="alice", igbinary=False),
    symfony("fixed-window-igbinary", WINDOW, WINDOWED, "fixed-window", FIVE_IN_4S, ["limit", "window"], [IGBINARY], key="alice"),
    symfony("fixed-window-cost", WINDOW, [call(cost=3), call(cost=3), call(cost=2), call(), peek()], "fixed-window", FIVE_IN_4S,
            ["limit", "window"], key="alice", igbinary=False),
    symfony("fixed-window-minute", {**WINDOW, "limit": 100, "interval": "1 minute"}, PER_MINUTE, "fixed-window", HUNDRED_A_MINUTE,
            ["limit", "window"], key="198.51.100.7", namespace="Kq2xV8m1rT", igbinary=False),
    symfony("sliding-window", WEIGHTED, SLIDING, "sliding-window", FIVE_IN_4S, ["window"], key="alice", igbinary=False),
    symfony("sliding-window-igbinary", WEIGHTED, SLIDING, "sliding-window", FIVE_IN_4S, ["window"], [IGBINARY], key="alice"),
    symfony("sliding-window-minute", {**WEIGHTED, "limit": 100, "interval": "1 minute"}, PER_MINUTE, "sliding-window",
            HUNDRED_A_MINUTE, ["window"], key="alice", namespace="Kq2xV8m1rT", igbinary=False),
    symfony("token-bucket", BUCKET, REFILLED, "token-bucket", BUCKET_CONFIGURED, EVERYTHING, key="alice", igbinary=False),
    symfony("token-bucket-igbinary", BUCKET, REFILLED, "token-bucket", BUCKET_CONFIGURED, EVERYTHING, [IGBINARY], key="alice"),
    symfony("token-bucket-cost", BUCKET, [call(cost=4), call(cost=3), peek(cost=3), call(cost=5), peek(cost=5)], "token-bucket",
            BUCKET_CONFIGURED, EVERYTHING, key="alice", igbinary=False),
    symfony("token-bucket-minute", {**BUCKET, "limit": 100, "rate": {"interval": "1 minute", "amount": 100}}, PER_MINUTE,
            "token-bucket", {"limit": 100, "window_ms": 60000, "burst": 100}, EVERYTHING, key="alice", igbinary=False),
]

if __name__ == "__main__":
    record(["php", str(Path(__file__).with_name("driver.php"))], SCENARIOS)
