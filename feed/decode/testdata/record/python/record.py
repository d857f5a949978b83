"""Records the Python limiters that Debian packages."""

import sys
from pathlib import Path

from recorder import call, peek, record, sleep

SLIDING = [
    call(3), sleep(1500), call(2), call(2), peek(), sleep(2700), call(), call(2), peek(), sleep(1200), call(2), sleep(4500), call(),
]
FIXED = [call(4), call(), call(3), peek(), call(2), sleep(2500), call(4), sleep(2300), call(), peek()]
PER_MINUTE = [call(), call(), call(96, record="last"), call(), call(), call(2)]


def limits(scenario, strategy, limit, algorithm, denied, story, configured, notes=(), identifiers=("alice",)):
    return {
        "library": "limits", "scenario": scenario, "algorithm": algorithm, "denied": denied, "story": story,
        "config": {"strategy": strategy, "limit": limit, "identifiers": list(identifiers)},
        "configured": configured, "in_redis": ["limit", "window"], "notes": list(notes),
    }


def flask(scenario, config, algorithm, denied, story, configured, notes=()):
    return {
        "library": "limits", "through": "flask-limiter", "scenario": f"2-flask-{scenario}", "algorithm": algorithm, "denied": denied,
        "story": story, "config": config, "configured": configured, "in_redis": ["limit", "window"], "notes": list(notes),
    }


def drf(scenario, config, story, configured, notes=()):
    return {
        "library": "django-rest-framework", "scenario": scenario, "algorithm": "sliding-log", "denied": "free", "story": story,
        "config": config, "configured": configured, "in_redis": [], "notes": list(notes),
    }


def axes(scenario, hours, story, configured, notes=(), **config):
    return {
        "library": "django-axes", "scenario": scenario, "algorithm": "fixed-window", "denied": "charged", "story": story,
        "config": {"limit": configured["limit"], "hours": hours, **config}, "configured": configured, "in_redis": [],
        "notes": ["every failed login, a refused one too, sets the count anew with the whole time", *notes],
    }


FIVE_IN_4S = {"limit": 5, "window_ms": 4000}
HUNDRED_A_MINUTE = {"limit": 100, "window_ms": 60000}
ELASTIC = "every hit, a refused one too, renews the TTL, so the window ends only after a whole window without any call"
CLOCK = "the elements are the client's clock in seconds; an entry exactly one window old still refuses"
WAIT = "wait() divides the time until the oldest entry leaves by the free places + 1; it is the next admission only while full"

SCENARIOS = [
    limits("2-fixed-window", "fixed-window", "5 per 4 second", "fixed-window", "charged", FIXED, FIVE_IN_4S),
    limits("2-fixed-window-cost", "fixed-window", "5 per 4 second", "fixed-window", "charged",
           [call(cost=3), call(cost=3), call(cost=1), peek(), call(cost=2)], FIVE_IN_4S),
    limits("2-fixed-window-minute", "fixed-window", "100/minute", "fixed-window", "charged", PER_MINUTE, HUNDRED_A_MINUTE,
           identifiers=("198.51.100.7", "orders.list")),
    limits("2-fixed-window-elastic", "fixed-window-elastic-expiry", "5 per 4 second", "fixed-window", "charged",
           [call(4), sleep(1500), call(2), sleep(2500), call(2), sleep(4100), call(2)], FIVE_IN_4S, [ELASTIC]),
    limits("2-moving-window", "moving-window", "5 per 4 second", "sliding-log", "free", SLIDING, FIVE_IN_4S, [CLOCK]),
    limits("2-moving-window-cost", "moving-window", "5 per 4 second", "sliding-log", "free",
           [call(cost=3), sleep(700), call(cost=3), peek(cost=3), call(cost=2), call(), peek(), call(cost=5), peek(cost=5)],
           FIVE_IN_4S, [CLOCK]),
    limits("2-moving-window-minute", "moving-window", "100/minute", "sliding-log", "free", PER_MINUTE, HUNDRED_A_MINUTE, [CLOCK]),
    flask("default-limits", {"strategy": "fixed-window", "default_limits": ["5 per 4 seconds", "50 per hour"]}, "fixed-window",
          "charged", FIXED, FIVE_IN_4S, ["two limits of one subject; the headers tell of the tightest"]),
    flask("route-moving-window", {"strategy": "moving-window", "limit": "5 per 4 seconds"}, "sliding-log", "free", SLIDING, FIVE_IN_4S,
          [CLOCK]),
    flask("key-prefix", {"strategy": "fixed-window", "limit": "5 per 4 seconds", "key_prefix": "shop"}, "fixed-window", "charged",
          FIXED, FIVE_IN_4S, ["the prefix stands after LIMITER/, before the identifiers"]),
    flask("application-limits", {"strategy": "fixed-window", "application_limits": ["100 per minute"]}, "fixed-window", "charged",
          PER_MINUTE, HUNDRED_A_MINUTE, ["one counter for all routes: the last identifier is global"]),
    drf("user", {"scope": "user", "rate": "5/min", "seconds": 4}, SLIDING, FIVE_IN_4S, [WAIT]),
    drf("anon-minute", {"scope": "anon", "rate": "100/min"}, PER_MINUTE, HUNDRED_A_MINUTE, [WAIT]),
    drf("key-prefix", {"scope": "user", "rate": "5/min", "seconds": 4, "cache": {"KEY_PREFIX": "shop", "VERSION": 2}}, SLIDING,
        FIVE_IN_4S, [WAIT]),
    drf("json-values", {"scope": "anon", "rate": "5/min", "seconds": 4, "cache": {
        "OPTIONS": {"SERIALIZER": "django_redis.serializers.json.JSONSerializer"}}}, SLIDING, FIVE_IN_4S, [WAIT]),
    drf("zlib-values", {"scope": "anon", "rate": "20/min", "seconds": 4, "cache": {
        "OPTIONS": {"COMPRESSOR": "django_redis.compressors.zlib.ZlibCompressor"}}}, [call(22)], {"limit": 20, "window_ms": 4000},
        [WAIT]),
    axes("failures", 4 / 3600, [call(3), sleep(1500), call(2), call(), sleep(2500), call(), sleep(4300), call()], FIVE_IN_4S),
    axes("key-prefix", 1, [call(4), call(2)], {"limit": 5, "window_ms": 3600000}, cache={"KEY_PREFIX": "shop", "VERSION": 2}),
    axes("forever", None, [call(2), call(5)], {"limit": 5, "window_ms": None}, ["without a time after which it ends the keys stay"]),
]

if __name__ == "__main__":
    record([sys.executable, str(Path(__file__).with_name("driver.py"))], SCENARIOS)
