"""Records the Ruby limiters that Debian packages, with the recorder of the Python ones."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from recorder import align, call, peek, record, sleep

FIVE_IN_4S = {"limit": 5, "window_ms": 4000}
STORY = [align(4000, 100), call(4), call(), call(2), peek(), align(4000, 200), call(2), sleep(1000), call(4), sleep(3600), call()]
INDEX = "the window's index, epoch seconds divided by the period, stands between the prefix and the rule's name"


def rack_attack(scenario, story, configured, denied="charged", algorithm="fixed-window", notes=(INDEX,), **config):
    return {
        "library": "rack-attack", "scenario": scenario, "algorithm": algorithm, "denied": denied, "story": story,
        "config": {"kind": "throttle", "name": "logins/ip", "limit": 5, "period": 4, **config},
        "configured": configured, "in_redis": ["window"], "notes": list(notes),
    }


BAN = "a hit of the filter is refused at once and counted; count = maxretry writes the ban, whose TTL is the ban's time"
ALLOW = "allow2ban admits up to maxretry hits; the one that reaches it is admitted and writes the ban, whose TTL is the ban's time"

SCENARIOS = [
    rack_attack("cache-store", STORY, FIVE_IN_4S),
    rack_attack("cache-store-namespace", STORY, FIVE_IN_4S, cache={"namespace": "shop"}),
    rack_attack("redis-client", STORY, FIVE_IN_4S, store="redis", notes=[INDEX, "each hit sets the TTL again, to the window's end + 1 s"]),
    rack_attack("prefix", STORY, FIVE_IN_4S, prefix="throttle"),
    rack_attack("minute", [align(60000, 1000), call(), call(), call(96, record="last"), call(), call(), call(2)],
                {"limit": 100, "window_ms": 60000}, limit=100, period=60, name="req/ip"),
    rack_attack("fail2ban", [align(4000, 100), call(cost=0, path="/"), call(2), call(cost=0, path="/"), call(), call(cost=0, path="/"), peek(path="/"), call(cost=0, path="/")],
                {"limit": 3, "window_ms": 4000, "block_ms": 6000}, algorithm="other", kind="fail2ban", limit=3, bantime=6, notes=[INDEX, BAN]),
    rack_attack("allow2ban", [align(4000, 100), call(2), call(), call(), call(cost=0, path="/"), peek(path="/"), call()],
                {"limit": 3, "window_ms": 4000, "block_ms": 6000}, algorithm="other", kind="allow2ban", limit=3, bantime=6, notes=[INDEX, ALLOW]),
]

if __name__ == "__main__":
    record(["ruby", str(Path(__file__).with_name("driver.rb"))], SCENARIOS)
