"""Expresses the published rules of Python limiters as plain Redis commands, one after another.

Each function takes a connection and the limiter's settings and returns what answers one call: words and an answer.
Nothing here is atomic, since one process asks; the libraries themselves run these steps in a script.
"""

import hashlib
import math
import pickle
import random
import string
import time
import zlib


def seconds(ms):
    return None if ms is None else max(0, round(ms * 1000))


def lua_number(value):
    """Returns a number as Redis writes a Lua number."""
    return f"{value:.17g}"


def answer(allowed, limit, remaining, retry_s=None, reset_s=None, /, **raw):
    """Returns an answer in the fixture's form; times are in seconds, raw holds the library's own words."""
    return {
        "allowed": allowed, "limit": limit, "remaining": remaining, "retry_after_ms": 0 if allowed else seconds(retry_s),
        "reset_after_ms": seconds(reset_s), "raw": raw,
    }


def limits(redis, config):
    """limits 5: the three strategies; the storage writes "LIMITS:" in front of the item's name."""
    limit, window, name = config["limit"], config["window"], config["name"]
    key = f"LIMITS:{name}"

    def fixed(cost, **_):
        used = redis.incrby(key, cost)
        if used == cost:
            redis.expire(key, window)
        ttl = max(redis.ttl(key), 0)
        return "hit", answer(used <= limit, limit, max(0, limit - used), ttl, ttl, hit=used <= limit, ttl=ttl)

    def moving(cost, **_):
        now = time.time()
        edge = redis.lindex(key, limit - cost) if cost <= limit else b"inf"
        allowed = edge is None or float(edge) < now - window
        if allowed:
            redis.lpush(key, *[lua_number(now)] * cost)
            redis.ltrim(key, 0, limit - 1)
            redis.expire(key, window)
        live = [float(entry) for entry in redis.lrange(key, 0, limit - 1) if float(entry) >= now - window]
        reset = (live[-1] if live else now) + window - now
        return "hit", answer(allowed, limit, limit - len(live), reset, reset, hit=allowed, window_stats=[now + reset, limit - len(live)])

    current, previous = f"LIMITS:{{{name}}}", f"LIMITS:{{{name}}}/-1"

    def sliding(cost, **_):
        def shift():
            ttl = redis.pttl(current)
            if 0 < ttl < window * 1000:
                redis.rename(current, previous)
                redis.set(current, 0, px=ttl + window * 1000)

        def weighted():
            held, ttl = int(redis.get(previous) or 0), max(redis.pttl(previous), 0)
            return held * ttl / (window * 1000), int(redis.get(current) or 0)

        shift()
        before, now = weighted()
        allowed = cost <= limit and math.floor(before) + now + cost <= limit
        if allowed and redis.exists(current):
            redis.incrby(current, cost)
        elif allowed:
            redis.set(current, cost, px=2 * window * 1000)
        before, now = weighted()
        remaining = max(0, limit - math.floor(before + now))
        return "hit", answer(allowed, limit, remaining, hit=allowed, remaining=remaining)

    return {"fixed-window": fixed, "moving-window": moving, "sliding-window-counter": sliding}[config["strategy"]]


def throttled_py(redis, config):
    """throttled-py 3: five algorithms; whole seconds of the server's clock in the buckets, the client's in the windows."""
    limit, period, burst, user = config["limit"], config["period"], config.get("burst", config["limit"]), config["key"]
    prefix, rate = f"throttled:v1:{config['using']}:{user}", limit / period

    def fixed_window(cost, **_):
        now = int(time.time())
        key = f"{prefix}:period:{now // period}"
        used = redis.incrby(key, cost)
        if used == cost:
            redis.expire(key, period)
        reset = period - now % period
        return "limit", answer(used <= limit, limit, max(0, limit - used), reset, reset, current=used)

    def sliding_window(cost, **_):
        index, now_ms = int(time.time()) // period, int(time.time() * 1000)
        key, older = f"{prefix}:period:{index}", f"{prefix}:period:{index - 1}"
        current, previous = redis.get(key), int(redis.get(older) or 0)
        left = 1 - now_ms % (period * 1000) / (period * 1000)
        weighted = math.floor(left * previous)
        used = weighted + int(current or 0) + cost
        allowed = used <= limit
        if allowed and current is None:
            redis.set(key, cost, ex=3 * period)
        elif allowed:
            redis.incrby(key, cost)
        retry = left * period * (cost / weighted if cost <= weighted else 1)
        return "limit", answer(allowed, limit, max(0, limit - used), retry, period, used=used, retry_after=0 if allowed else retry)

    def bucket(cost, full):
        now = redis.time()[0]
        tokens, refreshed = redis.hmget(prefix, "tokens", "last_refreshed")
        moved = math.floor(max(0, now - int(refreshed or now)) * rate)
        if full:
            return now, min(burst, int(burst if tokens is None else tokens) + moved)
        return now, burst - max(0, int(tokens or 0) - moved)

    def refill(upper, left):
        return 0 if left >= upper else math.ceil((upper - left) / rate)

    def token_bucket(cost, **_):
        now, left = bucket(cost, True)
        allowed = cost <= left
        if allowed:
            left -= cost
            redis.hset(prefix, mapping={"tokens": left, "last_refreshed": now})
            redis.expire(prefix, math.floor(2 * burst / rate))
        return "limit", answer(allowed, burst, left, refill(cost, left), refill(burst, left), tokens=left)

    def leaking_bucket(cost, **_):
        now, left = bucket(cost, False)
        allowed = cost <= left
        if allowed:
            left -= cost
            redis.expire(prefix, math.floor(2 * burst / rate))
            redis.hset(prefix, mapping={"tokens": burst - left, "last_refreshed": now})
        return "limit", answer(allowed, burst, left, refill(cost, left), refill(burst, left), tokens=left)

    def gcra(cost, **_):
        whole, micros = redis.time()
        now = whole - 1735660800 + micros / 1e6
        held = float(redis.get(prefix) or now)
        tat = max(now, held) + cost / rate
        spare = now - tat + burst / rate
        remaining, allowed = math.floor(spare * rate), spare >= 0
        if allowed:
            redis.set(prefix, lua_number(tat), ex=math.ceil(tat - now))
            return "limit", answer(True, burst, remaining, 0, tat - now, remaining=remaining, reset_after=tat - now)
        remaining = min(burst, cost + remaining)
        return "limit", answer(False, burst, remaining, -spare, max(0, held - now), remaining=remaining, retry_after=-spare)

    return locals()[config["using"]]


def pyrate_limiter(redis, config):
    """PyrateLimiter: members are the item's name, six random letters and a number, scores the client's ms."""
    key, rates = config["key"], config["rates"]
    letters = string.ascii_letters + string.digits

    def call(cost, name="orders", **_):
        now = time.time_ns() // 1000000
        failing = next(
            (rate for rate in rates if rate["limit"] - redis.zcount(key, now - rate["interval"], now) < cost), None
        )
        wait = 0
        if failing is None:
            batch = f"{name}:{''.join(random.choices(letters, k=6))}:"
            redis.zadd(key, {f"{batch}{i + 1}": now for i in range(cost)})
        elif bound := redis.zrange(key, cost - failing["limit"] - 1, cost - failing["limit"] - 1, withscores=True):
            wait = int(bound[0][1]) - now + failing["interval"]
        if config.get("leak") and failing is None:
            redis.zremrangebyscore(key, 0, now - rates[-1]["interval"])
        return f"try_acquire({name}, {cost})", answer(
            failing is None, rates[0]["limit"], None, wait / 1000, None, failing_rate=failing, waiting_ms=wait
        )

    return call


def fastapi_limiter(redis, config):
    """fastapi-limiter before 0.2: a counter that a refused call leaves alone; a refusal answers the PTTL."""
    key, limit, window = config["key"], config["limit"], config["window"]

    def call(cost, **_):
        used, wait = int(redis.get(key) or 0), 0
        if used == 0:
            redis.set(key, 1, px=window)
        elif used + 1 > limit:
            wait = redis.pttl(key)
        else:
            redis.incr(key)
        return "GET /orders", answer(wait == 0, limit, None, math.ceil(wait / 1000), None, pexpire=wait)

    return call


def django_ratelimit(redis, config):
    """django-ratelimit 4 on Django's cache: the name is a digest, the window ends at a jittered multiple of the period."""
    limit, period, value = config["limit"], config["period"], config["value"]

    def call(cost, **_):
        now = int(time.time())
        end = now - now % period + zlib.crc32(value.encode()) % period
        end = end + period if end < now else end
        words = f"{config['group']}{limit}/{period}s{value}{end}"
        key = f"{config['prefix']}rl:{hashlib.sha256(words.encode()).hexdigest()}"
        used = 1 if redis.set(key, 1, ex=period + 5, nx=True) else redis.incr(key)
        raw = {"count": used, "limit": limit, "should_limit": used > limit, "time_left": end - now}
        return f"{limit}/{period}s of {value}", answer(used <= limit, limit, max(0, limit - used), end - now, end - now, **raw)

    return call


def django_rest_framework(redis, config):
    """Django REST framework on Django's own Redis cache: a pickled list (protocol 5) of the client's seconds, newest first."""
    limit, window, key = config["limit"], config["window"], config["key"]

    def call(cost, **_):
        held, now = redis.get(key), time.time()
        history = pickle.loads(held) if held else []
        while history and history[-1] <= now - window:
            history.pop()
        allowed = len(history) < limit
        oldest = history[-1] if history else now
        wait = (window - (now - oldest)) / (limit - len(history) + 1)
        if allowed:
            history.insert(0, now)
            redis.set(key, pickle.dumps(history, 5), ex=window)
        return "GET /orders", answer(allowed, limit, None, math.ceil(wait), None, allow_request=allowed, wait=wait, history=len(history))

    return call


def sentry(redis, config):
    """Sentry's own limiters: fixed windows by index, granules, a leaky bucket, concurrent requests."""
    limit, window = config["limit"], config["window"]

    def fixed_window(cost, **_):
        index = int(time.time() / window)
        key = f"rl:{hashlib.md5(config['key'].encode()).hexdigest()}:{config['project']}:{index}"
        used = redis.incr(key)
        redis.expire(key, window)
        return "is_limited", answer(used <= limit, limit, max(0, limit - used), None, None, value=used)

    def granules(cost, **_):
        grain = config["granularity"]
        newest = int(time.time()) // grain - 1
        name = lambda index: f"sliding-window-rate-limit:{config['key']}:{window}:{grain}:{index}"
        used = sum(int(redis.get(name(newest - i)) or 0) for i in range(window // grain))
        granted = min(cost, max(0, limit - used))
        redis.incrby(name(newest), granted)
        redis.expire(name(newest), window)
        return f"check_and_use_quotas({cost})", answer(
            granted == cost, limit, max(0, limit - used - granted), None, None, granted=granted
        )

    def leaky_bucket(cost, **_):
        key, drip = f"leaky_bucket_limiter:{config['key']}", config["drip_rate"]
        last, now = redis.hget(key, "last_drip"), time.time()
        now = max(now, float(last or now))
        level = max(0, float(redis.hget(key, "current_level") or 0) - (now - float(last or now)) * drip) + 1
        if level <= limit:
            redis.hset(key, "current_level", lua_number(level))
            redis.hset(key, "last_drip", lua_number(now))
            redis.expire(key, math.ceil(limit / drip) + 2)
        return "use_and_get_info", answer(level <= limit, limit, None, (level - limit) / drip, None, level=level)

    def concurrent(cost, uid="a", finish=False, **_):
        key, now = f"concurrent_limit:{config['key']}", time.time()
        if finish:
            redis.zrem(key, uid)
            return f"finish_request({uid})", answer(True, limit, limit - redis.zcard(key), None, None)
        redis.zremrangebyscore(key, "-inf", now - window)
        running = redis.zcard(key)
        if running < limit:
            redis.zadd(key, {uid: now})
        return f"start_request({uid})", answer(
            running < limit, limit, limit - redis.zcard(key), None, None, current_executions=min(running + 1, limit)
        )

    return locals()[config["using"]]


def rspamd(redis, config):
    """rspamd's ratelimit: a message is checked, and added to its bucket once it was handled; until then it is pending."""
    key, most, rate, pause = config["key"], config["limit"], config["limit"] / config["window_ms"], config["expire"]

    def call(cost, handled=True, **_):
        now = int(time.time() * 1000)
        held = [value and float(value) for value in redis.hmget(key, "l", "b", "p")]
        if held[0] is None:
            redis.hset(key, mapping={"l": now, "b": "0", "dr": "10000", "db": "10000", "p": cost})
            redis.expire(key, pause)
            allowed, level = True, 0.0
        else:
            level, pending = max(held[1], 0), max(held[2], 0) + cost
            if level > 0 and held[0] < now:
                leaked = min((now - held[0]) * rate, level)
                level -= leaked
                redis.hincrbyfloat(key, "b", -leaked)
                redis.hset(key, "l", now)
            allowed = level + pending <= most
            if allowed:
                redis.hincrby(key, "p", cost)
        if allowed and handled:
            level, pending = (float(value) for value in redis.hmget(key, "b", "p"))
            redis.hset(key, mapping={"b": lua_number(max(level, 0) + cost), "p": int(max(pending - cost, 0)), "l": now})
            redis.expire(key, pause)
        return f"a message to {cost}" + ("" if handled else ", which is being handled"), answer(
            allowed, most, None, None, None, burst=level
        )

    return call
