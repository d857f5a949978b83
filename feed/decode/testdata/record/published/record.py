"""Records limiters that no registry here holds, by the published rules of driver.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from recorder import align, call, peek, record, sleep

FIVE_IN_4S = {"limit": 5, "window_ms": 4000}
HUNDRED_A_MINUTE = {"limit": 100, "window_ms": 60000}
FIXED = [call(4), call(), call(3), peek(), call(2), sleep(2500), call(4), sleep(2300), call()]
ALIGNED = [align(4000, 100), call(4), call(), call(2), peek(), align(4000, 200), call(2), sleep(1000), call(4), sleep(3600), call()]
LOG = [call(3), sleep(1500), call(2), call(2), peek(), sleep(2700), call(), call(2), sleep(1200), call(2), sleep(4500), call()]
WEIGHTED = [
    align(4000, 100), call(4), sleep(3000), call(2), peek(), align(4000, 300), call(3), peek(), align(4000, 2500), call(3),
    sleep(7000), call(),
]
PER_MINUTE = [align(60000, 1000), call(), call(), call(96, record="last"), call(), call(), call(2)]
BUCKET = [call(4), call(2), peek(), call(2), sleep(1200), call(3), peek(), sleep(4500), call()]
DIGEST = "the name is a digest: neither limit, window nor subject can be read from it"
INDEX = "the window's index ends the name"


def published(library, scenario, config, algorithm, denied, story, in_redis, configured=FIVE_IN_4S, notes=()):
    return {
        "library": library, "scenario": scenario, "source": "published", "algorithm": algorithm, "denied": denied, "story": story,
        "config": config, "configured": configured, "in_redis": in_redis, "notes": list(notes),
    }


def limits(scenario, strategy, algorithm, denied, story, notes=()):
    config = {"strategy": strategy, "limit": 5, "window": 4, "name": "LIMITER/198.51.100.7//orders/5/4/second"}
    return published("limits", scenario, config, algorithm, denied, story, ["limit", "window"], notes=notes)


def throttled(using, algorithm, denied, story, in_redis, notes=()):
    config = {"using": using, "limit": 5, "period": 4, "key": "/api/orders:alice"}
    return published("throttled-py", using.replace("_", "-"), config, algorithm, denied, story, in_redis,
                     {"limit": 5, "window_ms": 4000, "burst": 5}, notes)


def pyrate(scenario, rates, story, configured, notes=(), **more):
    return published("pyrate-limiter", scenario, {"key": "orders-bucket", "rates": rates, **more}, "sliding-log", "free", story, [],
                     configured, ["the key has no TTL; both edges of the window are closed", *notes])


def sentry(scenario, algorithm, denied, story, in_redis, configured, notes=(), **config):
    return published("sentry", scenario, {"limit": 5, "window": 4, **config}, algorithm, denied, story, in_redis, configured, notes)


SCENARIOS = [
    limits("5-fixed-window", "fixed-window", "fixed-window", "charged", FIXED),
    limits("5-moving-window", "moving-window", "sliding-log", "free", LOG, ["an entry exactly one window old still refuses"]),
    limits("5-moving-window-cost", "moving-window", "sliding-log", "free",
           [call(cost=3), sleep(700), call(cost=3), peek(cost=3), call(cost=2), call(), call(cost=6)]),
    limits("5-sliding-window", "sliding-window-counter", "sliding-window", "free",
           [call(4), sleep(3000), call(2), peek(), sleep(1500), call(3), peek(), sleep(2000), call(3), sleep(9000), call()],
           ["the current counter is made with twice the window; below one window left it becomes the previous one"]),
    throttled("fixed_window", "fixed-window", "charged", ALIGNED, ["window"], [INDEX, "the TTL is one period from the first hit"]),
    throttled("sliding_window", "sliding-window", "free", WEIGHTED, ["window"], [INDEX, "TTL three periods from the first hit"]),
    throttled("token_bucket", "token-bucket", "free", BUCKET, [], ["whole tokens and whole seconds; refused calls write nothing"]),
    throttled("leaking_bucket", "leaky-bucket", "free", BUCKET, [],
              ["tokens holds what is USED", "the first call sets EXPIRE before the key exists: no TTL until the second call"]),
    throttled("gcra", "gcra", "free", BUCKET, [], ["TAT in seconds since 1735660800"]),
    pyrate("one-rate", [{"interval": 4000, "limit": 5}], LOG, FIVE_IN_4S),
    pyrate("two-rates", [{"interval": 1000, "limit": 3}, {"interval": 4000, "limit": 5}],
           [call(3), call(), peek(), sleep(1100), call(2), call(), peek(), call()], FIVE_IN_4S,
           ["the tightest of two rates refuses; neither is in Redis"]),
    pyrate("weight", [{"interval": 4000, "limit": 5}], [call(cost=3), call(cost=3), peek(cost=3), call(cost=2), call(cost=6)], FIVE_IN_4S,
           ["a weight of n adds n members of one instant"], leak=True),
    published("fastapi-limiter", "basic", {"key": "fastapi-limiter:198.51.100.7:/orders:3:0", "limit": 5, "window": 4000}, "fixed-window",
              "free", FIXED, ["window"], notes=["the count never passes the limit"]),
    published("fastapi-limiter", "minute", {"key": "fastapi-limiter:198.51.100.7:/orders:3:0", "limit": 100, "window": 60000},
              "fixed-window", "free", PER_MINUTE, ["window"], HUNDRED_A_MINUTE),
    published("django-ratelimit", "basic", {"limit": 5, "period": 4, "value": "198.51.100.7", "group": "shop.views.orders", "prefix": ":1:"},
              "fixed-window", "charged", FIXED, [], notes=[DIGEST, "TTL is period + 5 s from the first hit, which is not the window's end"]),
    published("django-rest-framework", "django-5", {"limit": 5, "window": 4, "key": ":1:throttle_user_42"}, "sliding-log", "free", LOG, []),
    sentry("fixed-window", "fixed-window", "charged", ALIGNED, ["window"], FIVE_IN_4S,
           [INDEX, "each hit renews the TTL of one window, so the key outlives its window"], using="fixed_window", key="api:orders", project=42),
    sentry("granules", "sliding-window", "partly", [align(4000, 100), call(3), sleep(1000), call(2), call(), peek(), call(cost=3), sleep(2000), call(cost=4)],
           ["window"], FIVE_IN_4S, ["name ends with window, granularity and index in seconds; the index is that of the granule before",
                                    "a request of several is granted in part"],
           using="granules", key="sentry-string-indexer:123", granularity=1),
    sentry("leaky-bucket", "leaky-bucket", "free", BUCKET, [], {"limit": 5, "window_ms": 2500, "burst": 5}, using="leaky_bucket",
           key="orders", drip_rate=2),
    sentry("concurrent", "concurrency", "free",
           [call(uid="a"), call(uid="b"), call(uid="c"), call(uid="d"), call(uid="e"), call(uid="f"), call(cost=0, uid="a", finish=True),
            call(uid="g"), call(uid="h")], [], {"limit": 5, "window_ms": 30000}, using="concurrent", key="organization:7", window=30),
    published("rspamd", "messages", {"key": "RL8x7pw4s1m3hqz5kafc6y", "limit": 5, "window_ms": 4000, "expire": 100}, "leaky-bucket", "free",
              [call(4), call(2), peek(), call(2), sleep(1200), call(3), peek(), sleep(4500), call()], [],
              {"limit": 5, "window_ms": 4000, "burst": 5}, ["a refused message leaves what has leaked, and no more"]),
    published("rspamd", "pending", {"key": "RLq9k2b6t4ynwx3edr8gaz", "limit": 5, "window_ms": 4000, "expire": 100}, "leaky-bucket", "free",
              [call(3), call(handled=False), call(handled=False), peek(), call(), sleep(1500), call(handled=False), peek()], [],
              {"limit": 5, "window_ms": 4000, "burst": 5}, ["messages that are being handled stand in p, and do not leak"]),
    published("rails", "basic", {"key": "rate-limit:sessions:198.51.100.7", "limit": 5, "window": 4}, "fixed-window", "charged", FIXED,
              ["window"]),
    published("rails", "named", {"key": "shop:rate-limit:sessions:short-term:198.51.100.7", "limit": 100, "window": 60}, "fixed-window",
              "charged", PER_MINUTE, ["window"], HUNDRED_A_MINUTE, ["store namespace in front, the limit's name before the subject"]),
    published("laravel", "12-middleware", {"key": "shop-database-shop-cache-5d41402abc4b2a76b9719d911017c592", "limit": 5, "decay": 4},
              "fixed-window", "free", [align(1000, 300), *FIXED], ["window"]),
    published("mastodon", "statuses", {"account": 109382, "family": "statuses", "limit": 5, "period": 4}, "fixed-window", "free", ALIGNED,
              ["window"], notes=[INDEX, "real families: follows 400 a day, statuses 300 in 3 h, reports 400 a day"]),
    published("gitlab", "user", {"action": "project_export", "scope": "user:42", "limit": 5, "period": 4}, "fixed-window", "charged",
              ALIGNED, ["window"], notes=[INDEX]),
    published("gitlab", "minute", {"action": "notes_create", "scope": "user:42", "limit": 100, "period": 60}, "fixed-window", "charged",
              PER_MINUTE, ["window"], HUNDRED_A_MINUTE, [INDEX]),
    published("gitlab", "resources", {"action": "unique_project_downloads_for_application", "scope": "user:42", "limit": 2, "period": 4},
              "other", "charged", [align(4000, 100), call(resource="7"), call(resource="7"), call(resource="8"), call(resource="9"),
                                   call(resource="7")], ["window"], {"limit": 2, "window_ms": 4000}, [INDEX, "SET of distinct resources"]),
    published("discourse", "user", {"key": "default:l-rate-limit3::42:create_post", "limit": 5, "window": 4}, "sliding-log", "free",
              [align(1000, 300), *LOG], ["window"], notes=["whole seconds of the client's clock; TTL is twice the window"]),
    published("discourse", "global", {"key": "GLOBAL::l-rate-limit3:::admin_api_min", "limit": 5, "window": 4, "aggressive": True},
              "sliding-log", "charged", [align(1000, 300), call(5), call(), sleep(2000), call(), sleep(4200), call()], ["window"],
              notes=["aggressive: a refused call is kept in the list too"]),
    published("prorate", "throttle", {"name": "login:9a0364b9e99bb480dd25e1f0284c8555a3d31b9e", "limit": 5, "period": 4, "block_for": 3},
              "leaky-bucket", "partly", [call(4), call(2), call(), peek(), call(), sleep(1000), call(2)], [],
              {"limit": 5, "window_ms": 4000, "burst": 5, "block_ms": 3000},
              ["TTL of level and time is the period", ".block holds the second in which the block ends and lives as long"]),
    published("ratelimit-ruby", "basic", {"key": "emails:alice", "limit": 5, "interval": 4, "bucket_interval": 1, "bucket_span": 10},
              "sliding-window", "free", [align(1000, 200), call(3), sleep(1500), call(2), call(), peek(), call(2)], [],
              notes=["field = epoch seconds / bucket interval; TTL is expiry + interval; window and limit are the application's at each question"]),
]

if __name__ == "__main__":
    record([sys.executable, str(Path(__file__).with_name("driver.py"))], SCENARIOS)
